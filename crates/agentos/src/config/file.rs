//! One configuration file: read whole, with the line of every value.

use std::fs;
use std::io::{self, Read as _};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use toml::Spanned;

use super::mistake::{self, ConfigError};
use super::setting::{Origin, Setting};
use crate::terminal::text::harmless;

/// Nobody writes more by hand.
const MOST_BYTES: u64 = 1 << 20;

/// A file that exists.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    text: String,
    whose: Whose,
}

#[derive(Debug, Clone, Copy)]
enum Whose {
    User,
    Repository,
}

impl File {
    /// Reads the user's file; none if there is none.
    pub(super) fn load_user(path: PathBuf) -> Result<Option<Self>, ConfigError> {
        Self::load(path, Whose::User)
    }

    /// Reads the repository's file; none if there is none.
    pub(super) fn load_repository(path: PathBuf) -> Result<Option<Self>, ConfigError> {
        Self::load(path, Whose::Repository)
    }

    fn load(path: PathBuf, whose: Whose) -> Result<Option<Self>, ConfigError> {
        match text(&path) {
            Ok(text) => Ok(Some(Self { path, text, whose })),
            Err(error) if is_missing(&error) => Ok(None),
            Err(source) => Err(ConfigError::Unreadable { path, source }),
        }
    }

    /// The file as a value; what is wrong is said with its place. Keys are quoted there, and a repository may be anybody's.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, ConfigError> {
        toml::from_str(&self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let (line, column) = position(&self.text, start);
            let what = harmless(&mistake::words(&error, &self.text)).into_owned();
            ConfigError::Invalid { path: self.path.clone(), line, column, what }
        })
    }

    /// Refuses a value that no repository may set.
    pub(super) fn refuse_of_repository<W>(
        &self,
        written: &Spanned<W>,
        what: &str,
    ) -> Result<(), ConfigError> {
        if self.is_repositorys() {
            return Err(self.mistake(written.span().start, what));
        }
        Ok(())
    }

    /// Whether it is the repository's, and so may be anybody's.
    pub(super) fn is_repositorys(&self) -> bool {
        matches!(self.whose, Whose::Repository)
    }

    /// Something in this file that is wrong, at this byte.
    pub(super) fn mistake(&self, start: usize, what: &str) -> ConfigError {
        let (line, column) = position(&self.text, start);
        ConfigError::Invalid { path: self.path.clone(), line, column, what: what.to_owned() }
    }

    /// A value of this file with its line.
    pub(super) fn setting<W, T>(&self, written: Spanned<W>, value: impl Fn(W) -> T) -> Setting<T> {
        let (line, _) = position(&self.text, written.span().start);
        let path = self.path.clone();
        let origin = match self.whose {
            Whose::User => Origin::User { path, line },
            Whose::Repository => Origin::Repository { path, line },
        };
        Setting { value: value(written.into_inner()), origin }
    }
}

/// Only plain files are opened: a pipe in somebody's repository would hold us up for ever.
fn text(path: &PathBuf) -> io::Result<String> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        let what = format!("it is larger than {MOST_BYTES} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, what));
    }
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text in UTF-8");
    String::from_utf8(bytes).map_err(not_text)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Line and column of a byte, both counted from 1, columns in characters.
fn position(text: &str, byte: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(byte)];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
