//! What must not be seen: values that were declared, and values of variables whose names say so.

use serde::{Deserialize, Serialize};

use crate::bounds::{SECRET_BYTES, SECRETS};
use crate::mask::Masker;

/// Shortest line of a secret of many lines that is masked by itself, in bytes.
const LINE_BYTES: usize = 8;

/// Values that must not be seen in output.
///
/// A value of many lines (a private key) is masked as a whole and line by line: programs print it in pieces. A value that JSON
/// writes in other letters is masked as it stands there too: programs that speak in events print nothing else.
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
        let long_enough = values.into_iter().filter(|value| value.len() >= SECRET_BYTES);
        let mut kept: Vec<String> = long_enough.flat_map(forms).collect();
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

/// A value as it is, as it stands in JSON, and as it stands in a text of JSON that has JSON in it.
fn forms(value: &str) -> Vec<String> {
    let mut forms = vec![value.to_owned()];
    for plain in [false, true] {
        let once = escaped(value, plain);
        let twice = escaped(&once, plain);
        forms.extend([once, twice].into_iter().filter(|form| form != value));
    }
    forms
}

/// How JSON writes a text: as short as it can, or with nothing but plain letters.
fn escaped(text: &str, plain: bool) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    let inner = &quoted[1..quoted.len() - 1];
    if !plain {
        return inner.to_owned();
    }
    let mut units = [0; 2];
    let mut written = String::new();
    for letter in inner.chars() {
        if letter.is_ascii() {
            written.push(letter);
            continue;
        }
        for unit in letter.encode_utf16(&mut units) {
            written.push_str(&format!("\\u{unit:04x}"));
        }
    }
    written
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
        for part in [key.trim(), "-----BEGIN-----", "MIIEvQIBADANBg"] {
            assert!(secrets.values().iter().any(|value| value == part), "{part}");
        }
    }

    #[test]
    fn a_secret_is_masked_as_json_writes_it() {
        let key = "a\"b\\cé1";
        let secrets = Secrets::of([("ODD_KEY", key)], []);
        let once = serde_json::json!({ "text": format!("it is {key}!") }).to_string();
        let twice = serde_json::json!({ "input": once }).to_string();
        let plain = r#"{"text":"it is a\"b\\c\u00e91!"}"#;
        for (line, expected) in [
            (once.as_str(), r#"{"text":"it is ***!"}"#),
            (&twice, r#"{"input":"{\"text\":\"it is ***!\"}"}"#),
            (plain, r#"{"text":"it is ***!"}"#),
        ] {
            assert_eq!(secrets.masked(line), expected);
        }
    }

    #[test]
    fn nobody_prints_secrets_by_accident() {
        assert_eq!(format!("{:?}", Secrets::of([], ["hunter22"])), "Secrets(1)");
    }
}
