//! Taking a run up: its log is read and folded, its program executed to the end of it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::Try;
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::rebase::generation;
use agentos_core::standing::Standing;
use agentos_core::turn::Turn;
use agentos_store::log::load_whole_log;
use tokio::sync::mpsc;

use super::effects::InFlight;
use super::slots::Places;
use super::{Drive, Left};
use crate::library::prelude;
use crate::points::Point;
use crate::run_clock::RunClock;
use crate::shared::Shared;
use crate::travel::Track;
use crate::worker::Assignment;

impl Drive {
    /// Loads a run that was claimed, and executes it up to the end of its log.
    pub(super) async fn load(
        shared: &Arc<Shared>,
        Assignment { run, claim, mail, log }: Assignment,
        load: Arc<AtomicUsize>,
    ) -> Result<(Self, Turn), Left> {
        shared.pass(Point::Claimed)?;
        // Before anything is asked of the settings, so that no change is missed.
        let settings = shared.settings.subscribe();
        let trouble = |error: &dyn std::fmt::Display| Left::Trouble(error.to_string());
        let log = match log {
            Some(log) => log,
            None => load_whole_log(&*shared.store, run).await.map_err(|error| trouble(&error))?,
        };
        let records: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
        let ordered = orders(&records);
        let is_isolated = shared.snapshots.is_there() && is_isolated(&records);
        let track = Track::of(&records, is_isolated);
        let journal = Journal::fold(records).map_err(|error| trouble(&error))?;
        let start = journal.start().ok_or_else(|| trouble(&"its log is empty"))?;
        let home = start.home.clone();
        shared.library.prepare(start).await.map_err(|error| trouble(&error))?;
        let opened = prelude::open(&*shared.library, start).map_err(|error| trouble(&error))?;
        let claims = match &shared.slots {
            Some(slots) => slots.quotas().of_run(start, shared.library.concurrency(start)).await,
            None => Vec::new(),
        };
        let options = Options {
            lines_written: shared.lines.open(start),
            turn_entries: shared.limits.turn_entries,
            was_parked: matches!(claim.standing, Standing::Parked { .. }),
        };
        let reading = shared.clock.read();
        let last_at = journal.last_at().unwrap_or_else(|| reading.now());
        // What waits for no time, and has seen none that the wall clock does not show, goes by that.
        let may_be_ahead = claim.standing.wake_at().is_some() || last_at > reading.now();
        let ahead_us = if may_be_ahead { shared.wall_clock.ahead_us(reading, last_at) } else { 0 };
        let clock = RunClock::new(reading, ahead_us);
        let now = clock.now(reading);
        let (execution, turn) = Execution::replay(opened.program, journal, options, now)
            .map_err(|error| trouble(&error))?;
        shared.pass(Point::Loaded)?;
        let (sender, news) = mpsc::unbounded_channel();
        let drive = Self {
            shared: Arc::clone(shared),
            run,
            home: *home,
            epoch: claim.epoch,
            execution,
            clock,
            actions: opened.actions,
            standing: claim.standing,
            in_flight: InFlight::new(sender, ordered),
            places: Places::new(claims, shared.slots.as_deref()),
            track,
            load,
            told_at: None,
            trouble: None,
            mail,
            news,
            settings,
        };
        Ok((drive, turn))
    }
}

/// What is open and was ordered before this process took the run up: somebody else may have begun it.
fn orders(log: &[Record]) -> HashSet<(OperationId, Try)> {
    let mut open = HashMap::new();
    for record in generation(log) {
        match &record.entry {
            Entry::OperationOrdered { operation, r#try, .. }
            | Entry::OperationRetried { operation, r#try } => {
                open.insert(operation, *r#try);
            }
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                open.remove(operation);
            }
            _ => {}
        }
    }
    open.into_iter().map(|(operation, r#try)| (operation.clone(), r#try)).collect()
}

/// Whether the run works elsewhere than in the checkout itself.
fn is_isolated(log: &[Record]) -> bool {
    match generation(log).first().map(|first| &first.entry) {
        Some(Entry::RunStarted(start)) => {
            let home = &start.home;
            !home.workspace_path.is_empty() && home.workspace_path != home.project_path
        }
        _ => false,
    }
}
