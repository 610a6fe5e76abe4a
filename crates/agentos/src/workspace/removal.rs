//! Removing workspaces, for `clean`, `gc` and runs that have ended: what is said about it, and who deletes what is in the
//! trash. A dry run is told of in the same way.

use std::path::{Path, PathBuf};

use agentos_process::detached::Detached;
use agentos_workspace::workspace::backup::{BackupError, Keeping};
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::removal::{CleanError, Cleaned};
use agentos_workspace::workspace::restore::RestoreError;
use agentos_workspace::workspace::verdict::{LookError, Verdict};
use agentos_workspace::workspace::verify::VerifyError;
use agentos_workspace::workspace::yard::Yard;
use agentos_workspace::workspace::{Workspace, room, trash};
use serde_json::{Value, json};

use super::desk::Desk;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;

/// What became of a workspace that was to be removed, or would.
pub(crate) struct Outcome {
    workspace: Workspace,
    is_dry: bool,
    removal: Result<Removal, (CommandError, Option<Box<Verdict>>)>,
}

/// The removal of a workspace.
enum Removal {
    /// It was removed.
    Done(Cleaned),
    /// It can be removed.
    Possible(Verdict),
}

/// Removes a workspace, if nothing is lost by it.
pub(crate) async fn clean(desk: &Desk, workspace: Workspace, is_forced: bool) -> Result<Outcome> {
    let removal = move |yard: &Yard<'_>, id: &WorkspaceId, keeping: &Keeping| {
        yard.clean(id, is_forced, keeping).map(Removal::Done)
    };
    attempt(desk, workspace, false, removal).await
}

/// Finds out what [`clean`] would do, and removes nothing.
pub(crate) async fn judge(desk: &Desk, workspace: Workspace, is_forced: bool) -> Result<Outcome> {
    let removal = move |yard: &Yard<'_>, id: &WorkspaceId, keeping: &Keeping| {
        yard.judge(id, is_forced, keeping).map(Removal::Possible)
    };
    attempt(desk, workspace, true, removal).await
}

async fn attempt(
    desk: &Desk,
    workspace: Workspace,
    is_dry: bool,
    removal: impl FnOnce(&Yard<'_>, &WorkspaceId, &Keeping) -> Result<Removal, CleanError>
    + Send
    + 'static,
) -> Result<Outcome> {
    let desk = desk.clone().at(&workspace)?;
    let (id, keeping) = (workspace.id.clone(), desk.keeping());
    // Whether it is refused is for the caller to say.
    let removal = desk.work(move |yard| Ok::<_, CommandError>(removal(yard, &id, &keeping)));
    let removal = removal.await?;
    if let Err(CleanError::InUse { id, run }) = &removal {
        let name = desk.name_of(run).await;
        if let Some(elsewhere) = desk.elsewhere(run).await {
            let other = &elsewhere.counterpart;
            let message = format!("the workspace {id} belongs to the run {name}, {other}");
            let error = elsewhere.advise(CommandError::refused(message), &name);
            let error = error.because(Cause::WorkspaceInUse);
            return Ok(Outcome { workspace, is_dry, removal: Err((error, None)) });
        }
        let message = format!("the workspace {id} belongs to the run {name}, which has not ended");
        let error = CommandError::refused(message)
            .because(Cause::WorkspaceInUse)
            .cli_hint(format!(
                "`agentos cancel {name}` ends it; `--force` backs the workspace up and removes it, and the run brings it back"
            ))
            .api_hint(format!(
                "cancel {name} first; or `\"force\": true` backs the workspace up and removes it, and the run brings it back"
            ));
        return Ok(Outcome { workspace, is_dry, removal: Err((error, None)) });
    }
    let removal = removal.map_err(|error| match error {
        CleanError::Refused(verdict) => {
            let refused = CleanError::Refused(verdict.clone());
            (refused.into(), Some(verdict))
        }
        error => (error.into(), None),
    });
    Ok(Outcome { workspace, is_dry, removal })
}

impl Outcome {
    /// The exit status that it asks for.
    pub(crate) fn failure(&self) -> Option<ErrorKind> {
        self.removal.as_ref().err().map(|(error, _)| error.kind)
    }

    /// Why it is still there.
    pub(crate) fn refusal(&self) -> Option<&CommandError> {
        self.removal.as_ref().err().map(|(error, _)| error)
    }

    /// For people.
    pub(crate) fn lines(&self) -> Vec<String> {
        match &self.removal {
            Ok(Removal::Done(cleaned)) => told(cleaned),
            Ok(Removal::Possible(verdict)) => {
                let mut lines: Vec<String> =
                    verdict.to_string().lines().map(str::to_owned).collect();
                lines.push("  would be removed".to_owned());
                lines
            }
            Err((error, None)) => {
                let mut lines = vec![format!("{}: {}", self.workspace.id, error.message)];
                lines.extend(error.hint.iter().map(|hint| format!("  {hint}")));
                lines
            }
            Err((error, Some(verdict))) => {
                let mut lines: Vec<String> =
                    verdict.to_string().lines().map(str::to_owned).collect();
                let refused = if self.is_dry { "would not be removed" } else { "not removed" };
                lines.push(format!("  {refused}"));
                lines.extend(error.hint.iter().map(|hint| format!("  {hint}")));
                lines
            }
        }
    }

    /// For programs.
    pub(crate) fn document(&self) -> Value {
        let id = &self.workspace.id;
        match &self.removal {
            Ok(Removal::Done(cleaned)) => json!({
                "workspace_id": id,
                "is_removed": true,
                "verdict": judged(&cleaned.verdict),
                "backup": cleaned.backup,
                "branch": cleaned.branch,
                "error": null,
            }),
            Ok(Removal::Possible(verdict)) => json!({
                "workspace_id": id,
                "is_removed": false,
                "verdict": judged(verdict),
                "backup": null,
                "branch": self.workspace.branch,
                "error": null,
            }),
            Err((error, verdict)) => json!({
                "workspace_id": id,
                "is_removed": false,
                "verdict": verdict.as_deref().map(judged),
                "backup": null,
                "branch": self.workspace.branch,
                "error": error.message,
            }),
        }
    }
}

/// A verdict as every interface shows it.
pub(crate) fn judged(verdict: &Verdict) -> Value {
    json!({
        "workspace_id": verdict.workspace_id,
        "path": verdict.path,
        "kind": verdict.kind,
        "branch": verdict.branch,
        "integrated": verdict.integrated,
        "findings": verdict.findings,
        "is_free": verdict.is_free(),
    })
}

fn told(cleaned: &Cleaned) -> Vec<String> {
    let mut lines: Vec<String> = cleaned.verdict.to_string().lines().map(str::to_owned).collect();
    lines.push("  removed".to_owned());
    if let Some(backup) = &cleaned.backup {
        let id = &backup.workspace_id;
        lines.push(format!(
            "  backed up as {}; it comes back with: agentos workspace restore {id}",
            backup.reference
        ));
    }
    lines.extend(cleaned.branch.iter().map(|branch| format!("  its commits stay on {branch}")));
    lines
}

/// Deletes what is in the trash, in a process that nobody waits for.
pub(crate) fn sweep_later(session: &Session, root: &Path) {
    let count = trash::count(root);
    if count == 0 {
        return;
    }
    let start = || -> std::io::Result<()> {
        let arguments = ["workspace".into(), "sweep".into(), root.as_os_str().to_owned()];
        Detached {
            program: std::env::current_exe()?,
            arguments: arguments.to_vec(),
            folder: PathBuf::from("/"),
            log: PathBuf::from("/dev/null"),
        }
        .start()?;
        Ok(())
    };
    match start() {
        Ok(()) => session.output.note("what was removed is being deleted in the background"),
        Err(error) => session.output.note(&format!(
            "what was removed is in {} and could not be deleted yet ({error}); the next `agentos workspace clean` or `gc` \
             does it",
            root.join(".agentos-trash").display()
        )),
    }
}

impl From<CleanError> for CommandError {
    fn from(error: CleanError) -> Self {
        let message = error.to_string();
        let failed = Self::caused(&error);
        if failed.is_of_kill() {
            return failed;
        }
        match error {
            CleanError::NoSuchWorkspace { .. } => {
                Self::not_found(message).because(Cause::NoSuchWorkspace)
            }
            CleanError::Refused(verdict) if verdict.is_forbidden() => {
                Self::refused(message).because(Cause::WorkWouldBeLost)
            }
            CleanError::Refused(_) => {
                let backs_up = |how: &str| format!("`{how}` backs it up and removes it");
                let refused = Self::refused(message).because(Cause::WorkWouldBeLost);
                let refused = refused.cli_hint(backs_up("--force"));
                refused.api_hint(backs_up("\"force\": true"))
            }
            CleanError::NotIt(VerifyError::Missing { .. }) => {
                let moved = "if you have moved it, move it back";
                let made = "`agentos workspace run ID -- true` makes it again from its branch";
                let refused = Self::refused(message).because(Cause::WorkspaceUnusable);
                let refused = refused.api_hint(moved);
                refused.cli_hint(format!("{moved}; if it is lost, {made}"))
            }
            CleanError::NotOurs { .. } | CleanError::NotIt(_) => {
                Self::refused(message).because(Cause::WorkspaceUnusable)
            }
            CleanError::InUse { .. } => Self::refused(message).because(Cause::WorkspaceInUse),
            CleanError::Backup(error) => error.into(),
            CleanError::Look(error) => error.into(),
            CleanError::Ledger(error) => error.into(),
            _ => failed,
        }
    }
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        let message = error.to_string();
        let failed = Self::caused(&error);
        if failed.is_of_kill() {
            return failed;
        }
        match error {
            BackupError::NotIt(_) => Self::refused(message).because(Cause::WorkspaceUnusable),
            BackupError::TooLarge { .. } | BackupError::Restless { .. } => {
                Self::refused(message).because(Cause::BackupUnusable)
            }
            // Nothing is removed that could not be kept.
            _ if room::is_full_disk(&message) => Self::refused(message)
                .because(Cause::DiskFull)
                .hint("there is no room for the backup, so nothing was removed; make room first"),
            _ => failed,
        }
    }
}

impl From<LookError> for CommandError {
    fn from(error: LookError) -> Self {
        match error {
            LookError::NotIt(error) => {
                Self::refused(error.to_string()).because(Cause::WorkspaceUnusable)
            }
            error => Self::caused(&error),
        }
    }
}

impl From<RestoreError> for CommandError {
    fn from(error: RestoreError) -> Self {
        let message = error.to_string();
        let failed = Self::caused(&error);
        if failed.is_of_kill() {
            return failed;
        }
        match error {
            RestoreError::NoBackup { .. } => Self::not_found(message).because(Cause::NoBackup),
            RestoreError::StillThere { id } => Self::refused(message)
                .because(Cause::WorkspaceThere)
                .cli_hint(format!("clean it first: agentos workspace clean {id} --force"))
                .api_hint(format!("clean it first: `POST /api/workspaces/{id}/clean`")),
            RestoreError::NoRoom(_) => Self::refused(message).because(Cause::DiskFull),
            RestoreError::Damaged { .. }
            | RestoreError::PlaceTaken { .. }
            | RestoreError::BranchMoved { .. } => {
                Self::refused(message).because(Cause::BackupUnusable)
            }
            RestoreError::NotIt(_) => Self::refused(message).because(Cause::BackupUnusable),
            RestoreError::Backup(error) => error.into(),
            RestoreError::Open(error) => (*error).into(),
            RestoreError::Ledger(error) => error.into(),
            _ => failed,
        }
    }
}
