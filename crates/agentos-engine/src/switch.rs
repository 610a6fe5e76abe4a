//! A run under another source: tried without effects first, then gone on with.
//!
//! The run is claimed, so that nobody drives it meanwhile. What would become of it is found out by executing the new source
//! over its recorded answers; only then is anything written, and all of it in one transaction.

use std::collections::BTreeMap;
use std::sync::Arc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Home, Record, RunStarted};
use agentos_core::id::{Epoch, OwnerId, RunId};
use agentos_core::rebase::{
    Destination, Keep, Names, Rebase, RebaseError, Rebased, StepChanges, generation,
};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::commit::{CommitError, Outgoing, TurnCommit};
use agentos_store::log::{ReadError, load_whole_log};
use agentos_store::projection::operation_title;
use agentos_store::store::Store;
use thiserror::Error;

use crate::library::{Library, LibraryError, prelude};
use crate::notices;

/// A run to be moved.
#[derive(Debug, Clone)]
pub struct SwitchRequest {
    /// The run.
    pub run: RunId,
    /// What it starts with under the other source: the definition, the input, the agents and the names of given files of this
    /// count. It has been checked.
    pub start: Box<RunStarted>,
    /// The time.
    pub now: Timestamp,
}

/// Why a run stays under the source that it has. Nothing has changed.
#[derive(Debug, Error)]
pub enum SwitchError {
    /// It can't be had.
    #[error(transparent)]
    Claim(#[from] ClaimError),
    /// It can't be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The new source can't be had.
    #[error(transparent)]
    Library(#[from] LibraryError),
    /// The new source does not fit what is recorded.
    #[error(transparent)]
    Rebase(#[from] RebaseError),
    /// It could not be written.
    #[error(transparent)]
    Commit(#[from] CommitError),
    /// The workflow's code panicked.
    #[error("the workflow panicked while it was executed anew")]
    Panicked,
}

/// What becomes of a run under another source.
#[derive(Debug, Clone, PartialEq)]
pub struct Switched {
    /// What is worth telling.
    pub notices: Vec<String>,
    /// What becomes of its steps.
    pub steps: StepChanges,
    /// What operations outside of a step are called, by path.
    pub titles: BTreeMap<String, String>,
    /// How it stands then.
    pub standing: Standing,
}

impl Switched {
    fn new(rebased: &Rebased, notices: Vec<String>) -> Self {
        let Rebased { steps, standing, .. } = rebased;
        let titles = rebased.chunks.iter().flat_map(|chunk| &chunk.entries).filter_map(title);
        let titles = titles.collect();
        Self { notices, steps: steps.clone(), titles, standing: *standing }
    }
}

/// The path and the title of an operation that forms a step by itself.
fn title(entry: &Entry) -> Option<(String, String)> {
    let Entry::OperationOrdered { operation, number: Some(_), args, .. } = entry else {
        return None;
    };
    Some((operation.to_string(), operation_title(operation, args)))
}

/// Moves a run to another source. Its owner claims it for that and still has it afterwards, by this epoch: until the owner
/// drives the run or releases it, no other process does.
///
/// # Errors
/// [`SwitchError`]; then the run is released.
pub async fn switch(
    store: &dyn Store,
    library: Arc<dyn Library>,
    (request, owner): (SwitchRequest, OwnerId),
) -> Result<(Switched, Epoch), SwitchError> {
    let epoch = store.claim(request.run, owner, ClaimMode::IfFree).await?.epoch;
    let switched = switch_claimed(store, library, &request, epoch).await;
    if switched.is_err() {
        let _freed = store.release(request.run, epoch).await;
    }
    Ok((switched?, epoch))
}

/// Says what would become of a run under another source. Nothing is claimed or written, so it may be under way.
///
/// # Errors
/// [`SwitchError`].
pub async fn trial(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: &SwitchRequest,
) -> Result<Switched, SwitchError> {
    let (rebased, notices) = rebased(store, library, request).await?;
    Ok(Switched::new(&rebased, notices))
}

async fn switch_claimed(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: &SwitchRequest,
    epoch: Epoch,
) -> Result<Switched, SwitchError> {
    let (rebased, notices) = rebased(store, library, request).await?;
    let switched = Switched::new(&rebased, notices);
    for committed in store.commit(commits(request.run, epoch, rebased)).await {
        committed?;
    }
    Ok(switched)
}

/// The run's log under the other source, and what is worth telling of it.
async fn rebased(
    store: &dyn Store,
    library: Arc<dyn Library>,
    request: &SwitchRequest,
) -> Result<(Rebased, Vec<String>), SwitchError> {
    let log = load_whole_log(store, request.run).await?;
    let log: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
    let Some(Entry::RunStarted(old)) = generation(&log).first().map(|record| &record.entry) else {
        return Err(RebaseError::Empty.into());
    };
    let new = &*request.start;
    let home = Home {
        agents: new.home.agents.clone(),
        given_files: new.home.given_files.clone(),
        ..(*old.home).clone()
    };
    let start = RunStarted {
        definition: new.definition.clone(),
        input: new.input.clone(),
        home: home.into(),
        ..old.clone()
    };
    library.prepare(&start).await?;
    let now = request.now;
    // Programs stay on the thread that they began on, and may take a while.
    let executed = tokio::task::spawn_blocking(move || {
        let rebase = Rebase {
            log: &log,
            start: start.clone(),
            keep: Keep::Everything,
            now,
            into: Destination::SameRun,
            old_names: Names::default(),
            new_names: Names::default(),
        };
        let program = || prelude::open(&*library, &start).map(|opened| opened.program);
        let rebased = rebase.try_run(program)?;
        let notices = notices::sentences(&log, &rebased);
        Ok::<_, RebaseError>((rebased, notices))
    });
    Ok(executed.await.map_err(|_| SwitchError::Panicked)??)
}

/// The new log, chunk by chunk, in one batch. Until the last one the run counts as under way.
fn commits(run: RunId, epoch: Epoch, rebased: Rebased) -> Vec<TurnCommit> {
    let Rebased { chunks, standing, outgoing, .. } = rebased;
    let last = chunks.len().saturating_sub(1);
    let mut outgoing: Vec<Outgoing> = outgoing
        .into_iter()
        .map(|outgoing| Outgoing { to: outgoing.to, message: outgoing.message })
        .collect();
    let commits = chunks.into_iter().enumerate().map(|(number, chunk)| TurnCommit {
        run,
        epoch,
        expected: chunk.first,
        chunk,
        consumed: Vec::new(),
        standing: if number == last { standing } else { Standing::Working { wake_at: None } },
        outgoing: if number == last { std::mem::take(&mut outgoing) } else { Vec::new() },
    });
    commits.collect()
}
