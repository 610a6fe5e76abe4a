//! The directory of one try of one operation: everything that its protocol knows is in here.
//!
//! | file | |
//! |---|---|
//! | the directory itself | its lock is shared by all who wait for the command |
//! | `started.json` | somebody has begun; nobody begins again. Its lock is held by the supervisor while it lives, or by whoever clears up after one; while it is empty nobody has begun |
//! | `output-N.log` | what the command wrote |
//! | `stop` | the command is to be ended, or never to begin |
//! | `exit.json` | it is over, and nothing of it is alive |
//!
//! The end appears whole or not at all: it is written beside its place and then moved there. There are few files because
//! making one costs more than anything else that a supervisor does. What to execute is in none of them, because it may hold
//! secrets: the supervisor reads it from its standard input.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bounds::DOCUMENT_BYTES;
use crate::exit::Exit;
use crate::started::Started;

const EXIT: &str = "exit.json";
const OUTPUT: &str = "output-";

/// Whether somebody who follows a command wants to hear that this file has changed.
pub(crate) fn is_news(file: &[u8]) -> bool {
    file == EXIT.as_bytes() || file.starts_with(OUTPUT.as_bytes())
}

/// The directory of one try of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Directory {
    path: PathBuf,
}

impl Directory {
    /// The directory at this path. Makes nothing.
    ///
    /// # Errors
    /// The path is relative and there is no current directory to begin from.
    pub fn at(path: &Path) -> io::Result<Self> {
        Ok(Self { path: std::path::absolute(path)? })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes it, with its parents, for its user only.
    pub(crate) fn create(&self) -> io::Result<()> {
        DirBuilder::new().recursive(true).mode(0o700).create(&self.path)
    }

    pub(crate) fn started(&self) -> PathBuf {
        self.path.join("started.json")
    }

    pub(crate) fn stop(&self) -> PathBuf {
        self.path.join("stop")
    }

    pub(crate) fn exit(&self) -> PathBuf {
        self.path.join(EXIT)
    }

    /// The file of one piece of the output.
    pub(crate) fn segment(&self, number: u64) -> PathBuf {
        self.path.join(format!("{OUTPUT}{number}.log"))
    }

    /// The numbers of the pieces of output that are there, in order.
    pub(crate) fn segments(&self) -> io::Result<Vec<u64>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| {
                name.strip_prefix(OUTPUT)?.strip_suffix(".log")?.parse::<u64>().ok()
            });
            found.extend(number);
        }
        found.sort_unstable();
        Ok(found)
    }

    /// How somebody began, if somebody did.
    ///
    /// # Errors
    /// The file is there and can't be read.
    pub fn load_started(&self) -> io::Result<Option<Started>> {
        load(&self.started())
    }

    /// How it ended, if it did.
    ///
    /// # Errors
    /// The file is there and can't be read.
    pub fn load_exit(&self) -> io::Result<Option<Exit>> {
        load(&self.exit())
    }

    /// Puts a document in its place, whole.
    pub(crate) fn put(&self, path: &Path, document: &impl Serialize) -> io::Result<()> {
        // Two may write the same document at once.
        let beside = path.with_extension(format!("new-{}", std::process::id()));
        let written = self.write(&beside, document).and_then(|()| fs::rename(&beside, path));
        if written.is_err() {
            let _removed = fs::remove_file(&beside);
        }
        written
    }

    fn write(&self, path: &Path, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_vec(document)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(true).write(true).mode(0o600);
        options.open(path)?.write_all(&text)
    }
}

/// Reads a document. One that the machine's end has cut off says nothing, as if it were not there.
pub(crate) fn load<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = Vec::new();
    file.take(DOCUMENT_BYTES).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text).ok())
}
