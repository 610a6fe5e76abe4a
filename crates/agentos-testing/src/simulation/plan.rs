//! When what goes wrong.
//!
//! The driver passes labelled points, and they are counted through all lives of a run. A plan says at which count which
//! fault strikes; so a plan is a few numbers, and every one of them can be tried.

use std::collections::BTreeMap;
use std::fmt;

/// A place at which the driver can be struck.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// Before a run is claimed.
    Claim,
    /// After its log was loaded, before it is executed again.
    Load,
    /// After the inbox was read and events were gathered, before the turn.
    Turn,
    /// Before a commit.
    Commit,
    /// After a commit, before its effects.
    Committed,
    /// Before an effect.
    Effect,
    /// After an effect.
    Performed,
}

/// What strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Fault {
    /// The process dies; another one goes on at once.
    Crash,
    /// The process dies; another one goes on after a while.
    CrashFor(i64),
    /// The machine dies, with everything that it was performing; it comes back after a while.
    PowerCut(i64),
    /// The commit is applied, but the answer is lost.
    LostAcknowledgement,
    /// The commit is not applied, and nobody knows.
    LostCommit,
    /// The answer is lost, and the commit arrives only some operations later.
    LateCommit(u64),
    /// No space is left for a while.
    Full,
    /// The process dies, and the next one moves the run to another source, which is the same one.
    Switch,
    /// The clock of the machine is set back; nothing else happens.
    ClockSetBack(i64),
    /// The process hangs, another one takes over, and after so many points the first one wakes up and goes on.
    Hang(u64),
}

impl Fault {
    /// Whether a run under this fault must end exactly as it would have without it. Lost time is not given back, and under a
    /// clock that was set back timers come late.
    #[must_use]
    pub const fn is_exact(self) -> bool {
        !matches!(self, Self::CrashFor(_) | Self::PowerCut(_) | Self::ClockSetBack(_))
    }

    /// Whether it only makes sense at a commit.
    #[must_use]
    pub const fn needs_commit(self) -> bool {
        matches!(
            self,
            Self::LostAcknowledgement | Self::LostCommit | Self::LateCommit(_) | Self::Full
        )
    }
}

/// A driver that does something wrong: to see that the simulation sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// Effects are performed before the turn that orders them is committed.
    EffectsBeforeCommit,
    /// Effects are performed by owners that no longer are.
    EffectsUnfenced,
    /// Messages are taken out of the inbox when they are read.
    InboxTakenOnRead,
    /// A commit whose answer was lost is taken for having failed, and the turn goes on.
    UnknownTakenForDone,
    /// What a log file has already is written again.
    LinesTwice,
}

/// Which faults strike at which count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    faults: BTreeMap<u64, Fault>,
    /// What the driver does wrong.
    pub sabotage: Option<Sabotage>,
    /// Whether the world says everything twice.
    pub twice: bool,
}

impl Plan {
    /// No fault at all.
    #[must_use]
    pub fn quiet() -> Self {
        Self::default()
    }

    /// One fault.
    #[must_use]
    pub fn one(at: u64, fault: Fault) -> Self {
        Self::quiet().and(at, fault)
    }

    /// One fault more.
    #[must_use]
    pub fn and(mut self, at: u64, fault: Fault) -> Self {
        self.faults.insert(at, fault);
        self
    }

    /// The same, in a world that says everything twice.
    #[must_use]
    pub fn said_twice(mut self) -> Self {
        self.twice = true;
        self
    }

    /// The same, with a driver that does something wrong.
    #[must_use]
    pub fn sabotaged(mut self, sabotage: Option<Sabotage>) -> Self {
        self.sabotage = sabotage;
        self
    }

    /// The fault at this count.
    #[must_use]
    pub fn at(&self, count: u64) -> Option<Fault> {
        self.faults.get(&count).copied()
    }

    /// Whether a run under this plan must end exactly as it would have without it.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.faults.values().all(|fault| fault.is_exact())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.faults.is_empty() {
            f.write_str("no fault")?;
        }
        for (index, (at, fault)) in self.faults.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{fault:?} at {at}")?;
        }
        if self.twice { f.write_str(", everything said twice") } else { Ok(()) }
    }
}
