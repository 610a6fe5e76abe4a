//! `agentos retry`: a new run that keeps the finished work of one that failed.

use std::process::ExitCode;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::short_name::short_name;
use agentos_engine::fork::{ForkAt, ForkError, fork};
use agentos_store::records::{Records as _, RunDetail, RunRecord};
use agentos_store::run::CreateError;
use agentos_store::sqlite::{Owner, SqliteStore};
use uuid::Uuid;

use super::report;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::travel::sequel::Sequel;
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
        let sequel = Sequel::in_the_same_place(record, run, run_id);
        let request = sequel.request(ForkAt::Failure, owner);
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
