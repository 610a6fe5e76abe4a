//! What must not be seen: values that were declared, and values of variables whose names say so.

use serde::{Deserialize, Serialize};

use crate::bounds::{SECRET_BYTES, SECRETS};
use crate::mask::Masker;

/// Shortest line of a secret of many lines that is masked by itself, in bytes.
const LINE_BYTES: usize = 8;

/// Values that must not be seen in output.
///
/// A value of many lines (a private key) is masked as a whole and line by line: programs print it in pieces.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secrets(Vec<String>);

impl Secrets {
    /// The values of all variables whose names say that they are secret, and these values.
    pub fn of<'a>(
        env: impl IntoIterator<Item = (&'a str, &'a str)>,
        declared: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let named =
            env.into_iter().filter(|(name, _)| is_secret_name(name)).map(|(_, value)| value);
        let mut values = Vec::new();
        for value in named.chain(declared) {
            let value = value.trim();
            values.push(value);
            let lines = value.lines().map(str::trim).filter(|line| line.len() >= LINE_BYTES);
            values.extend(lines);
        }
        let mut kept: Vec<String> = values
            .into_iter()
            .filter(|value| value.len() >= SECRET_BYTES)
            .map(ToOwned::to_owned)
            .collect();
        // The longest first: a secret that begins like another one is masked to its end.
        kept.sort_by(|one, other| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        kept.dedup();
        kept.truncate(SECRETS);
        Self(kept)
    }

    /// A text without them.
    #[must_use]
    pub fn masked(&self, text: &str) -> String {
        let mut seen = Vec::with_capacity(text.len());
        let mut masker = Masker::new(self);
        masker.feed(text.as_bytes(), &mut seen);
        masker.finish(&mut seen);
        String::from_utf8_lossy(&seen).into_owned()
    }

    /// The values, the longest first.
    pub(crate) fn values(&self) -> &[String] {
        &self.0
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Secrets({})", self.0.len())
    }
}

/// Whether the name of a variable says that its value is secret: `*_TOKEN`, `*_KEY`, `*SECRET*`, `*PASSWORD*`.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends = ["_TOKEN", "_KEY"].iter().any(|end| name.ends_with(end));
    ends || ["SECRET", "PASSWORD"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_is_secret() {
        for name in
            ["GITHUB_TOKEN", "openai_api_key", "MY_SECRET_THING", "DB_PASSWORD", "PASSWORDS"]
        {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["PATH", "TOKENS", "KEY", "KEYBOARD", "AGENTOS_OPERATION"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn short_values_are_left_alone_and_long_ones_come_first() {
        let env = [("A_TOKEN", "abc"), ("B_TOKEN", "abcdef"), ("PATH", "/usr/bin")];
        let secrets = Secrets::of(env, ["abcdefgh", "abcdef"]);
        assert_eq!(secrets.values(), ["abcdefgh", "abcdef"]);
    }

    #[test]
    fn a_secret_of_many_lines_is_also_masked_line_by_line() {
        let key = "-----BEGIN-----\nshort\nMIIEvQIBADANBg\n";
        let secrets = Secrets::of([("SSH_KEY", key)], []);
        assert_eq!(secrets.values(), [key.trim(), "-----BEGIN-----", "MIIEvQIBADANBg"]);
    }

    #[test]
    fn nobody_prints_secrets_by_accident() {
        assert_eq!(format!("{:?}", Secrets::of([], ["hunter22"])), "Secrets(1)");
    }
}
