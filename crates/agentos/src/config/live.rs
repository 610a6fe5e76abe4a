//! The configuration of a process that lives long: read again when one of its files has changed.
//!
//! A file that is changed to something wrong changes nothing: the last configuration that could be read holds, and the mistake is
//! logged once.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::{Config, Flags, Sources};
use crate::terminal::Environment;

/// The configuration as its files say it now.
#[derive(Debug)]
pub(crate) struct LiveConfig {
    environment: Environment,
    home: Option<PathBuf>,
    checkout: Option<PathBuf>,
    flags: Flags,
    last: Mutex<Last>,
}

#[derive(Debug)]
struct Last {
    stamps: Vec<Option<Stamp>>,
    config: Arc<Config>,
}

/// What changes with a file: device, inode, size, and the times of its content and of its inode.
type Stamp = (u64, u64, u64, (i64, i64), (i64, i64));

impl LiveConfig {
    /// Reads the configuration for the first time.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(crate) fn load(sources: &Sources<'_>) -> Result<Self, super::ConfigError> {
        // In this order: a change in between is read once too often rather than never.
        let stamps = stamps(sources);
        let config = Arc::new(Config::load(sources)?);
        Ok(Self {
            environment: sources.environment.clone(),
            home: sources.home.map(Path::to_owned),
            checkout: sources.checkout.map(Path::to_owned),
            flags: sources.flags,
            last: Mutex::new(Last { stamps, config }),
        })
    }

    /// The configuration now. The same value as before as long as no file has changed.
    pub(crate) fn current(&self) -> Arc<Config> {
        let sources = Sources {
            environment: &self.environment,
            home: self.home.as_deref(),
            checkout: self.checkout.as_deref(),
            flags: self.flags,
        };
        let stamps = stamps(&sources);
        // What is in it is whole at any moment.
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.stamps != stamps {
            last.stamps = stamps;
            match Config::load(&sources) {
                Ok(config) if config == *last.config => {}
                Ok(config) => last.config = Arc::new(config),
                Err(error) => {
                    tracing::warn!(%error, "the changed configuration can't be used; the one before holds");
                }
            }
        }
        Arc::clone(&last.config)
    }
}

fn stamps(sources: &Sources<'_>) -> Vec<Option<Stamp>> {
    sources.files().iter().map(|path| stamp(path)).collect()
}

fn stamp(path: &Path) -> Option<Stamp> {
    let found = fs::metadata(path).ok()?;
    let content = (found.mtime(), found.mtime_nsec());
    let inode = (found.ctime(), found.ctime_nsec());
    Some((found.dev(), found.ino(), found.size(), content, inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_read_again_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(".agent/config.toml");
        fs::create_dir(folder.path().join(".agent")).unwrap();
        let environment = Environment::default();
        let live = LiveConfig::load(&Sources {
            environment: &environment,
            home: None,
            checkout: Some(folder.path()),
            flags: Flags::default(),
        })
        .unwrap();
        let first = live.current();
        assert!(Arc::ptr_eq(&first, &live.current()));
        fs::write(&file, "[limits]\nruns_per_repo = 3\n").unwrap();
        let second = live.current();
        assert_eq!(second.limits.runs_per_repo.value.0, Some(3));
        fs::write(&file, "[limits]\nruns_per_repo = \"many\"\n").unwrap();
        assert!(Arc::ptr_eq(&second, &live.current()), "what could be read holds");
        fs::remove_file(&file).unwrap();
        assert_eq!(*live.current(), *first);
    }
}
