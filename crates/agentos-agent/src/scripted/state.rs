//! What the scripted agent remembers of a session: as much as it takes to go on where it was killed.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::bounds::SESSIONS;

/// What is remembered of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// The part that is being played, and how many of its items were.
    pub(super) current: Option<(usize, usize)>,
    /// Parts that were played to their end.
    pub(super) played: Vec<usize>,
}

impl State {
    /// So many items of a part were played.
    pub(super) fn pass(&mut self, part: usize, items: usize, of: usize) {
        self.current = Some((part, items)).filter(|_| items < of);
        if items == of {
            self.played.push(part);
        }
    }
}

/// Where it is remembered.
#[derive(Debug)]
pub(super) struct Memory {
    path: PathBuf,
}

impl Memory {
    /// The memory of this session. The name is made harmless: it comes from outside.
    pub(super) fn of(folder: &Path, session: &str) -> Self {
        let harmless = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let name: String = session.chars().map(harmless).take(64).collect();
        Self { path: folder.join(format!("scripted-{name}.json")) }
    }

    /// What is remembered; nothing if the session is not known.
    pub(super) fn load(&self) -> io::Result<Option<State>> {
        match fs::read(&self.path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Forgets the oldest sessions, if there are too many. Whoever does so at the same time forgets the same.
    pub(super) fn forget_old(folder: &Path) {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut known: Vec<_> = entries
            .filter_map(|entry| Some((entry.metadata().ok()?.modified().ok()?, entry.path())))
            .collect();
        known.sort();
        for (_, path) in known.iter().take(known.len().saturating_sub(SESSIONS)) {
            let _gone = fs::remove_file(path);
        }
    }

    /// Remembers, whole or not at all.
    pub(super) fn keep(&self, state: &State) -> io::Result<()> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let beside = self.path.with_extension("new");
        let mut file = fs::File::create(&beside)?;
        file.write_all(&serde_json::to_vec(state)?)?;
        fs::rename(&beside, &self.path)
    }
}
