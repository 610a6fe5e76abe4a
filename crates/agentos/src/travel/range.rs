//! Two states of files, to be compared: before and after a run or a step, or the ends of two runs.

use agentos_core::id::Seq;
use agentos_core::time::Timestamp;
use agentos_engine::travel::Asked;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::version_control::Diff;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::snapshot::{Comparison, Label, Side, Snapshot};
use thiserror::Error;
use uuid::Uuid;

use super::album;
use super::past::{Files, Past, began};
use crate::error::{CommandError, Result};
use crate::names;
use crate::workspace::desk::Desk;

/// How many runs may have been made out of one another.
const DEPTH: usize = 1_000;

/// Files that nobody can show.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Unknown {
    /// The run works in the user's own checkout.
    #[error("{run} works in the checkout itself, where files are not kept as they were")]
    Checkout {
        /// The run.
        run: String,
    },
    /// Nothing is left of them.
    #[error("the files of {run} are gone: its workspace is, and nothing of it was kept")]
    Gone {
        /// The run.
        run: String,
    },
    /// Their workspace was removed, and can be brought back.
    #[error("the files of {run} are in a backup: its workspace {workspace} was removed")]
    BackedUp {
        /// The run.
        run: String,
        /// Where it worked.
        workspace: String,
    },
    /// They are among those of another run.
    #[error(
        "{run} works in the workspace {workspace} of another run, so there is no telling apart what each has done"
    )]
    Another {
        /// The run.
        run: String,
        /// Where it works.
        workspace: String,
    },
    /// Two steps have changed files at once.
    #[error(
        "`{other}` worked on the files at the same time as `{step}`, so there is no telling apart what each has done"
    )]
    Overlapped {
        /// The step.
        step: String,
        /// The other one.
        other: String,
    },
}

/// Two states of files.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    from: Snapshot,
    to: Snapshot,
}

/// Finds states of files. What is taken of workspaces as they are now has to be forgotten afterwards.
pub(crate) struct Range<'a> {
    desk: &'a Desk,
    store: &'a SqliteStore,
    taken: Vec<(Desk, String)>,
}

impl<'a> Range<'a> {
    pub(crate) const fn new(desk: &'a Desk, store: &'a SqliteStore) -> Self {
        Self { desk, store, taken: Vec::new() }
    }

    /// From what the run's workspace was made from, to its end, or to now. What a run has from another one counts as its own.
    pub(crate) async fn of_run(&mut self, past: &Past) -> Result<Pair> {
        let to = self.end_of(past).await?;
        let mut first = self.workspace(past).await?;
        let mut from = past.run.forked_from.clone();
        for _ in 0..DEPTH {
            let Some(name) = from else { break };
            let Ok(run) = names::find(self.store, &name).await else { break };
            let older = Past::load(self.store, run).await?;
            from = older.run.forked_from.clone();
            first = self.workspace(&older).await?;
        }
        Ok(Pair { from: of_commit(first.base), to })
    }

    /// From the step's start to its end.
    pub(crate) async fn of_step(&mut self, past: &Past, step: &Asked) -> Result<Pair> {
        let doer = past.doer(self.store, step).await?;
        let (past, step) = doer.as_ref().map_or((past, step), |(past, step)| (past, step));
        if let Some(other) = past.history.beside_between(&step.path, step.at, step.ended) {
            let (step, other) = (step.title.clone(), other.step_name());
            return Err(Unknown::Overlapped { step, other }.into());
        }
        self.workspace(past).await?;
        let from = self.at(past, step.at, &began(&step.title)).await?;
        let to = match step.ended {
            Some(ended) => self.at(past, ended, &format!("`{}` ended", step.title)).await?,
            None => self.end_of(past).await?,
        };
        Ok(Pair { from, to })
    }

    /// From the end of one run to that of another.
    pub(crate) async fn between(&mut self, one: &Past, other: &Past) -> Result<Pair> {
        let (from, to) = (self.end_of(one).await?, self.end_of(other).await?);
        Ok(Pair { from, to })
    }

    async fn at(&mut self, past: &Past, at: Seq, when: &str) -> Result<Snapshot> {
        match past.at(self.desk, at, when).await? {
            Files::Kept(kept) => Ok(*kept),
            Files::Unchanged => self.end_of(past).await,
        }
    }

    /// The files as they were at the run's end, or as they are now.
    async fn end_of(&mut self, past: &Past) -> Result<Snapshot> {
        let workspace = self.workspace(past).await?;
        let desk = self.desk.clone().at(&workspace)?;
        let chain = album::chain(&desk, past.run.id.to_string()).await?;
        if let Some(end) = chain.iter().rfind(|found| found.label.side == Side::End) {
            return Ok(end.clone());
        }
        if workspace.state.is_there() && album::belongs(&workspace, &past.run) {
            return self.now(&desk, workspace).await;
        }
        if workspace.state.is_there() {
            let (run, workspace) = (past.run.run_id.clone(), workspace.id.to_string());
            return Err(Unknown::Another { run, workspace }.into());
        }
        if past.history.has_any_work() || past.run.forked_from.is_some() {
            return Err(self.without(&desk, past, workspace).await?.into());
        }
        Ok(of_commit(workspace.base))
    }

    /// Why there are no files of a run whose workspace is not there.
    async fn without(&self, desk: &Desk, past: &Past, workspace: Workspace) -> Result<Unknown> {
        let (run, id) = (past.run.run_id.clone(), workspace.id.clone());
        let backups = desk.work(move |yard| yard.backups(&workspace.id)).await?;
        Ok(match backups.is_empty() {
            true => Unknown::Gone { run },
            false => Unknown::BackedUp { run, workspace: id.to_string() },
        })
    }

    async fn now(&mut self, desk: &Desk, workspace: Workspace) -> Result<Snapshot> {
        let run = format!("now-{}", Uuid::new_v4());
        let (step, attempt, side, position, note) = (0, 1, Side::ByHand, 0, None);
        self.taken.push((desk.clone(), run.clone()));
        album::take(desk, workspace, Label { run, step, attempt, side, position, note }).await
    }

    async fn workspace(&self, past: &Past) -> Result<Workspace> {
        let run = &past.run.run_id;
        let id = past.run.workspace_id.as_deref().map(str::parse::<WorkspaceId>);
        let Some(Ok(id)) = id else { return Err(Unknown::Checkout { run: run.clone() }.into()) };
        let found = self.desk.find(&id).await?;
        found.ok_or_else(|| Unknown::Gone { run: run.clone() }.into())
    }

    /// Forgets what was taken for this comparison only.
    pub(crate) async fn forget(&mut self) {
        for (desk, run) in self.taken.drain(..) {
            if let Err(error) = album::forget(&desk, run).await {
                tracing::warn!(error = %error.message, "a snapshot that nobody needs is left");
            }
        }
    }
}

impl Pair {
    /// What differs.
    pub(crate) async fn difference(&self, desk: &Desk, wanted: Comparison) -> Result<Diff> {
        let Self { from, to } = self.clone();
        desk.work(move |yard| yard.snapshot_diff(&from, &to, wanted).map_err(CommandError::from))
            .await
    }
}

/// A commit's files.
fn of_commit(commit: String) -> Snapshot {
    let run = String::new();
    let (step, attempt, side, position, note) = (0, 1, Side::ByHand, 0, None);
    let label = Label { run, step, attempt, side, position, note };
    Snapshot { commit, number: 0, label, at: Timestamp(0) }
}
