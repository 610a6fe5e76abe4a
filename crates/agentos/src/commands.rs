//! One file per command.

pub(crate) mod approve;
pub(crate) mod artifacts;
pub(crate) mod cancel;
pub(crate) mod check;
pub(crate) mod config;
pub(crate) mod db;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod fork;
pub(crate) mod init;
pub(crate) mod logs;
pub(crate) mod mcp;
pub(crate) mod query;
pub(crate) mod resume;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod show;
pub(crate) mod signal;
pub(crate) mod status;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod workflows;
pub(crate) mod workspace;

use std::path::Path;
use std::process::ExitCode;

use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{CommentRecord, RunDetail, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::standing::{self, Standing};

use crate::databases::locks;
use crate::error::{ErrorKind, Result};
use crate::session::Session;
use crate::terminal::note::is_note;
use crate::travel::changed::ChangedWorkflow;

/// What is said of a run that was seen to its end.
async fn report(
    session: &Session,
    store: &SqliteStore,
    detail: &RunDetail,
    json: bool,
) -> Result<ExitCode> {
    let output = detail.run.output.as_ref().filter(|output| !output.is_null());
    let told = match output {
        _ if json => session.output.document(detail),
        Some(output) => session.output.document(output),
        None => Ok(()),
    };
    match told {
        // Whoever does not listen can still ask how it ended.
        Err(error) if error.kind != ErrorKind::PipeClosed => return Err(error),
        _ => {}
    }
    if let Some(place) = place_of(session, &detail.run) {
        let hint = "; `agentos init --examples` copies it, to be changed";
        let hint = if is_built_in(session, &detail.run) { hint } else { "" };
        session.output.note(&format!("it failed at {place}{hint}"));
    }
    let is_told =
        |comment: &&CommentRecord| comment.author.as_deref() == Some("agentos") || is_note(comment);
    for comment in detail.comments.iter().filter(is_told) {
        session.output.note(&comment.message);
    }
    if let (Some(_), Some(path)) = (&detail.run.workspace_id, &detail.run.workspace_dir) {
        let branch = detail.run.branch_name.as_deref().unwrap_or("no branch");
        let folder = Path::new(path);
        // What a link leads to is somebody else's.
        let is_there = folder.symlink_metadata().is_ok_and(|found| found.is_dir());
        let place = if is_there { format!(", in {path}") } else { String::new() };
        let found = is_there.then(|| standing::of(&session.surroundings, folder)).flatten();
        let branch = match found {
            // It may have been left since.
            Some(Standing::On(branch)) => branch,
            Some(Standing::Nowhere(commit)) => format!("no branch, at {commit}"),
            None => branch.to_owned(),
        };
        session.output.note(&format!("its work is on {branch}{place}"));
    }
    if let Some(url) = &detail.run.pr_url {
        session.output.note(&format!("its pull request is {url}"));
    }
    if matches!(detail.run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut) {
        let folder = detail.run.workspace_dir.as_ref().or(detail.run.work_dir.as_ref());
        if let Some(folder) = folder {
            locks::tell_of_unseen(session, Path::new(folder)).await;
        }
        let name = &detail.run.run_id;
        session.output.note(&format!(
            "`agentos retry {name}` tries again what failed, and keeps what was finished before"
        ));
    }
    if let Some(changed) = ChangedWorkflow::find(session, store, &detail.run).await {
        session.output.note(&changed.to_string());
    }
    Ok(match detail.run.status {
        WorkflowStatus::Completed => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    })
}

/// Where in its source a workflow failed, if that is known. What is built in is in no file of the project.
fn place_of(session: &Session, run: &RunRecord) -> Option<String> {
    let at = run.error.as_ref()?.get("detail")?.get("at")?.as_str()?;
    Some(match is_built_in(session, run) {
        true => format!("built-in {} ({at})", run.workflow),
        false => format!("{WORKFLOWS_FOLDER}/{at}"),
    })
}

fn is_built_in(session: &Session, run: &RunRecord) -> bool {
    session.catalog.find(&run.workflow).is_ok_and(|found| found.is_built_in())
}
