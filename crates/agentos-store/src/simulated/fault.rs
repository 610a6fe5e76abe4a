//! What can go wrong, and who decides when.

use std::collections::VecDeque;

/// The verbs of a store, as a fault plan tells them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// [`create_run`](crate::store::Store::create_run)
    CreateRun,
    /// [`claim`](crate::store::Store::claim)
    Claim,
    /// [`release`](crate::store::Store::release)
    Release,
    /// [`head`](crate::store::Store::head)
    Head,
    /// [`load_log`](crate::store::Store::load_log)
    LoadLog,
    /// [`commit`](crate::store::Store::commit)
    Commit,
    /// [`send`](crate::store::Store::send)
    Send,
    /// [`inbox`](crate::store::Store::inbox)
    Inbox,
    /// [`due`](crate::store::Store::due)
    Due,
    /// [`outlook`](crate::store::Store::outlook)
    Outlook,
    /// [`list_runs`](crate::store::Store::list_runs)
    ListRuns,
    /// [`tail`](crate::store::Store::tail)
    Tail,
}

impl Verb {
    /// Whether the verb changes anything.
    #[must_use]
    pub const fn is_write(self) -> bool {
        matches!(self, Self::CreateRun | Self::Claim | Self::Release | Self::Commit | Self::Send)
    }
}

/// What a call can meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// It is carried out, but nobody is told: a commit answers `Unknown`, any other verb a transient error.
    LostAcknowledgement,
    /// It is not carried out, and nobody is told: a commit answers `Unknown`, any other verb a transient error.
    NotApplied,
    /// A commit answers `Unknown` and is on its way for that many operations; then it meets whatever is there by then,
    /// and fails where somebody has claimed the run meanwhile. For other verbs as [`Fault::LostAcknowledgement`].
    AppliedLater {
        /// How many operations it takes: 1 means that it lands at the beginning of the next one.
        operations: u64,
    },
    /// No space is left: nothing is carried out. Reading works.
    Full,
    /// Nothing is carried out, and that is certain.
    Transient,
}

/// Who decides which calls fail. Closures do as well.
pub trait FaultPlan: Send {
    /// What the next call, which is one of `verb`, meets.
    fn next(&mut self, verb: Verb) -> Option<Fault>;
}

impl<F: FnMut(Verb) -> Option<Fault> + Send> FaultPlan for F {
    fn next(&mut self, verb: Verb) -> Option<Fault> {
        self(verb)
    }
}

/// The faults to come.
#[derive(Default)]
pub(super) struct Faults {
    queued: VecDeque<(Verb, Fault)>,
    plan: Option<Box<dyn FaultPlan>>,
}

impl Faults {
    pub(super) fn push(&mut self, verb: Verb, fault: Fault) {
        self.queued.push_back((verb, fault));
    }

    pub(super) fn set_plan(&mut self, plan: Box<dyn FaultPlan>) {
        self.plan = Some(plan);
    }

    pub(super) fn next(&mut self, verb: Verb) -> Option<Fault> {
        if let Some(place) = self.queued.iter().position(|(queued, _)| *queued == verb) {
            return self.queued.remove(place).map(|(_, fault)| fault);
        }
        self.plan.as_mut()?.next(verb)
    }
}
