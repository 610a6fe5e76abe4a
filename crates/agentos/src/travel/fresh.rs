//! A new workspace with the files of a run as they were at some step.

use std::path::{Path, PathBuf};

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::travel::Asked;
use agentos_process::shell_word::quoted_path;
use agentos_store::records::RunRecord;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::snapshot::{Label, Side, Snapshot};
use agentos_workspace::workspace::yard::{Open, Wanted};
use agentos_workspace::workspace::{Kind, Workspace};

use super::album;
use super::past::{Files, Past};
use crate::config::workspace::WantedKind;
use crate::error::{Cause, CommandError, Result};
use crate::session::Session;
use crate::start::RunNames;
use crate::workspace::desk::Desk;

/// A workspace to be made.
pub(crate) struct Fresh {
    desk: Desk,
    kind: Kind,
    /// The old run's.
    old: Workspace,
}

impl Fresh {
    /// A workspace of the kind that somebody wants, or that the old run's is of.
    pub(crate) async fn plan(
        session: &Session,
        store: &SqliteStore,
        past: &Past,
        wanted: Option<&str>,
    ) -> Result<Self> {
        let run = &past.run;
        let id = run.workspace_id.as_deref().map(str::parse::<WorkspaceId>);
        let Some(Ok(id)) = id else {
            let message = format!(
                "{} works in the checkout itself, where files are not kept as they were",
                run.run_id
            );
            return Err(CommandError::refused(message)
                .because(Cause::FilesNotKept)
                .hint("only runs in workspaces of their own can be forked"));
        };
        let desk = Desk::open(session, store)?;
        let Some(old) = desk.find(&id).await? else {
            let message = format!("the workspace {id} of {} is not known any more", run.run_id);
            return Err(CommandError::refused(message).because(Cause::FilesNotKept));
        };
        if !desk.has_run(run, &old) {
            return Err(of_another_repository(store, run));
        }
        let kind = match wanted.map(|text| (text, WantedKind::parse(text))) {
            None | Some((_, Some(WantedKind::Auto))) => old.kind,
            Some((_, Some(WantedKind::Own(kind)))) => kind,
            Some((text, _)) => {
                let message = format!("a fork can't have a workspace of the kind `{text}`");
                return Err(CommandError::usage(message)
                    .because(Cause::Place)
                    .hint("there are `worktree`, `clone` and `jj`: a fork has files of its own")
                    .field("/workspace"));
            }
        };
        if (kind == Kind::Jj) != (old.kind == Kind::Jj) {
            let message = format!(
                "{} worked in a workspace of the kind {}, which can't be forked into one of the kind {kind}",
                run.run_id, old.kind
            );
            return Err(CommandError::refused(message)
                .because(Cause::Place)
                .hint("leave the kind of workspace out")
                .field("/workspace"));
        }
        Ok(Self { desk: desk.at(&old)?, kind, old })
    }

    /// Where it will be, and its branch.
    pub(crate) async fn expected(&self, run_id: &str) -> Result<(PathBuf, Option<String>)> {
        let id = id_of(run_id)?;
        let branch = Some(id.branch());
        let path = self.desk.work(move |yard| Ok::<_, CommandError>(yard.path_of(&id))).await?;
        Ok((path, branch))
    }

    /// Makes it, for a run that is about to be created.
    pub(crate) async fn make(
        &self,
        store: &SqliteStore,
        (past, step): (&Past, &Asked),
        names: &RunNames,
    ) -> Result<Open> {
        let wanted = Wanted {
            id: id_of(&names.run_id)?,
            kind: self.kind,
            is_kind_said: true,
            base: None,
            run: Some(names.run.to_string()),
            now: SystemClock.now(),
        };
        let kept = match past.at_step(&self.desk, store, step).await? {
            Files::Kept(kept) => Some(*kept),
            Files::Unchanged => self.unchanged(store, (past, step), names).await?,
        };
        match kept {
            Some(kept) => self.desk.work(move |yard| yard.create_from(&wanted, &kept)).await,
            None => {
                let wanted = Wanted { base: Some(self.old.base.clone()), ..wanted };
                self.desk.work(move |yard| yard.open(&wanted)).await
            }
        }
    }

    /// The files as they are now, if nothing has changed them since the step began; none if nothing ever has.
    async fn unchanged(
        &self,
        store: &SqliteStore,
        (past, step): (&Past, &Asked),
        names: &RunNames,
    ) -> Result<Option<Snapshot>> {
        let run = &past.run;
        if !self.old.state.is_there() {
            if past.history.has_any_work() || run.forked_from.is_some() {
                let message = format!("the workspace of {} is gone", run.run_id);
                let back = |how: &str| format!("`{how}` brings it back, if it was backed up");
                let id = &self.old.id;
                return Err(CommandError::refused(message)
                    .because(Cause::FilesNotKept)
                    .cli_hint(back(&format!("agentos workspace restore {id}")))
                    .api_hint(back(&format!("POST /api/workspaces/{id}/restore"))));
            }
            return Ok(None);
        }
        if !album::belongs(&self.old, run) {
            let message = format!(
                "{} works in the workspace {} of another run, so there is no saying how its files were",
                run.run_id, self.old.id
            );
            return Err(CommandError::refused(message).because(Cause::FilesNotKept));
        }
        let label = Label {
            run: names.run.to_string(),
            step: step.number.0,
            attempt: 1,
            side: Side::ByHand,
            position: 0,
            note: None,
        };
        let now = album::take(&self.desk, self.old.clone(), label).await?;
        // The run may have gone on meanwhile; then it has kept its files itself.
        let again = Past::load(store, run.id).await?;
        match again.at_step(&self.desk, store, step).await? {
            Files::Unchanged => Ok(Some(now)),
            Files::Kept(kept) => {
                album::forget(&self.desk, names.run.to_string()).await?;
                Ok(Some(*kept))
            }
        }
    }
}

/// A run that was copied here, and that works in another repository still.
fn of_another_repository(store: &SqliteStore, run: &RunRecord) -> CommandError {
    let place = run.work_dir.as_deref().unwrap_or_default();
    let database = run.elsewhere.as_ref().map_or(store.path(), |other| &*other.database);
    let (name, folder) = (&run.run_id, quoted_path(Path::new(place)));
    CommandError::refused(format!(
        "{name} works in {place}, and can be forked in that checkout only"
    ))
    .because(Cause::NotForkable)
    .cli_hint(format!(
        "`cd {folder} && AGENTOS_WORKFLOW_DB={} agentos fork {name} --from-step STEP`",
        quoted_path(database)
    ))
    .api_hint("ask a server that serves that checkout")
}

fn id_of(run_id: &str) -> Result<WorkspaceId> {
    run_id.parse().map_err(|error| CommandError::failed(format!("{error}")))
}
