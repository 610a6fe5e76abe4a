//! A scope within one execution: what its code has asked for, and what it may still ask for.

use std::collections::{BTreeSet, HashMap};

use crate::effect::Timer;
use crate::id::Occurrence;
use crate::name::Name;
use crate::operation::OperationKind;
use crate::path::{OperationId, ScopePath, StepPath};
use crate::program::{BodyOutcome, Ticket};
use crate::retry::RetryPolicy;
use crate::time::Timestamp;

/// What a scope accepts, from the most to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Accepts {
    /// Everything.
    Work,
    /// Everything, until the grace is over; signals pass it by.
    Cleanup,
    /// Nothing.
    Nothing,
}

/// What counts occurrences apart from each other.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Counted {
    Step(Name),
    Phase(Name),
    Operation(OperationKind, Name),
}

/// A scope at the cursor.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) path: ScopePath,
    pub(super) parent: Option<usize>,
    /// The step or phase whose attempt this is.
    pub(super) step: Option<Ticket>,
    /// Whether what is asked for here belongs to some step's row.
    pub(super) in_step: bool,
    /// Whether its body is played, not executed.
    pub(super) played: bool,
    /// Asked for here and not yet answered, in the order of asking.
    pub(super) open: BTreeSet<Ticket>,
    pub(super) accepts: Accepts,
    /// The end of its grace, once it is closing.
    pub(super) grace_until: Option<Timestamp>,
    /// From when its attempt's time counts.
    pub(super) counts_from: Timestamp,
    /// When its attempt has taken too long.
    pub(super) timeout_at: Option<Timestamp>,
    pub(super) body: Option<BodyOutcome>,
    /// It ends as cancelled, whatever its body says.
    pub(super) doomed: bool,
    pub(super) ended: bool,
    counts: HashMap<Counted, u32>,
}

impl Scope {
    pub(super) fn new(path: ScopePath, parent: Option<usize>, step: Option<Ticket>) -> Self {
        Self {
            path,
            parent,
            step,
            in_step: false,
            played: false,
            open: BTreeSet::new(),
            accepts: Accepts::Work,
            grace_until: None,
            counts_from: Timestamp(0),
            timeout_at: None,
            body: None,
            doomed: false,
            ended: false,
            counts: HashMap::new(),
        }
    }

    /// The next occurrence of this kind and name.
    pub(super) fn count(&mut self, what: Counted) -> Occurrence {
        let count = self.counts.entry(what).or_default();
        *count = count.saturating_add(1);
        Occurrence(*count)
    }

    /// Whether nothing but answers can still change how it ends.
    pub(super) fn is_closing(&self) -> bool {
        self.body.is_some() || self.doomed
    }

    /// Frees what only a living scope needs.
    pub(super) fn end(&mut self) -> Option<BodyOutcome> {
        self.ended = true;
        self.counts = HashMap::new();
        self.body.take()
    }
}

/// Something that was asked for.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) scope: usize,
    pub(super) what: What,
    pub(super) settled: bool,
}

/// What was asked for.
#[derive(Debug)]
pub(super) enum What {
    Operation(OperationId),
    Step(AskedStep),
    /// By a scope that refuses everything: never answered.
    Nothing,
}

/// A step at the cursor.
#[derive(Debug)]
pub(super) struct AskedStep {
    pub(super) path: StepPath,
    pub(super) retry: RetryPolicy,
    /// The attempt whose body has begun and not ended.
    pub(super) current: Option<usize>,
    /// The back-off that runs until the next attempt.
    pub(super) retry_timer: Option<(Timestamp, Timer)>,
    pub(super) ended: bool,
}
