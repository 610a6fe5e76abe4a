//! A failure whose workflow has changed since: which workflow, and which run has to be tried again.
//!
//! A run fails with what it has invoked. A retry of a child run alone would leave the run that invoked it failed, so the
//! outermost one is named. It invokes its children anew, and those begin with their workflows as they are now.

use std::fmt;

use agentos_core::id::RunId;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use serde::Serialize;

use super::latest;
use crate::session::Session;
use crate::terminal::FamilyView;
use crate::view;

/// A workflow that has changed since a run of it failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ChangedWorkflow {
    /// Its name.
    workflow: String,
    /// The run of it that failed: the one in question, or one that this has invoked.
    run_id: String,
    /// The run to be retried: the outermost one that failed with it.
    retry: String,
    /// Whether that is retried with its own workflow as it is now, too.
    latest: bool,
}

impl fmt::Display for ChangedWorkflow {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workflow, run_id, retry, latest } = self;
        let flag = if *latest { " --latest" } else { "" };
        write!(to, "the workflow `{workflow}` has changed since; ")?;
        write!(to, "`agentos retry {retry}{flag}` tries again with it as it is now")?;
        if retry == run_id {
            return Ok(());
        }
        write!(to, " (a retry of {run_id} alone would leave {retry} failed)")
    }
}

impl ChangedWorkflow {
    /// Looks whether the workflow of a failed run, or of a failed run that it has invoked, is another one now.
    pub(crate) async fn find(
        session: &Session,
        store: &SqliteStore,
        run: &RunRecord,
    ) -> Option<Self> {
        if !has_failed(run) {
            return None;
        }
        let found = match latest::has_changed(session, run) {
            true => run.clone(),
            false => first_changed(session, &view::load_family(store, run.id).await.ok()?)?,
        };
        let outermost = outermost(store, run.clone()).await;
        Some(Self {
            workflow: found.workflow,
            run_id: found.run_id,
            latest: latest::has_changed(session, &outermost),
            retry: outermost.run_id,
        })
    }
}

fn has_failed(run: &RunRecord) -> bool {
    matches!(run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut)
}

/// The first failed run below this one whose workflow has changed.
fn first_changed(session: &Session, family: &FamilyView) -> Option<RunRecord> {
    let failed = family.children.iter().filter(|child| has_failed(&child.run.run));
    failed.into_iter().find_map(|child| {
        let run = &child.run.run;
        let changed = latest::has_changed(session, run).then(|| run.clone());
        changed.or_else(|| first_changed(session, child))
    })
}

/// The outermost run that has failed together with this one.
async fn outermost(store: &SqliteStore, run: RunRecord) -> RunRecord {
    let mut outermost = run;
    while let Some(Ok(parent)) = outermost.parent_run_id.as_deref().map(str::parse) {
        match store.run_detail(RunId(parent)).await {
            Ok(parent) if has_failed(&parent.run) => outermost = parent.run,
            _ => break,
        }
    }
    outermost
}
