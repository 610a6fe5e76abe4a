//! `[secrets]`: which variables hold values that nobody may see in logs, events, output or errors.
//!
//! Variables whose names say so (`*_TOKEN`, `*_KEY`, `*SECRET*`, `*PASSWORD*`) are masked anyway.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[secrets]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Secrets {
    /// Names of variables; `*` stands for anything.
    pub(crate) names: Setting<Vec<String>>,
}

impl Secrets {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("secrets.names", &self.names)]
    }

    /// Whether a variable of this name is secret.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.value.iter().any(|pattern| matches(pattern, name))
    }
}

/// Whether a name fits a pattern in which `*` stands for anything.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((before, after)) = pattern.split_once('*') else { return pattern == name };
    let Some(rest) = name.strip_prefix(before) else { return false };
    let mut ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
    ends.any(|at| matches(after, &rest[at..]))
}

/// `[secrets]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    names: Option<Spanned<Vec<String>>>,
}

/// `[secrets]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    names: Option<Setting<Vec<String>>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self { names: written.names.map(|names| file.setting(names, |names| names)) }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { names: self.names.or(below.names) }
    }

    pub(super) fn or_default(self) -> Secrets {
        Secrets { names: self.names.unwrap_or(Setting::default(Vec::new())) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_anything() {
        for (pattern, name) in
            [("A", "A"), ("*", ""), ("*_X", "A_X"), ("A*", "AB"), ("A*B*C", "A1B2C")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("A", "AB"), ("*_X", "A_XY"), ("A*B", "ACBD"), ("", "A")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }
}
