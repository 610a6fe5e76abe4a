//! `agentos retry`: a new run that keeps the finished work of one that failed.

use std::process::ExitCode;

use agentos_core::id::{OwnerId, RunId};
use agentos_core::rebase::RebaseError;
use agentos_core::short_name::short_name;
use agentos_engine::fork::{ForkAt, ForkError, fork, trial};
use agentos_store::records::{Records as _, RunDetail, RunRecord};
use agentos_store::run::CreateError;
use uuid::Uuid;

use super::report;
use crate::error::{Cause, CommandError, Result};
use crate::output::Notes;
use crate::session::{Opened, Session};
use crate::travel::changed::ChangedWorkflow;
use crate::travel::latest::{self, Latest};
use crate::travel::past;
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

    /// Use the workflow as it is now, not the source that the failed run had
    #[arg(long)]
    latest: bool,

    /// Leave the new run to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document
    #[arg(long)]
    json: bool,
}

/// How a new run is made out of one that failed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct How {
    /// With the workflow as it is now.
    pub(crate) latest: bool,
    /// The caller is elsewhere, and is given nothing but files of the project.
    pub(crate) from_afar: bool,
}

impl Args {
    const fn how(&self) -> How {
        How { latest: self.latest, from_afar: false }
    }
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.detach {
        let (record, _) = detached(session, &args.run, args.how()).await?;
        session.output.lines([record.run_id])?;
        return Ok(ExitCode::SUCCESS);
    }
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    // What is seen to its end here is ours from the start: an executor that lives must not find it first.
    let owner = foreground::enlist(store)?;
    let mut notes = Notes::new(&session.output);
    let request = (args.run.as_str(), args.how());
    let run = mended(session, &opened, request, (Some(owner.id()), &mut notes)).await?.id;
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::see_to_end(session, store, (owner, run), stream).await?;
    report(session, store, &detail, args.json).await
}

/// Makes the new run, and leaves it to the executor or server of the database. Answers with what was said about it as well.
pub(crate) async fn detached(
    session: &Session,
    run: &str,
    how: How,
) -> Result<(RunRecord, Vec<String>)> {
    let opened = session.open_for(run)?;
    let mut notes = Notes::new(&session.output);
    let record = mended(session, &opened, (run, how), (None, &mut notes)).await?;
    foreground::leave_if_ended(session, &opened.store, record.id).await?;
    opened.ensure_attended().await?;
    Ok((record, notes.said()))
}

/// The new run, in the workspace of the one that it mends.
async fn mended(
    session: &Session,
    opened: &Opened,
    (name, how): (&str, How),
    (owner, notes): (Option<OwnerId>, &mut Notes<'_>),
) -> Result<RunRecord> {
    let store = &opened.store;
    let old = names::find_detail(store, name).await?;
    let is_latest = how.latest;
    let latest = match is_latest {
        true => Some(Latest::find(session, &old.run)?),
        false => None,
    };
    let placed = workspace::ensure(session, store, &old.run).await?;
    let source = (&old, latest.as_ref(), how.from_afar);
    let run = make(session, opened, source, (owner, notes)).await?;
    let record = store.run_detail(run).await?.run;
    if let Some(placed) = placed {
        tend::occupy(session, store, &record, placed).await?;
    }
    scribe::write(store, run).await;
    let name = &record.run_id;
    let source = if is_latest { ", with the latest source" } else { "" };
    session
        .output
        .note(&format!("{name} goes on with what {} has finished{source}", old.run.run_id));
    // With its own workflow as it is now, a child run leaves the one that invoked it as failed as before.
    if let Some(changed) = ChangedWorkflow::find(session, store, &old.run).await
        && (!is_latest || old.run.parent_run_id.is_some())
    {
        session.output.note(&changed.to_string());
    }
    Ok(record)
}

async fn make(
    session: &Session,
    opened: &Opened,
    (old, latest, from_afar): (&RunDetail, Option<&Latest>, bool),
    (owner, notes): (Option<OwnerId>, &mut Notes<'_>),
) -> Result<RunId> {
    let run = RunId(Uuid::now_v7());
    let (store, record) = (&opened.store, &old.run);
    let changed = ChangedWorkflow::find(session, store, record).await;
    let refused = |error| match error {
        ForkError::Rebase(error) if latest.is_some() && latest::is_misfit(&error) => {
            latest::does_not_fit(record, &error)
        }
        ForkError::Rebase(error) => refused(record, &error, changed.as_ref()),
        error => error.into(),
    };
    let started = match latest {
        Some(_) => past::started(store, record.id).await?,
        None => None,
    };
    let again = match (latest, &started) {
        (Some(latest), Some(started)) => {
            let (beginning, left_out) =
                latest.start_again(session, (record, started), from_afar)?;
            left_out.iter().for_each(|note| notes.note(note));
            let (start, folder) = beginning.in_new_folder(record, run)?;
            Some((latest, start, folder))
        }
        _ => None,
    };
    for choice in 0..NAMES {
        let run_id = short_name(run, &record.workflow, choice);
        let mut sequel = Sequel::in_the_same_place(record, run, run_id);
        if let Some((latest, start, folder)) = &again {
            sequel = sequel.with_source((*latest).clone(), start.clone());
            if let Some(folder) = folder {
                sequel = sequel.in_new_folder(folder);
            }
            let request = sequel.request(ForkAt::Failure, None);
            trial(store, session.library(store), request).await.map_err(refused)?;
            sequel = sequel.kept(opened).await?;
        }
        let request = sequel.request(ForkAt::Failure, owner);
        match fork(store, session.library(store), request).await {
            Ok(notices) => {
                notices.iter().for_each(|notice| notes.note(notice));
                return Ok(run);
            }
            Err(ForkError::Create(CreateError::NameTaken { .. })) => {}
            Err(error) => return Err(refused(error)),
        }
    }
    Err(CommandError::failed(format!("no readable id is left for a run of `{}`", record.workflow)))
}

fn refused(
    record: &RunRecord,
    error: &RebaseError,
    changed: Option<&ChangedWorkflow>,
) -> CommandError {
    let (name, workflow) = (&record.run_id, &record.workflow);
    let refused = CommandError::refused(format!("{name} can't be retried: {error}"))
        .because(Cause::NotRetryable);
    if !matches!(error, RebaseError::Fails(_)) {
        return refused.cli_hint(format!("`agentos show {name}` tells how it stands"));
    }
    // What code does with the same answers, it does again.
    let fix = || format!("fix the workflow `{workflow}`, then `agentos retry {name} --latest`");
    refused
        .cli_hint(changed.map_or_else(fix, ToString::to_string))
        .api_hint(format!("fix the workflow `{workflow}`, then retry with `\"latest\": true`"))
}
