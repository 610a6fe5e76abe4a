//! A new run out of a recorded one: a retry of what failed, or a fork from before some step.
//!
//! Nothing is performed here. The new run is there with its whole history, or it is not there; whoever drives runs finds
//! it like any other.

use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Home, Record, RunOutcome, RunStarted};
use agentos_core::failure::Failure;
use agentos_core::id::{OwnerId, RunId, StepNumber};
use agentos_core::rebase::{Destination, Keep, Names, Rebase, RebaseError, Rebased, generation};
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_store::log::{ReadError, load_whole_log};
use agentos_store::place::Place;
use agentos_store::run::{CreateError, History, NewRun};
use agentos_store::store::Store;
use thiserror::Error;

use crate::library::{Library, prelude};
use crate::notices;

/// What the new run keeps of the old one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForkAt {
    /// Everything that finished before the failure.
    Failure,
    /// Everything that was asked for before this step.
    Step(StepNumber),
}

/// A run to be made out of another one.
#[derive(Debug, Clone)]
pub struct ForkRequest {
    /// The recorded run.
    pub of: RunId,
    /// What is kept of it.
    pub at: ForkAt,
    /// The new run's id.
    pub run: RunId,
    /// What the new run calls itself and where it works. Where it names no agents, those of the old one work for it.
    pub home: Home,
    /// What the new run is started with, if not with what the old one was. It has been checked.
    pub input: Option<Value>,
    /// What a run of another source starts with, if the new run is to have that source: its definition and limits count.
    pub source: Option<Box<RunStarted>>,
    /// Where the new run belongs.
    pub place: Place,
    /// Who drives it from the start; if nobody does, whoever finds it.
    pub owner: Option<OwnerId>,
    /// What the old run calls itself and its places.
    pub old_names: Names,
    /// What the new run calls itself and its places.
    pub new_names: Names,
    /// The time.
    pub now: Timestamp,
}

/// Why there is no new run. Nothing has changed.
#[derive(Debug, Error)]
pub enum ForkError {
    /// The recorded run can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// It can't be executed anew.
    #[error(transparent)]
    Rebase(#[from] RebaseError),
    /// The new run can't be stored.
    #[error(transparent)]
    Create(#[from] CreateError),
    /// The workflow's code panicked.
    #[error("the workflow panicked while it was executed anew")]
    Panicked,
}

/// Makes a new run out of a recorded one. Answers with what is worth telling.
///
/// # Errors
/// [`ForkError`].
pub async fn fork(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: ForkRequest,
) -> Result<Vec<String>, ForkError> {
    let (run, place, now) = (request.run, request.place.clone(), request.now);
    let owner = request.owner;
    let (Rebased { mut chunks, standing, .. }, notices) = rebased(store, library, request).await?;
    let began = chunks.first().ok_or(RebaseError::Empty)?.at;
    let first = take_first(&mut chunks).ok_or(RebaseError::Empty)?;
    let history = Some(History { began, rest: chunks, standing });
    store.create_run(NewRun { run, at: now, first, history, place, owner }).await?;
    Ok(notices)
}

/// Whether there could be such a run; nothing is made.
///
/// # Errors
/// [`ForkError`].
pub async fn trial(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: ForkRequest,
) -> Result<Vec<String>, ForkError> {
    Ok(rebased(store, library, request).await?.1)
}

async fn rebased(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: ForkRequest,
) -> Result<(Rebased, Vec<String>), ForkError> {
    let log = load_whole_log(store, request.of).await?;
    let log: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
    if let Some(Record { entry: Entry::RunStarted(old), .. }) = generation(&log).first() {
        // What could not be prepared can't be opened either, and that is said below.
        let _unprepared = library.prepare(request.source.as_deref().unwrap_or(old)).await;
    }
    // Programs stay on the thread that they began on, and may take a while.
    let is_retry = request.at == ForkAt::Failure;
    let executed = tokio::task::spawn_blocking(move || {
        let rebased = execute(&*library, &log, request)?;
        let notices = notices::sentences(&log, &rebased);
        Ok::<_, RebaseError>((rebased, notices))
    });
    let (rebased, notices) = executed.await.map_err(|_| ForkError::Panicked)??;
    match failure(&rebased).filter(|_| is_retry) {
        // A run that has failed already mends nothing.
        Some(failure) => Err(RebaseError::Fails(failure.clone()).into()),
        None => Ok((rebased, notices)),
    }
}

/// Why the new run would have failed before anything is done for it.
fn failure(rebased: &Rebased) -> Option<&Failure> {
    match rebased.chunks.last()?.entries.last()? {
        Entry::RunEnded { outcome: RunOutcome::Failed { failure } } => Some(failure),
        _ => None,
    }
}

fn execute(
    library: &dyn Library,
    log: &[Record],
    request: ForkRequest,
) -> Result<Rebased, RebaseError> {
    let Some(Record { entry: Entry::RunStarted(old), at: began, .. }) = generation(log).first()
    else {
        return Err(RebaseError::Empty);
    };
    let ForkRequest { at, run, home, input, source, old_names, new_names, now, .. } = request;
    // Whoever worked in the place of an agent goes on doing so, unless somebody else is named.
    let agents = if home.agents.is_empty() { old.home.agents.clone() } else { home.agents };
    let given_files = match (&input, &source) {
        (None, None) => old.home.given_files.clone(),
        _ => home.given_files,
    };
    let limits = match source.as_deref() {
        Some(new) => new.clone(),
        // It has as long as the old one had.
        None => RunStarted {
            deadline: old.deadline.map(|deadline| Timestamp(now.0 + (deadline.0 - began.0))),
            ..old.clone()
        },
    };
    let start = RunStarted {
        run,
        definition: limits.definition,
        grace_ms: limits.grace_ms,
        timeout_ms: limits.timeout_ms,
        deadline: limits.deadline,
        forked_from: Some(old.run),
        // What another source starts with has that source's defaults.
        input: input.filter(|_| source.is_none()).unwrap_or(limits.input),
        home: Home { agents, given_files, setup: old.home.setup.clone(), ..home }.into(),
        // Nobody waits for a fork.
        parent: None,
        ..old.clone()
    };
    let keep = match at {
        ForkAt::Failure => Keep::Finished,
        ForkAt::Step(number) => Keep::BeforeStep(number),
    };
    let into = Destination::NewRun;
    let rebase = Rebase { log, start: start.clone(), keep, now, into, old_names, new_names };
    rebase.try_run(|| prelude::open(library, &start).map(|opened| opened.program))
}

/// Takes the very first entry out, which the store wants by itself.
fn take_first(chunks: &mut Vec<Chunk>) -> Option<Entry> {
    let beginning = chunks.first_mut()?;
    let first = (!beginning.entries.is_empty()).then(|| beginning.entries.remove(0))?;
    beginning.first = beginning.first.next();
    chunks.retain(|chunk| !chunk.entries.is_empty());
    Some(first)
}
