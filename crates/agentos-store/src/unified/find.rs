//! Which run is meant, and which database it is in.

use std::path::PathBuf;

use agentos_core::id::RunId;
use thiserror::Error;
use uuid::Uuid;

use super::together::together;
use super::{Source, UnifiedView};
use crate::backend::BackendError;

/// How many candidates an ambiguous name is answered with.
const CANDIDATES: usize = 5;

/// A run that was found by a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedRun {
    /// Its id.
    pub id: RunId,
    /// Its short name.
    pub run_id: String,
    /// Its worktree.
    pub worktree_id: Option<String>,
    /// The checkout that it was started from.
    pub work_dir: Option<String>,
    /// Its project.
    pub project_id: Option<Uuid>,
    /// The number of entries in its log.
    pub seq: u64,
    /// Whether the name is its whole id or short name.
    pub is_exact: bool,
}

/// A run, and the database that it is in.
#[derive(Clone)]
pub struct Found {
    /// The run.
    pub run: NamedRun,
    /// The database.
    pub source: Source,
}

/// One of several runs that may be meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Its short name.
    pub run_id: String,
    /// What its worktree is called.
    pub worktree: String,
}

/// Why no run was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// No database that can be read has it.
    #[error("there is no run `{name}`")]
    NotFound {
        /// What was looked for.
        name: String,
        /// Databases that could not be asked.
        unreadable: Vec<PathBuf>,
    },
    /// Several begin like this.
    #[error(
        "`{prefix}` could be {}",
        candidates.iter().map(|found| format!("{} ({})", found.run_id, found.worktree)).collect::<Vec<_>>().join(" or ")
    )]
    Ambiguous {
        /// What was looked for.
        prefix: String,
        /// Some that begin so.
        candidates: Vec<Candidate>,
    },
}

impl UnifiedView {
    /// The run of this id, this short name, or the only one in all databases that begins so. Of copies, the one that is
    /// furthest.
    ///
    /// # Errors
    /// [`FindError`]
    pub async fn find_run(&self, name: &str) -> Result<Found, FindError> {
        let answers =
            together(self.sources.iter().map(|source| source.store.runs_named(name))).await;
        let mut failed: Vec<(usize, BackendError)> = Vec::new();
        let mut found: Vec<(usize, NamedRun)> = Vec::new();
        for (index, answer) in answers.into_iter().enumerate() {
            match answer {
                Ok(runs) => found.extend(runs.into_iter().map(|run| (index, run))),
                Err(error) => failed.push((index, error)),
            }
        }
        if found.iter().any(|(_, run)| run.is_exact) {
            found.retain(|(_, run)| run.is_exact);
        }
        // Copies stand together, the furthest first, of equal ones that which goes on, and else that of the first database.
        found.sort_by_cached_key(|(index, run)| {
            let elsewhere = self.sources[*index].store.counterparts().check(run.id);
            (run.id, std::cmp::Reverse(run.seq), elsewhere.is_err(), *index)
        });
        found.dedup_by_key(|(_, run)| run.id);
        match found.as_slice() {
            [] => {
                let told = self.told(&failed);
                let unreadable = told.into_iter().map(|told| told.path).collect();
                Err(FindError::NotFound { name: name.to_owned(), unreadable })
            }
            [(index, run)] => Ok(Found { run: run.clone(), source: self.sources[*index].clone() }),
            many => {
                let candidates = many.iter().take(CANDIDATES).map(|(_, run)| self.candidate(run));
                Err(FindError::Ambiguous {
                    prefix: name.to_owned(),
                    candidates: candidates.collect(),
                })
            }
        }
    }

    fn candidate(&self, run: &NamedRun) -> Candidate {
        let (id, folder) = (run.worktree_id.as_deref(), run.work_dir.as_deref());
        let worktree = self.worktrees.name(id, run.project_id, folder);
        Candidate { run_id: run.run_id.clone(), worktree }
    }
}
