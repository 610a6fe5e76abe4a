//! Pieces of output as they are kept: when, on which stream, what.
//!
//! A file of the log begins with how many bytes of output came before it (8 bytes), then frame follows on frame: time
//! (8 bytes, milliseconds since 1970), stream (1), length (4), the bytes. All numbers are little-endian. The last frame
//! may be cut off where a supervisor was killed; it counts as not written.

use serde::{Deserialize, Serialize};

/// Before the first frame of a file.
pub(crate) const PREFACE: usize = 8;

/// Before the bytes of a frame.
pub(crate) const HEADER: usize = 13;

/// One of the two streams of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// When it was read, in milliseconds since 1970.
    pub at_ms: u64,
    /// On which stream.
    pub stream: Stream,
    /// What was written, with secrets masked.
    pub bytes: Vec<u8>,
}

/// Puts a frame's header in front of its bytes, which begin at [`HEADER`].
pub(crate) fn seal(frame: &mut [u8], at_ms: u64, stream: Stream) {
    let length = u32::try_from(frame.len() - HEADER).unwrap_or(u32::MAX);
    frame[..8].copy_from_slice(&at_ms.to_le_bytes());
    frame[8] = match stream {
        Stream::Stdout => 1,
        Stream::Stderr => 2,
    };
    frame[9..HEADER].copy_from_slice(&length.to_le_bytes());
}

/// What a frame's header says: when, where, and how many bytes follow. Nothing for what is no header.
pub(crate) fn header(bytes: &[u8; HEADER]) -> Option<(u64, Stream, usize)> {
    let (at, rest) = bytes.split_first_chunk::<8>()?;
    let (stream, length) = rest.split_first()?;
    let stream = match stream {
        1 => Stream::Stdout,
        2 => Stream::Stderr,
        _ => return None,
    };
    let length = u32::from_le_bytes(length.try_into().ok()?);
    Some((u64::from_le_bytes(*at), stream, usize::try_from(length).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_says_what_was_sealed() {
        let mut frame = [0; HEADER].to_vec();
        frame.extend_from_slice(b"hello");
        seal(&mut frame, 1_234, Stream::Stderr);
        let sealed: &[u8; HEADER] = frame[..HEADER].try_into().unwrap();
        assert_eq!(header(sealed), Some((1_234, Stream::Stderr, 5)));
        assert_eq!(header(&[0; HEADER]), None);
    }
}
