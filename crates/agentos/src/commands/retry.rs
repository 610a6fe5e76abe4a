//! `agentos retry`: a new run that keeps the finished work of one that failed.

use std::process::ExitCode;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::short_name::short_name;
use agentos_engine::fork::{ForkAt, ForkError, fork};
use agentos_store::records::{Records as _, RunDetail, RunRecord};
use agentos_store::run::CreateError;
use agentos_store::sqlite::SqliteStore;
use uuid::Uuid;

use super::report;
use crate::error::{Cause, CommandError, Result};
use crate::session::Session;
use crate::travel::sequel::Sequel;
use crate::view::Stream;
use crate::workspace::tend;
use crate::{foreground, names, scribe, workspace};

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
    if args.detach {
        let record = detached(session, &args.run).await?;
        session.output.lines([record.run_id])?;
        return Ok(ExitCode::SUCCESS);
    }
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    // What is seen to its end here is ours from the start: an executor that lives must not find it first.
    let owner = foreground::enlist(store)?;
    let run = mended(session, store, &args.run, Some(owner.id())).await?.id;
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::drive(session, store, (owner, run), stream).await?;
    report(session, &detail, args.json)
}

/// Makes the new run, and leaves it to whoever attends to the database.
pub(crate) async fn detached(session: &Session, run: &str) -> Result<RunRecord> {
    let opened = session.open_for(run)?;
    let record = mended(session, &opened.store, run, None).await?;
    opened.ensure_attended().await?;
    Ok(record)
}

/// The new run, in the workspace of the one that it mends.
async fn mended(
    session: &Session,
    store: &SqliteStore,
    name: &str,
    owner: Option<OwnerId>,
) -> Result<RunRecord> {
    let old = names::find_detail(store, name).await?;
    let placed = workspace::ensure(session, store, &old.run).await?;
    let run = make(session, store, &old, owner).await?;
    let record = store.run_detail(run).await?.run;
    if let Some(placed) = placed {
        tend::occupy(session, store, &record, placed).await?;
    }
    scribe::write(store, run).await;
    let name = &record.run_id;
    session.output.note(&format!("{name} goes on with what {} has finished", old.run.run_id));
    Ok(record)
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
        .because(Cause::NotRetryable)
        .cli_hint(format!("`agentos show {}` tells how it stands", record.run_id))
}
