//! The rows for people, as the trait wants them.

use std::path::Path;
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_core::path::OperationId;
use async_trait::async_trait;
use uuid::Uuid;

use super::project::Target;
use super::{SqliteStore, catalog, project, query};
use crate::backend::BackendError;
use crate::counterpart::Counterparts;
use crate::folder::RunFolder;
use crate::list::{ListError, RunCursor};
use crate::log::ReadError;
use crate::projection::Touched;
use crate::records::{
    Definition, DefinitionVersion, NewComment, NewDefinition, Project, RecordError, Records,
    Remark, RemarkCursor, RunCounts, RunDetail, RunListing, RunQuery, RunRecord, RunTotals,
    Workspace,
};
use crate::unified::{Census, NamedRun};

/// What one database tells to whoever looks at several.
impl SqliteStore {
    /// Whether runs have come or gone is seen by it.
    pub(crate) async fn census(&self) -> Result<Census, BackendError> {
        self.read(|connection| query::census(connection).map(Ok)).await
    }

    /// The ids of all runs, in order.
    pub(crate) async fn run_ids(&self) -> Result<Vec<RunId>, BackendError> {
        self.read(|connection| query::ids(connection).map(Ok)).await
    }

    /// A run with those of its rows that something is about, as of one moment. The run is without its input, output and
    /// state unless they are wanted; rows that do not exist are left out, and the order is not said.
    ///
    /// # Errors
    /// [`ReadError::NotFound`].
    pub async fn touched_rows(&self, run: RunId, wanted: Touched) -> Result<RunDetail, ReadError> {
        let owners = self.inner.owners.clone();
        let some =
            self.read(move |connection| query::some(connection, &owners, run, &wanted)).await;
        some.map(|detail| self.as_found(detail))
    }

    /// The place behind everything that people have remarked so far.
    ///
    /// # Errors
    /// [`BackendError`].
    pub async fn remark_end(&self) -> Result<RemarkCursor, BackendError> {
        self.read(|connection| query::last_remark(connection).map(|last| Ok(RemarkCursor(last))))
            .await
    }

    /// What people have remarked behind a place, and the place behind that. Remarks are no part of any log; whoever needs all
    /// of them reads the runs.
    ///
    /// # Errors
    /// [`BackendError`].
    pub async fn remarks(
        &self,
        after: RemarkCursor,
    ) -> Result<(Vec<Remark>, RemarkCursor), BackendError> {
        let found = self.read(move |connection| query::remarks(connection, after.0).map(Ok)).await;
        found.map(|(remarks, last)| (remarks, RemarkCursor(last)))
    }

    /// How long the logs of these runs are, of those that there are.
    pub(crate) async fn heads(&self, runs: Vec<RunId>) -> Result<Vec<(RunId, u64)>, BackendError> {
        self.read(move |connection| query::heads(connection, &runs).map(Ok)).await
    }

    /// The run of exactly this name, or else some of those that begin so.
    pub(crate) async fn runs_named(&self, name: &str) -> Result<Vec<NamedRun>, BackendError> {
        let name = name.to_owned();
        self.read(move |connection| query::beginning(connection, &name).map(Ok)).await
    }

    /// Where the first of the runs that a query shows stand in its order.
    pub(crate) async fn run_positions(
        &self,
        asked: RunQuery,
        limit: u64,
    ) -> Result<Vec<(i64, RunId)>, BackendError> {
        self.read(move |connection| query::positions(connection, &asked, limit).map(Ok)).await
    }

    /// How many runs a query shows, and what their agents have used. A run that goes on in another database is counted there.
    pub(crate) async fn run_totals(&self, asked: RunQuery) -> Result<RunTotals, BackendError> {
        let mut here = asked.clone();
        here.except.extend(self.counterparts().all());
        self.read(move |connection| query::totals(connection, &asked, &here).map(Ok)).await
    }

    /// The runs that go on in another database.
    pub(crate) fn counterparts(&self) -> Counterparts {
        Counterparts::of(&self.inner.path)
    }

    /// The same with what is known beside the database: where else the run goes on, and which files there are.
    fn as_found(&self, mut detail: RunDetail) -> RunDetail {
        self.add_counterpart(&mut detail.run);
        find_earlier_log_files(&mut detail);
        detail
    }

    /// Says of a run that has not ended here if it goes on in another database.
    fn add_counterpart(&self, run: &mut RunRecord) {
        if run.completed_at.is_none()
            && let Ok(Some(other)) = self.counterparts().find(run.id)
        {
            run.going_on_in(other);
        }
    }
}

/// Earlier versions named the logs of operations outside of a step by the name in their path, which may be a hash.
fn find_earlier_log_files(detail: &mut RunDetail) {
    let Some(project) = detail.run.work_dir.as_deref().map(Path::new) else { return };
    let folder = RunFolder::new(Path::new(""), detail.run.id);
    for step in detail.steps.iter_mut().chain(&mut detail.run.current_step) {
        let Some(name) = step.path.parse::<OperationId>().ok().and_then(|found| found.name())
        else {
            continue;
        };
        let earlier = folder.step_log_file(step.step_number, &name.to_string());
        let is_there = step.log_file_path.as_ref().is_some_and(|path| project.join(path).exists());
        if !is_there && project.join(&earlier).exists() {
            step.log_file_path = Some(earlier.to_string_lossy().into_owned());
        }
    }
}

/// The place in a listing that is behind this run.
pub(crate) fn cursor_behind(start: i64, run: RunId) -> RunCursor {
    query::cursor_of(start, run)
}

#[async_trait]
impl Records for SqliteStore {
    async fn find_run(&self, name: &str) -> Result<RunId, RecordError> {
        let name = name.to_owned();
        self.read(move |connection| query::find(connection, &name)).await
    }

    async fn run_detail(&self, run: RunId) -> Result<RunDetail, ReadError> {
        let owners = self.inner.owners.clone();
        let detail = self.read(move |connection| query::detail(connection, &owners, run)).await;
        detail.map(|detail| self.as_found(detail))
    }

    async fn query_runs(&self, mut asked: RunQuery) -> Result<RunListing, ListError> {
        let owners = self.inner.owners.clone();
        if !asked.waiting.is_empty() {
            // What goes on in another database waits for nothing here.
            asked.except.extend(self.counterparts().all());
        }
        let listing = self.read(move |connection| query::list(connection, &owners, &asked)).await;
        listing.map(|mut listing| {
            listing.runs.iter_mut().for_each(|run| self.add_counterpart(run));
            listing
        })
    }

    async fn count_runs(&self) -> Result<RunCounts, BackendError> {
        self.read(|connection| query::counts(connection).map(Ok)).await
    }

    async fn delete_run(&self, run: RunId) -> Result<(), RecordError> {
        self.write(move |tx| catalog::delete_run(tx, run)).await
    }

    async fn add_comment(&self, comment: NewComment) -> Result<(), RecordError> {
        self.write(move |tx| catalog::add_comment(tx, &comment)).await
    }

    async fn rebuild(&self, run: RunId) -> Result<(), RecordError> {
        self.write(move |tx| match tx.run(run)? {
            None => Ok(Err(RecordError::NotFound { what: format!("run {run}") })),
            Some(found) => {
                let target = Target { key: found.key, run };
                project::rebuild(tx, target, found.head.standing).map(Ok)
            }
        })
        .await
    }

    async fn put_project(&self, project: Project) -> Result<(), RecordError> {
        self.write(move |tx| catalog::put_project(tx, &project)).await
    }

    async fn projects(&self) -> Result<Vec<Project>, BackendError> {
        self.read(|connection| catalog::projects(connection).map(Ok)).await
    }

    async fn delete_project(&self, project: Uuid) -> Result<(), RecordError> {
        self.write(move |tx| catalog::delete_project(tx, project)).await
    }

    async fn put_definition(&self, definition: NewDefinition) -> Result<u32, RecordError> {
        // As a rule it is there already, and then nothing has to be forced to disk.
        let definition = Arc::new(definition);
        let asked = Arc::clone(&definition);
        let known = self.read(move |connection| {
            catalog::version_as_it_is(connection, &asked).map(Ok::<_, RecordError>)
        });
        if let Some(version) = known.await? {
            return Ok(version);
        }
        self.write(move |tx| catalog::put_definition(tx, &definition)).await
    }

    async fn definitions(&self, project: Option<Uuid>) -> Result<Vec<Definition>, BackendError> {
        self.read(move |connection| catalog::definitions(connection, project).map(Ok)).await
    }

    async fn definition_versions(
        &self,
        definition: Uuid,
    ) -> Result<Vec<DefinitionVersion>, BackendError> {
        self.read(move |connection| catalog::versions(connection, definition).map(Ok)).await
    }

    async fn delete_definition(&self, definition: Uuid) -> Result<(), RecordError> {
        self.write(move |tx| catalog::delete_definition(tx, definition)).await
    }

    async fn put_workspace(&self, workspace: Workspace, expected: u32) -> Result<u32, RecordError> {
        self.write(move |tx| catalog::put_workspace(tx, &workspace, expected)).await
    }

    async fn workspaces(&self) -> Result<Vec<Workspace>, BackendError> {
        self.read(|connection| catalog::workspaces(connection).map(Ok)).await
    }

    async fn workspace(&self, id: &str) -> Result<Option<Workspace>, BackendError> {
        let id = id.to_owned();
        self.read(move |connection| catalog::workspace_of_id(connection, &id).map(Ok)).await
    }

    async fn workspace_at(&self, path: &str) -> Result<Option<Workspace>, BackendError> {
        let path = path.to_owned();
        self.read(move |connection| catalog::workspace_at(connection, &path).map(Ok)).await
    }

    async fn delete_workspace(&self, id: &str) -> Result<(), RecordError> {
        let id = id.to_owned();
        self.write(move |tx| catalog::delete_workspace(tx, &id)).await
    }
}
