//! What the log remembers of the source: where something was asked for, and what the body of a step says.
//!
//! A run may be moved to another source. Then people want to know which line is meant, and a finished step whose body
//! says something else now must not be executed by it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::bounds;

/// A place in the source, as people write it: `templates/issue.ts:12:5`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct Site(String);

impl Site {
    /// A place. What is too long loses its beginning: the end says which line it is.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let mut text = text.into();
        if text.len() > bounds::SITE_BYTES {
            let cut = text.len() - bounds::SITE_BYTES;
            let start = (cut..=text.len()).find(|index| text.is_char_boundary(*index));
            text.drain(..start.unwrap_or(cut));
        }
        Self(text)
    }

    /// The place as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for Site {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<Site> for String {
    fn from(site: Site) -> Self {
        site.0
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the body of a step says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyText {
    /// A hash of its text: the same text, the same hash.
    pub hash: String,
    /// Where it writes variables of the code around it, or uses that code's `ctx`. Code outside can tell whether such
    /// a body was executed, so it can't be left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tied: Option<Site>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_place_keeps_its_line() {
        let long = format!("{}ü/issue.ts:12", "é".repeat(bounds::SITE_BYTES));
        let site = Site::new(long);
        assert!(site.as_str().len() <= bounds::SITE_BYTES);
        assert!(site.as_str().ends_with("ü/issue.ts:12"));
        assert_eq!(Site::new("a.ts:1").to_string(), "a.ts:1");
    }
}
