//! `agentos retry`: a new run that keeps the finished work of one that failed.

use std::process::ExitCode;

use agentos_core::entry::Home;
use agentos_core::id::{OwnerId, RunId};
use agentos_core::rebase::Names;
use agentos_core::short_name::short_name;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::fork::{ForkAt, ForkError, ForkRequest, fork};
use agentos_store::folder::RunFolder;
use agentos_store::place::Place;
use agentos_store::records::{Records as _, RunDetail, RunRecord};
use agentos_store::run::CreateError;
use agentos_store::sqlite::{Owner, SqliteStore};
use uuid::Uuid;

use super::report;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::view::Stream;
use crate::workspace::tend;
use crate::{executor, foreground, names, scribe, workspace};

/// How many readable ids are tried.
const NAMES: u64 = 1_000;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run that failed: its id, its short name, or the beginning of one
    run: String,

    /// Leave the new run to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    let old = names::find_detail(store, &args.run).await?;
    // What is seen to its end here is ours from the start: an executor that lives must not find it first.
    let owner = if args.detach { None } else { Some(foreground::enlist(store)?) };
    let placed = workspace::ensure(session, store, &old.run).await?;
    let run = make(session, store, &old, owner.as_ref().map(Owner::id)).await?;
    let record = store.run_detail(run).await?.run;
    if let Some(placed) = placed {
        tend::occupy(session, store, &record, placed).await?;
    }
    scribe::write(store, run).await;
    let name = record.run_id;
    session.output.note(&format!("{name} goes on with what {} has finished", old.run.run_id));
    let Some(owner) = owner else {
        executor::ensure(store, &opened.prepared.project_path).await?;
        session.output.lines([name])?;
        return Ok(ExitCode::SUCCESS);
    };
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::drive(session, store, (owner, run), stream).await?;
    report(session, &detail, args.json)
}

async fn make(
    session: &Session,
    store: &SqliteStore,
    old: &RunDetail,
    owner: Option<OwnerId>,
) -> Result<RunId> {
    let run = RunId(Uuid::now_v7());
    let record = &old.run;
    for choice in 0..NAMES {
        let run_id = short_name(run, &record.workflow, choice);
        let request = ForkRequest {
            of: record.id,
            at: ForkAt::Failure,
            run,
            home: home(record, run_id.clone()),
            place: place(record, run),
            owner,
            old_names: own_names(&record.run_id, &record.id.to_string()),
            new_names: own_names(&run_id, &run.to_string()),
            now: SystemClock.now(),
        };
        match fork(store, session.library(store), request).await {
            Ok(_) => return Ok(run),
            Err(ForkError::Create(CreateError::NameTaken { .. })) => {}
            Err(ForkError::Rebase(error)) => return Err(refused(record, &error.to_string())),
            Err(error) => return Err(error.into()),
        }
    }
    Err(CommandError::failed(format!("no readable id is left for a run of `{}`", record.workflow)))
}

fn refused(record: &RunRecord, why: &str) -> CommandError {
    CommandError::refused(format!("{} can't be retried: {why}", record.run_id))
        .hint(format!("`agentos show {}` tells how it stands", record.run_id))
}

/// The new run works where the old one did.
fn home(record: &RunRecord, run_id: String) -> Home {
    Home {
        run_id,
        project_id: record.project_id.map(|id| id.to_string()).unwrap_or_default(),
        project_path: record.work_dir.clone().unwrap_or_default(),
        workspace_path: record.workspace_dir.clone().unwrap_or_default(),
        context_path: record.context_dir.clone().unwrap_or_default(),
        // That of the old run.
        setup: String::new(),
        depth: 0,
        // Those of the old run.
        agents: [].into(),
    }
}

fn place(record: &RunRecord, run: RunId) -> Place {
    let project = std::path::Path::new(record.work_dir.as_deref().unwrap_or_default());
    let folder = RunFolder::new(project, run);
    Place {
        project: record.project_id,
        definition: record.workflow_def_id,
        definition_version: record.definition_version,
        run_id: None,
        worktree_id: record.worktree_id.clone(),
        work_dir: record.work_dir.clone(),
        workspace_dir: record.workspace_dir.clone(),
        workspace_id: record.workspace_id.clone(),
        context_dir: record.context_dir.clone(),
        branch_name: record.branch_name.clone(),
        log_file_path: Some(folder.log_file().to_string_lossy().into_owned()),
    }
}

fn own_names(run_id: &str, id: &str) -> Names {
    Names::default().with(run_id, "{run_id}").with(id, "{id}")
}
