//! The state of one execution: where the program stands in its log.
//!
//! Everything that program code can read is read here, *at the cursor*: the state as written by the code executed so
//! far, the latest time among the deliveries so far. Never the end of the log, which may lie far ahead in a replay.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::anew::Anew;
use super::diverge::{AdvanceError, Divergence};
use super::scope::{Asked, AskedStep, Scope, What};
use crate::bounds;
use crate::codec::Cause;
use crate::effect::{Effect, Timer};
use crate::entry::{ActCause, Deed, Entry, Record};
use crate::failure::{Failure, FailureKind};
use crate::id::{InboxKey, Seed, Seq};
use crate::journal::{Deliverable, IllegalEntry, Journal};
use crate::name::Name;
use crate::operation::OperationKind;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::{BodyOutcome, ScopeId, Ticket};
use crate::random::Randomness;
use crate::time::{Millis, Timestamp};
use crate::turn::LogLine;
use crate::value::Value;

/// The run's own scope.
pub(super) const ROOT: usize = 0;

/// A signal that no wait has taken yet.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) key: InboxKey,
    /// It is on its way to a wait.
    pub(super) offered: bool,
}

/// Where an execution stands. See the module.
#[derive(Debug)]
pub(crate) struct Cursor {
    pub(super) journal: Journal,

    // What the program can see.
    pub(super) now: Timestamp,
    pub(super) random: Randomness,
    pub(super) state: BTreeMap<Name, Value>,

    // What the program has asked for.
    pub(super) scopes: Vec<Scope>,
    pub(super) asked: Vec<Asked>,
    pub(super) operations: HashMap<OperationId, Ticket>,
    pub(super) steps: HashMap<StepPath, Ticket>,
    pub(super) performing: BTreeSet<Ticket>,
    pub(super) waiting: BTreeSet<Ticket>,
    pub(super) waits: HashMap<Name, BTreeSet<Ticket>>,
    pub(super) timers: BTreeSet<(Timestamp, Timer)>,
    /// When the run will have been active for too long.
    pub(super) timeout_at: Option<Timestamp>,

    // What is to be delivered.
    pub(super) ready: BTreeSet<Seq>,
    pub(super) answering: VecDeque<(InboxKey, Ticket)>,
    /// Signals that no wait has taken yet, by their names.
    pub(super) kept: HashMap<Name, VecDeque<Kept>>,
    pub(super) kept_signals: usize,
    pub(super) finished: VecDeque<(usize, BodyOutcome)>,
    /// What kept bodies do when their time comes.
    pub(super) acts: HashMap<ActCause, Vec<Deed>>,
    /// Steps whose bodies are played.
    pub(super) playing: HashSet<StepPath>,
    /// What is known of the run's earlier life, while it is executed anew.
    pub(super) anew: Option<Anew>,
    pub(super) endable: BTreeSet<usize>,
    /// What source switches left behind, until it is proven dead.
    pub(super) left: BTreeSet<OperationId>,
    pub(super) cancelled: bool,
    pub(super) timed_out: bool,
    pub(super) ended: bool,
    replayed: bool,

    // What is being delivered.
    /// The entry whose turn it is.
    pub(super) delivered: Seq,
    /// The entry under which things are decided, the latest of this turn: that one, or the consumption of the signal that
    /// it is.
    pub(super) delivering: Option<Seq>,
    /// How many log lines were written under it.
    pub(super) lines_here: u64,

    // What this turn has come to so far.
    pub(super) at: Timestamp,
    pub(super) staged: Vec<Entry>,
    pub(super) causes: Vec<Cause>,
    turn_entries: usize,
    /// Entries that came before the turn's own: of being resumed.
    pub(super) uncounted: usize,
    pub(super) consumed: Vec<InboxKey>,
    pub(super) effects: Vec<Effect>,
    pub(super) lines: Vec<LogLine>,
    pub(super) lines_written: u64,

    /// What was open when its scope closed and had its answer already: whoever waited for it has not noticed.
    pub(super) missed: HashSet<Ticket>,
    /// How many state writes and comments the program has made.
    pub(super) noted: usize,

    // The drain under way.
    /// Scopes in which code runs that has not noticed the closing: its next call is rejected.
    pub(super) unaware: HashSet<usize>,
    pub(super) drain_requests: usize,
    pub(super) drain_refusals: usize,
    pub(super) fault: Option<AdvanceError>,
}

impl Cursor {
    pub(super) fn new(journal: Journal, lines_written: u64, turn_entries: usize) -> Self {
        let controls =
            journal.undelivered().filter(|(_, what)| is_control(what)).map(|(seq, _)| seq);
        let ready = controls.collect();
        let left = journal.left_alive().clone();
        let stops = journal.left_behind().values().map(|left| Effect::Stop {
            operation: left.operation.clone(),
            r#try: left.r#try,
            child: left.child,
        });
        let effects = stops.collect();
        Self {
            ready,
            journal,
            now: Timestamp(0),
            random: Randomness::after(Seed(0), ""),
            state: BTreeMap::new(),
            scopes: vec![Scope::new(ScopePath::root(), None, None)],
            asked: Vec::new(),
            operations: HashMap::new(),
            steps: HashMap::new(),
            performing: BTreeSet::new(),
            waiting: BTreeSet::new(),
            waits: HashMap::new(),
            timers: BTreeSet::new(),
            timeout_at: None,
            answering: VecDeque::new(),
            kept: HashMap::new(),
            kept_signals: 0,
            finished: VecDeque::new(),
            acts: HashMap::new(),
            playing: HashSet::new(),
            anew: None,
            endable: BTreeSet::new(),
            left,
            cancelled: false,
            timed_out: false,
            ended: false,
            replayed: false,
            delivered: Seq::FIRST,
            delivering: None,
            lines_here: 0,
            at: Timestamp(0),
            staged: Vec::new(),
            causes: Vec::new(),
            turn_entries: turn_entries.max(1),
            uncounted: 0,
            consumed: Vec::new(),
            effects,
            lines: Vec::new(),
            lines_written,
            missed: HashSet::new(),
            noted: 0,
            unaware: HashSet::new(),
            drain_requests: 0,
            drain_refusals: 0,
            fault: None,
        }
    }

    /// A turn's entries share one time, which never goes back even if the clock does.
    pub(super) fn begin_turn(&mut self, now: Timestamp) {
        self.at = self.journal.last_at().map_or(now, |last| last.max(now));
        self.delivering = None;
    }

    /// What stands in the log so far was executed anew; from here on the run lives by itself.
    pub(super) fn end_history(&mut self, away: Millis) -> Result<(), AdvanceError> {
        self.append(Entry::RunRebased { away_ms: away }).map(|_| ())
    }

    /// A log is executed again: if that comes late, the log says so before anything else is decided.
    pub(super) fn begin_replay(&mut self, was_parked: bool) -> Result<(), AdvanceError> {
        if !was_parked {
            self.resumed()?;
        }
        self.uncounted = self.staged.len();
        Ok(())
    }

    /// Records a fact. If it runs program code, its turn will come.
    pub(super) fn append(&mut self, entry: Entry) -> Result<Seq, AdvanceError> {
        let seq = Seq(self.journal.len());
        let record = Record { seq, at: self.at, by: self.delivering, entry: entry.clone() };
        self.journal.apply(record).map_err(|illegal| self.blame(illegal))?;
        self.note_cause();
        self.staged.push(entry);
        if self.journal.is_deliverable(seq) {
            self.ready.insert(seq);
        }
        Ok(seq)
    }

    /// The entries that follow are decided under the present delivery.
    fn note_cause(&mut self) {
        if let Some(by) = self.delivering
            && self.causes.last().is_none_or(|last| last.by != by)
            && let Ok(from) = u32::try_from(self.staged.len())
        {
            self.causes.push(Cause { from, by });
        }
    }

    /// As long as a log is executed again, what does not fit it is the program's doing; afterwards it is ours.
    fn blame(&self, illegal: IllegalEntry) -> AdvanceError {
        if self.replayed { illegal.into() } else { Divergence::Misplaced(illegal).into() }
    }

    /// A recorded answer to something that has just been asked for: its turn will come.
    pub(super) fn await_recorded(&mut self, seq: Option<Seq>) {
        self.ready.extend(seq);
    }

    pub(super) fn seed(&self) -> Seed {
        self.journal.start().map_or(Seed(0), |start| start.seed)
    }

    pub(super) fn is_turn_full(&self) -> bool {
        self.staged.len() >= self.turn_entries + self.uncounted && self.has_deliveries()
    }

    pub(super) fn has_deliveries(&self) -> bool {
        !self.ready.is_empty() || !self.answering.is_empty()
    }

    /// A log that grows without end is a program gone wrong: the run fails.
    pub(super) fn limit_log(&mut self) -> Result<bool, AdvanceError> {
        if self.ended || self.journal.generation_len() < bounds::LOG_ENTRIES {
            return Ok(false);
        }
        let message = format!(
            "the run's log has reached {} entries; split the work into child runs",
            bounds::LOG_ENTRIES
        );
        self.fail_run(Failure::new(FailureKind::Limit, message))
    }

    /// Not ended, nothing open, nothing to wake it: a failure that names who waits, not a run parked for ever. That it
    /// would be ended some day by a timeout of its own does not count as being woken.
    pub(super) fn fail_if_stalled(&mut self) -> Result<bool, AdvanceError> {
        let idle = self.left.is_empty()
            && self.performing.is_empty()
            && self.waiting.is_empty()
            && self.timers.iter().all(|(_, timer)| timer.failure().is_some());
        if self.ended || !idle || self.journal.is_empty() {
            return Ok(false);
        }
        let open = self.scopes.iter().filter(|scope| !scope.ended && scope.body.is_none());
        let names: Vec<&str> = open
            .map(|scope| if scope.path.is_root() { "the run" } else { scope.path.as_str() })
            .collect();
        let message = format!("waits for nothing that could ever happen: {}", names.join(", "));
        self.fail_run(Failure::new(FailureKind::Stalled, message))
    }

    /// Records that the run can't go on; once is enough.
    pub(super) fn fail_run(&mut self, failure: Failure) -> Result<bool, AdvanceError> {
        if self.journal.failing().is_some() {
            return Ok(false);
        }
        self.append(Entry::RunFailing { failure })?;
        Ok(true)
    }

    /// After the program has run: did it stay within its bounds, and with its log?
    pub(super) fn check_drain(&mut self) -> Result<(), AdvanceError> {
        if let Some(fault) = self.fault.take() {
            return Err(fault);
        }
        if self.drain_requests > bounds::DRAIN_REQUESTS {
            let message = format!(
                "more than {} calls without waiting for one of them",
                bounds::DRAIN_REQUESTS
            );
            self.fail_run(Failure::new(FailureKind::Limit, message))?;
        }
        self.drain_requests = 0;
        self.drain_refusals = 0;
        self.unaware.clear();
        Ok(())
    }

    /// Once the log is used up, nothing of it may be left over.
    pub(super) fn check_replayed(&mut self) -> Result<(), AdvanceError> {
        if self.replayed {
            return Ok(());
        }
        self.replayed = true;
        if self.ended {
            return Ok(());
        }
        if self.journal.end().is_some() {
            return Err(Divergence::NotEnded { identity: "the run".into() }.into());
        }
        if let Some((seq, what)) = self.journal.undelivered().next() {
            return Err(Divergence::NotAsked { identity: identity_of(what), seq }.into());
        }
        if self.noted < self.journal.notes() {
            let identity = "a state write or comment".to_owned();
            return Err(Divergence::NotOrdered { identity }.into());
        }
        match self.journal.operations().filter(|id| !self.operations.contains_key(*id)).min() {
            Some(id) => Err(Divergence::NotOrdered { identity: id.to_string() }.into()),
            None => Ok(()),
        }
    }

    pub(super) fn operation_of(&self, ticket: Ticket) -> Option<&OperationId> {
        match &self.asked.get(ticket.0)?.what {
            What::Operation(id) => Some(id),
            What::Step(_) | What::Nothing => None,
        }
    }

    pub(super) fn step_of(&mut self, ticket: Ticket) -> Option<&mut AskedStep> {
        match &mut self.asked.get_mut(ticket.0)?.what {
            What::Step(step) => Some(step),
            What::Operation(_) | What::Nothing => None,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.now
    }

    pub(crate) fn random(&mut self) -> f64 {
        self.random.unit()
    }

    pub(crate) fn read_state(&self, key: &Name) -> Option<&Value> {
        self.state.get(key)
    }

    pub(crate) fn identity(&self, ticket: Ticket) -> String {
        match self.asked.get(ticket.0).map(|asked| &asked.what) {
            Some(What::Operation(id)) => id.to_string(),
            Some(What::Step(step)) => step.path.to_string(),
            Some(What::Nothing) | None => String::new(),
        }
    }

    pub(crate) fn path(&self, scope: ScopeId) -> String {
        self.scopes.get(scope.0).map_or_else(String::new, |scope| scope.path.to_string())
    }

    /// The kind of an operation that we named ourselves, so that it always has one.
    pub(super) fn kind_of(id: &OperationId) -> OperationKind {
        id.kind().unwrap_or(OperationKind::Effect)
    }
}

/// Entries that need nobody to have asked for them.
const fn is_control(what: &Deliverable) -> bool {
    match what {
        Deliverable::RunStart
        | Deliverable::Cancel
        | Deliverable::Resumed(..)
        | Deliverable::Failing(_)
        | Deliverable::Abandoned(_)
        | Deliverable::TimedOut(_)
        | Deliverable::Grace(_)
        | Deliverable::Signal(_) => true,
        Deliverable::Attempt(..)
        | Deliverable::StepEnd(_)
        | Deliverable::OperationEnd(_)
        | Deliverable::Timer(_)
        | Deliverable::Offer(_) => false,
    }
}

fn identity_of(what: &Deliverable) -> String {
    match what {
        Deliverable::RunStart
        | Deliverable::Cancel
        | Deliverable::Resumed(..)
        | Deliverable::Failing(_) => "the run".into(),
        Deliverable::Grace(scope)
        | Deliverable::Attempt(scope, _)
        | Deliverable::TimedOut(scope) => scope.to_string(),
        Deliverable::StepEnd(step) => step.to_string(),
        Deliverable::OperationEnd(id) | Deliverable::Timer(id) | Deliverable::Abandoned(id) => {
            id.to_string()
        }
        Deliverable::Signal(key) | Deliverable::Offer(key) => key.to_string(),
    }
}
