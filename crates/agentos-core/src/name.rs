//! Names that workflow authors choose, and how they are written inside a path.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::bounds;

/// The name of a step, phase, operation, signal or state key: any text that is not empty and not too long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(Arc<str>);

/// Why a text is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NameError {
    /// It has no character.
    #[error("a name must not be empty")]
    Empty,
    /// It is longer than [`bounds::NAME_BYTES`].
    #[error("a name has at most {most} bytes, this one has {0}", most = bounds::NAME_BYTES)]
    TooLong(usize),
}

impl Name {
    /// Takes a text as a name.
    ///
    /// # Errors
    /// [`NameError`] if it is empty or too long.
    pub fn new(text: impl AsRef<str>) -> Result<Self, NameError> {
        let text = text.as_ref();
        if text.is_empty() {
            return Err(NameError::Empty);
        }
        if text.len() > bounds::NAME_BYTES {
            return Err(NameError::TooLong(text.len()));
        }
        Ok(Self(text.into()))
    }

    /// The text as the author wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;

    fn try_from(text: String) -> Result<Self, NameError> {
        Self::new(text)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().into()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Characters that have a meaning in a path, and `%` which escapes them.
const fn is_reserved(byte: u8) -> bool {
    matches!(byte, b'/' | b'#' | b'@' | b':' | b'~' | b'%') || byte.is_ascii_control()
}

/// Appends a name to a path, with reserved characters as `%XX`.
pub(crate) fn escape_into(path: &mut String, name: &str) {
    const HEX: [char; 16] =
        ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
    if !name.bytes().any(is_reserved) {
        path.push_str(name);
        return;
    }
    for character in name.chars() {
        match u8::try_from(character) {
            Ok(byte) if is_reserved(byte) => {
                path.push('%');
                path.push(HEX[usize::from(byte >> 4)]);
                path.push(HEX[usize::from(byte & 15)]);
            }
            _ => path.push(character),
        }
    }
}

/// Reads an escaped name back; `None` if it could not have been written by [`escape_into`].
pub(crate) fn unescape(text: &str) -> Option<Name> {
    if !text.bytes().any(is_reserved) {
        return Name::new(text).ok();
    }
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character == '%' {
            let high = rest.next().filter(|c| !c.is_ascii_lowercase())?.to_digit(16)?;
            let low = rest.next().filter(|c| !c.is_ascii_lowercase())?.to_digit(16)?;
            let byte = u8::try_from(high * 16 + low).ok().filter(|byte| is_reserved(*byte))?;
            plain.push(char::from(byte));
        } else if u8::try_from(character).is_ok_and(is_reserved) {
            return None;
        } else {
            plain.push(character);
        }
    }
    Name::new(plain).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_survives_escaping() {
        for text in ["review", "a/b#1@2:c~d%e", "Ünïcode 🦀", "tab\tnew\nline", "%2F", "\u{7f}"]
        {
            let mut escaped = String::new();
            escape_into(&mut escaped, text);
            assert!(!escaped.contains(['/', '#', '@', ':', '~']), "{escaped}");
            assert_eq!(
                unescape(&escaped).map(|name| name.as_str().to_owned()),
                Some(text.to_owned())
            );
        }
    }

    #[test]
    fn text_that_escaping_never_writes_is_not_read() {
        for text in ["", "%", "%2", "%2f", "%41", "%G0", "a/b", "%é0"] {
            assert_eq!(unescape(text), None, "{text}");
        }
    }

    #[test]
    fn names_are_bounded() {
        assert_eq!(Name::new(""), Err(NameError::Empty));
        assert_eq!(Name::new("x".repeat(257)), Err(NameError::TooLong(257)));
        assert_eq!(Name::new("x").map(|n| n.to_string()), Ok("x".to_owned()));
        assert!(serde_json::from_str::<Name>("\"\"").is_err());
    }
}
