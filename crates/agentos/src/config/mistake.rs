//! What can be wrong with a configuration, said so that it can be repaired.

use std::io;
use std::path::PathBuf;

use agentos_sdk::nearest;
use thiserror::Error;
use toml::de::{DeTable, DeValue};

/// Why there is no configuration.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    /// A file exists and can't be read.
    #[error("can't read the configuration {}: {source}; repair the file, or remove it", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file says something wrong.
    #[error("{}:{line}:{column}: {what}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// Counted from 1, in characters.
        column: usize,
        /// What is wrong, and what would be right.
        what: String,
    },
    /// A variable says something wrong.
    #[error("the environment variable {name} {what}; it is `{value}`")]
    Variable {
        /// The variable.
        name: &'static str,
        /// What it is set to.
        value: String,
        /// What is wrong.
        what: &'static str,
    },
    /// The command line says something wrong.
    #[error("`{key}` {what}")]
    Flag {
        /// The setting.
        key: &'static str,
        /// What is wrong.
        what: &'static str,
    },
}

/// What is wrong in a text, by the name of the key.
pub(super) fn words(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let key = error.span().and_then(|span| key_at(text, span.start));
    let named =
        |key: &Option<String>| key.as_ref().map(|key| format!("`{key}`: ")).unwrap_or_default();
    match names.split_first() {
        Some((found, known)) if message.starts_with("unknown field") => {
            let key = key.unwrap_or_else(|| (*found).to_owned());
            format!("unknown key `{key}`; {}", instead(found, known))
        }
        Some((found, known)) if message.starts_with("unknown variant") => {
            format!("{}`{found}` is not possible; {}", named(&key), instead(found, known))
        }
        _ => {
            let message = message.replace("expected i64", "expected a whole number");
            let message = message.replace("expected u32", "expected a whole number from 0 on");
            format!("{}{message}", named(&key))
        }
    }
}

/// What somebody may have meant, or all that there is.
fn instead(found: &str, known: &[&str]) -> String {
    match nearest(found, known) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there are no keys here".to_owned(),
        None => format!(
            "there is only {}",
            known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        ),
    }
}

/// The key whose name or value stands at a byte, with the tables around it.
fn key_at(text: &str, byte: usize) -> Option<String> {
    let document = DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut path: Vec<String> = Vec::new();
    loop {
        let (key, value) = table.iter().find(|(key, value)| {
            let own = key.span().contains(&byte) || value.span().contains(&byte);
            own || matches!(value.get_ref(), DeValue::Table(within) if holds(within, byte))
        })?;
        path.push(key.get_ref().to_string());
        match value.get_ref() {
            DeValue::Table(within) if holds(within, byte) => table = within,
            _ => return Some(path.join(".")),
        }
    }
}

/// The span of a table is its heading only; what it holds stands below.
fn holds(table: &DeTable<'_>, byte: usize) -> bool {
    table.iter().any(|(key, value)| {
        let own = key.span().contains(&byte) || value.span().contains(&byte);
        own || matches!(value.get_ref(), DeValue::Table(within) if holds(within, byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_is_understood() {
        let known = ["concurrency", "color", "level"];
        assert_eq!(nearest("concurency", &known), Some("concurrency"));
        assert_eq!(nearest("Colour", &known), Some("color"));
        assert_eq!(nearest("levle", &known), Some("level"));
        assert_eq!(nearest("timeout", &known), None);
        assert_eq!(nearest("x", &[]), None);
    }
}
