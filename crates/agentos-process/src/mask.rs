//! Masks secrets in a stream of bytes, wherever the stream is cut.
//!
//! What could be the beginning of a secret is held back until it is known to be one or not to be one. So no more is in
//! memory than the longest secret, and no part of a secret is ever let through because the rest of it came later.

use crate::secret::Secrets;

/// What stands in the place of a secret.
pub const MASK: &[u8] = b"***";

/// Masks one stream.
#[derive(Debug)]
pub struct Masker {
    secrets: Vec<Vec<u8>>,
    /// Whether a secret begins with this byte.
    begins: [bool; 256],
    /// The end of what came so far, which may be the beginning of a secret.
    held: Vec<u8>,
}

/// What begins at one place of the stream.
enum Found {
    /// Nothing to hide.
    Nothing,
    /// A secret of so many bytes.
    Secret(usize),
    /// Perhaps a secret: it can't be told yet.
    Perhaps,
}

impl Masker {
    /// Masks these secrets.
    #[must_use]
    pub fn new(secrets: &Secrets) -> Self {
        let secrets: Vec<Vec<u8>> =
            secrets.values().iter().map(|secret| secret.as_bytes().to_vec()).collect();
        let mut begins = [false; 256];
        for first in secrets.iter().filter_map(|secret| secret.first()) {
            begins[usize::from(*first)] = true;
        }
        Self { secrets, begins, held: Vec::new() }
    }

    /// Appends what can be seen of the next bytes to `seen`.
    pub fn feed(&mut self, bytes: &[u8], seen: &mut Vec<u8>) {
        if self.secrets.is_empty() {
            seen.extend_from_slice(bytes);
        } else if self.held.is_empty() {
            let rest = self.mask(bytes, seen, false);
            self.held.extend_from_slice(&bytes[rest..]);
        } else {
            let mut joined = std::mem::take(&mut self.held);
            joined.extend_from_slice(bytes);
            let rest = self.mask(&joined, seen, false);
            joined.drain(..rest);
            self.held = joined;
        }
    }

    /// Nothing more will come: appends what was held back.
    pub fn finish(&mut self, seen: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        self.mask(&held, seen, true);
    }

    /// Appends what can be seen, and returns from where on it can't be told.
    fn mask(&self, bytes: &[u8], seen: &mut Vec<u8>, is_end: bool) -> usize {
        let mut at = 0;
        loop {
            let plain = bytes[at..].iter().position(|byte| self.begins[usize::from(*byte)]);
            let next = plain.map_or(bytes.len(), |plain| at + plain);
            seen.extend_from_slice(&bytes[at..next]);
            at = next;
            if at == bytes.len() {
                return at;
            }
            match self.found(&bytes[at..], is_end) {
                Found::Secret(length) => {
                    seen.extend_from_slice(MASK);
                    at += length;
                }
                Found::Nothing => {
                    seen.push(bytes[at]);
                    at += 1;
                }
                Found::Perhaps => return at,
            }
        }
    }

    fn found(&self, bytes: &[u8], is_end: bool) -> Found {
        // The longest first, so a secret that could still grow into a longer one is waited for.
        for secret in &self.secrets {
            if bytes.starts_with(secret) {
                return Found::Secret(secret.len());
            }
            if !is_end && secret.starts_with(bytes) {
                return Found::Perhaps;
            }
        }
        Found::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(secrets: &[&str], pieces: &[&[u8]]) -> Vec<u8> {
        let mut masker = Masker::new(&Secrets::of([], secrets.iter().copied()));
        let mut seen = Vec::new();
        for piece in pieces {
            masker.feed(piece, &mut seen);
        }
        masker.finish(&mut seen);
        seen
    }

    #[test]
    fn a_secret_is_masked_wherever_the_stream_is_cut() {
        let text = b"say hunter2 and hunter2hunter2, not hunter or unter2\n";
        let expected = b"say *** and ******, not hunter or unter2\n";
        for first in 0..=text.len() {
            for second in first..=text.len() {
                let pieces = [&text[..first], &text[first..second], &text[second..]];
                assert_eq!(masked(&["hunter2"], &pieces), expected, "cut at {first} and {second}");
            }
        }
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(masked(&["hunter2"], &bytes), expected);
    }

    #[test]
    fn the_longest_secret_counts_even_if_its_end_comes_later() {
        assert_eq!(masked(&["abcd", "abcdefgh"], &[b"abcd", b"efgh."]), b"***.");
        assert_eq!(masked(&["abcd", "abcdefgh"], &[b"abcd", b"efg!"]), b"***efg!");
        assert_eq!(masked(&["abcd", "abcdefgh"], &[b"abcd"]), b"***");
    }

    #[test]
    fn a_secret_that_begins_inside_of_a_false_start_is_found() {
        assert_eq!(masked(&["aaab"], &[b"aa", b"aa", b"b"]), b"a***");
        assert_eq!(masked(&["abac", "bacd"], &[b"aba", b"cd"]), b"***d");
    }

    #[test]
    fn what_is_no_secret_passes_byte_by_byte() {
        let all: Vec<u8> = (0..=255).cycle().take(10_000).collect();
        assert_eq!(masked(&["never"], &[&all]), all);
        assert_eq!(masked(&[], &[&all]), all);
    }
}
