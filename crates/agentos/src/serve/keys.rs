//! Keys under which something is asked for once: which run was started for one, written down before there is the run.
//!
//! A file for each key, beside the database, made by whoever is first. It says which id the run gets and what was asked
//! for; so whoever asks again under the key, also after a crash in between, gets just that run.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_core::id::RunId;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// From so many keys on, old ones are forgotten.
const MOST: usize = 10_000;

/// How long a key is kept at least, however many there are.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3_600);

/// Keys of one database.
pub(super) struct Keys {
    folder: PathBuf,
}

/// What a key stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    run: RunId,
    /// The hash of what was asked for.
    asked: String,
}

/// Whether a key was used before.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// It was not; the run is to get this id.
    New(RunId),
    /// It was, for the same.
    Again(RunId),
    /// It was, for something else.
    ForOther,
}

impl Note {
    /// What the key stands for, to somebody who asks for this.
    fn taken(&self, asked: &str) -> Taken {
        match self.asked == asked {
            true => Taken::Again(self.run),
            false => Taken::ForOther,
        }
    }
}

impl Keys {
    pub(super) fn of(database: &Path) -> Self {
        let mut name = database.as_os_str().to_owned();
        name.push(".keys");
        Self { folder: name.into() }
    }

    /// What a key stands for, if somebody has taken it.
    pub(super) fn known(&self, key: &str, asked: &[u8]) -> io::Result<Option<Taken>> {
        match load(&self.file(key)) {
            Ok(found) => Ok(Some(found.taken(&hash(asked)))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a key, for a run that gets this id if it is new.
    pub(super) fn take(&self, key: &str, asked: &[u8], run: RunId) -> io::Result<Taken> {
        fs::create_dir_all(&self.folder)?;
        self.forget_old();
        let (path, note) = (self.file(key), Note { run, asked: hash(asked) });
        let text = serde_json::to_vec(&note)?;
        // Complete before it has its name: whoever finds it can read it.
        let draft = path.with_extension(format!("{run}.new"));
        let mut file = OpenOptions::new().create_new(true).write(true).open(&draft)?;
        file.write_all(&text)?;
        file.sync_all()?;
        let linked = fs::hard_link(&draft, &path);
        fs::remove_file(&draft)?;
        match linked {
            Ok(()) => {
                File::open(&self.folder)?.sync_all()?;
                Ok(Taken::New(run))
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                Ok(load(&path)?.taken(&note.asked))
            }
            Err(error) => Err(error),
        }
    }

    /// What was asked for did not come about, so the key is free again.
    pub(super) fn give_back(&self, key: &str) {
        // Whoever finds it gone has what was wanted.
        let _gone = fs::remove_file(self.file(key));
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(hash(key.as_bytes())).with_extension("json")
    }

    fn forget_old(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let files: Vec<fs::DirEntry> = entries.flatten().collect();
        if files.len() < MOST {
            return;
        }
        for file in files {
            let age = file.metadata().and_then(|found| found.modified());
            if age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT_FOR)) {
                let _gone = fs::remove_file(file.path());
            }
        }
    }
}

fn load(path: &Path) -> io::Result<Note> {
    let mut text = Vec::new();
    File::open(path)?.take(4_096).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    #[test]
    fn a_key_stands_for_the_first_run_that_was_asked_for_under_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = Keys::of(&folder.path().join("runs.db"));
        let (one, other) = (RunId(Uuid::now_v7()), RunId(Uuid::now_v7()));
        assert_eq!(keys.known("k/../x", b"a").expect("a look"), None);
        assert_eq!(keys.take("k/../x", b"a", one).expect("a key"), Taken::New(one));
        assert_eq!(keys.known("k/../x", b"a").expect("a look"), Some(Taken::Again(one)));
        assert_eq!(keys.known("k/../x", b"b").expect("a look"), Some(Taken::ForOther));
        assert_eq!(keys.take("k/../x", b"a", other).expect("a key"), Taken::Again(one));
        assert_eq!(keys.take("k/../x", b"b", other).expect("a key"), Taken::ForOther);
        keys.give_back("k/../x");
        assert_eq!(keys.take("k/../x", b"b", other).expect("a key"), Taken::New(other));
    }
}
