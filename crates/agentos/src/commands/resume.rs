//! `agentos resume`: goes on with what nobody drives.

mod latest;

use std::process::ExitCode;

use agentos_core::id::RunId;
use agentos_engine::background::Attended;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_engine::takeover::{self, TakeOver};
use agentos_store::counterpart::Counterparts;
use agentos_store::due::Except;
use agentos_store::records::Records as _;
use agentos_store::sqlite::{Owner, OwnerLife, SqliteStore};
use agentos_store::store::Store as _;

use super::report;
use crate::databases::counterpart::refuse_elsewhere;
use crate::error::{CommandError, ErrorKind, Result};
use crate::output::Notes;
use crate::session::{Opened, Session};
use crate::view::Stream;
use crate::{executor, foreground, names, workspace};

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true).args(["run", "due"]))]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: Option<String>,

    /// Everything that was interrupted or whose time has come
    #[arg(long)]
    due: bool,

    /// If somebody drives the run: end that process first. For one that hangs
    #[arg(long, conflicts_with = "due")]
    take_over: bool,

    /// Go on with the workflow as it is now, not with the source that the run started with
    #[arg(long, conflicts_with = "due")]
    latest: bool,

    /// Print what `--latest` would change, and change nothing
    #[arg(long, requires = "latest", conflicts_with_all = ["due", "take_over", "detach", "allow_setup"])]
    dry_run: bool,

    /// Approve the setup command of this repository's configuration, for now and later
    #[arg(long)]
    allow_setup: bool,

    /// Leave it to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document
    #[arg(long, conflicts_with_all = ["due", "detach"])]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    match &args.run {
        Some(name) if args.dry_run => latest::dry_run(session, name, args.json).await,
        Some(name) => resume(session, args, name).await,
        None => resume_due(session, args).await,
    }
}

async fn resume(session: &Session, args: &Args, name: &str) -> Result<ExitCode> {
    if args.allow_setup {
        workspace::setup::allow(session)?;
    }
    if args.take_over {
        take_over(session, name).await?;
    }
    let how = Preparation { latest: args.latest, is_left: args.detach, from_afar: false };
    let mut notes = Notes::new(&session.output);
    let Prepared { opened, run, mover } = prepare(session, name, how, &mut notes).await?;
    let store = &opened.store;
    if let Some(subject) = workspace::setup::subject(session).filter(|_| args.allow_setup) {
        // It may wait for just that.
        super::approve::approve_subject(session, &opened, name, &subject).await?;
    }
    if args.detach {
        leave(session, &opened, (run, mover.is_some())).await?;
        session.output.lines([store.run_detail(run).await?.run.run_id])?;
        return Ok(ExitCode::SUCCESS);
    }
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = match mover {
        Some(owner) => foreground::see_to_end(session, store, (owner, run), stream).await?,
        None => {
            foreground::drive(session, store, (foreground::enlist(store)?, run), stream).await?
        }
    };
    report(session, store, &detail, args.json).await
}

/// Lets a run go on at the request of a caller who is elsewhere, in the hands of the executor or server of the database. Answers
/// with what was said about it.
pub(crate) async fn detached(
    session: &Session,
    name: &str,
    (latest, takes_over): (bool, bool),
) -> Result<Vec<String>> {
    if takes_over {
        take_over(session, name).await?;
    }
    let how = Preparation { latest, is_left: true, from_afar: true };
    let mut notes = Notes::new(&session.output);
    let Prepared { opened, run, mover } = prepare(session, name, how, &mut notes).await?;
    leave(session, &opened, (run, mover.is_some())).await?;
    Ok(notes.said())
}

/// A run with its workspace, under the source that is asked for.
struct Prepared {
    opened: Opened,
    run: RunId,
    /// The owner that has moved it to its latest source.
    mover: Option<Owner>,
}

/// How a run is prepared for being driven.
#[derive(Debug, Clone, Copy)]
struct Preparation {
    /// With the workflow as it is now.
    latest: bool,
    /// It is left to another process.
    is_left: bool,
    /// The caller is elsewhere, and is given nothing but files of the project.
    from_afar: bool,
}

/// Prepares a run for being driven.
async fn prepare(
    session: &Session,
    name: &str,
    how: Preparation,
    notes: &mut Notes<'_>,
) -> Result<Prepared> {
    let opened = session.open_for(name)?;
    let store = &opened.store;
    let run = names::find(store, name).await?;
    refuse_elsewhere(store, run).await?;
    let mover = match how.latest {
        true => latest::switch(session, &opened, (run, how), notes).await?,
        false => None,
    };
    if !store.head(run).await?.standing.is_ended() {
        workspace::ensure(session, store, &store.run_detail(run).await?.run).await?;
    }
    Ok(Prepared { opened, run, mover })
}

/// Leaves it to the process that attends to the database. A run that was moved to its latest source may have ended by that, or
/// be driven already: no process had it before.
async fn leave(session: &Session, opened: &Opened, (run, is_moved): (RunId, bool)) -> Result<()> {
    if is_moved && opened.store.head(run).await?.standing.is_ended() {
        return foreground::leave_if_ended(session, &opened.store, run).await;
    }
    if !is_moved {
        check_free(&opened.store, run).await?;
    }
    Held::of(opened.store.path()).let_go(run);
    opened.ensure_attended().await
}

/// Whoever hangs may hold the writer's lock, so the store is only looked at.
async fn take_over(session: &Session, name: &str) -> Result<()> {
    let store = session.look_for(name)?;
    let run = names::find(&store, name).await?;
    if let TakeOver::From(_) = takeover::free(&store, run).await? {
        session.output.note("the process that had the run was ended");
    }
    Ok(())
}

/// Somebody who lives keeps what it has.
async fn check_free(store: &SqliteStore, run: RunId) -> Result<()> {
    let head = store.head(run).await?;
    if head.standing.is_ended() {
        return Err(foreground::ended(store, run, false).await);
    }
    match head.owner {
        Some(owner) if store.owner_life(owner) != OwnerLife::Dead => {
            Err(foreground::owned(store, run, owner).await)
        }
        _ => Ok(()),
    }
}

async fn resume_due(session: &Session, args: &Args) -> Result<ExitCode> {
    if let Ok(database) = session.database() {
        // Whoever asks for everything means also what was stopped.
        let held = Held::of(database);
        held.all().into_iter().for_each(|run| held.let_go(run));
    }
    let Some(look) = session.look()? else {
        session.output.note("nothing is due: there is no database here yet");
        return Ok(ExitCode::SUCCESS);
    };
    let elsewhere: Except = Counterparts::of(look.path()).all();
    let due = look.due(SystemClock.now(), &elsewhere, 1_000).await?;
    drop(look);
    if due.is_empty() {
        session.output.note("nothing is due");
        return Ok(ExitCode::SUCCESS);
    }
    let opened = session.open()?;
    let store = &opened.store;
    for due in &due {
        let run = store.run_detail(due.run).await?.run;
        if let Err(error) = workspace::ensure(session, store, &run).await {
            // The others go on all the same.
            session.output.note(&format!("{}: {}", run.run_id, error.message));
        }
    }
    if args.detach {
        opened.ensure_attended().await?;
        session.output.note(&format!("{} left to the background executor", runs(due.len())));
        return Ok(ExitCode::SUCCESS);
    }
    session.output.note(&format!("going on with {}", runs(due.len())));
    match executor::attend_to(session, store).await? {
        Attended::Another => {
            session.output.note("the background executor is at it already");
        }
        Attended::Idle => {}
        Attended::Told => {
            let message = "stopped before everything was done";
            return Err(CommandError::new(ErrorKind::Interrupted, message)
                .cli_hint("`agentos resume --due` goes on"));
        }
    }
    for due in due {
        let run = store.run_detail(due.run).await?.run;
        session.output.lines([format!("{}  {}", run.run_id, run.status.as_str())])?;
    }
    Ok(ExitCode::SUCCESS)
}

fn runs(count: usize) -> String {
    match count {
        1 => "1 run".to_owned(),
        more => format!("{more} runs"),
    }
}
