//! The configuration of a process that lives long: read again when one of its files has changed.
//!
//! A file that is changed to something wrong changes nothing: the last configuration that could be read holds, and the mistake is
//! logged once. A file that is just being written may be empty, or gone for a moment, and would say that nothing is limited. So a
//! change counts only when the file has stayed the same for [`SETTLED`].

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agentos_process::clock::{Moment, moment};

use super::{Config, Flags, Sources};
use crate::terminal::Environment;

/// How long a changed file has to stay as it is before it is read.
const SETTLED: Duration = Duration::from_millis(300);

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
    /// Of the files that the configuration was read from.
    stamps: Vec<Option<Stamp>>,
    config: Arc<Config>,
    /// Of files that have changed, and when that was seen.
    changed: Option<(Vec<Option<Stamp>>, Moment)>,
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
            last: Mutex::new(Last { stamps, config, changed: None }),
        })
    }

    /// The configuration now. The same value as before as long as no file has changed. A change is seen by one call and holds for
    /// a later one.
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
        if last.stamps == stamps {
            last.changed = None;
        } else if last.has_settled(&stamps) {
            last.stamps = stamps;
            last.changed = None;
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

impl Last {
    /// Whether the files have been as they are for long enough.
    fn has_settled(&mut self, stamps: &[Option<Stamp>]) -> bool {
        match &self.changed {
            Some((seen, since)) if seen == stamps => moment() - *since >= SETTLED,
            _ => {
                self.changed = Some((stamps.to_vec(), moment()));
                false
            }
        }
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
    use agentos_testing::wait::wait_until;

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
        let limit = || live.current().limits.runs_per_repo.value.0;
        fs::write(&file, "[limits]\nruns_per_repo = 3\n").unwrap();
        wait_until("the first limit holds", || limit() == Some(3));
        let second = live.current();
        fs::write(&file, "").unwrap();
        assert!(Arc::ptr_eq(&second, &live.current()), "it may just be being written");
        fs::write(&file, "[limits]\nruns_per_repo = \"many\"\n").unwrap();
        wait_until("the wrong file was read", || {
            let held = live.current();
            assert!(Arc::ptr_eq(&second, &held), "what could be read holds");
            live.last.lock().unwrap().changed.is_none()
        });
        fs::remove_file(&file).unwrap();
        wait_until("nothing is limited", || *live.current() == *first);
    }
}
