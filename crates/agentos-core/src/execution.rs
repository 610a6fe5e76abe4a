//! One execution of a program against its journal: replay and live work, in the same loop.
//!
//! ```text
//! happenings ──▶ entries with positions ──▶ the lowest one whose turn has come
//!                       ▲                                  │ deliver
//!                       │ append                           ▼
//!                 requests, ends ◀── program runs until all of it waits
//! ```
//!
//! Everything that runs program code is a delivery, and deliveries happen in the order of their positions among
//! those *asked for*. Since an execution that starts over finds the same entries at the same positions, it does the
//! same things: there is no separate replay mode. Appending something that the log already has changes nothing;
//! appending something else under the same identity is a [`Divergence`].

mod absorb;
mod anew;
mod close;
mod cursor;
mod deliver;
mod diverge;
mod end;
mod hold;
mod note;
mod play;
mod request;
mod scope;
mod signal;
mod timeout;
mod turn;

use crate::bounds;
use crate::effect::{Happening, Timer};
use crate::entry::RunOutcome;
use crate::failure::Failure;
use crate::id::Try;
use crate::journal::Journal;
use crate::path::{OperationId, ScopePath};
use crate::program::{Door, Program, ScopeId};
use crate::standing::Standing;
use crate::time::{Millis, Timestamp};
use crate::turn::Turn;

pub(crate) use anew::{Anew, Known};
pub(crate) use cursor::Cursor;
use deliver::{Next, Resumption};
pub use diverge::{AdvanceError, Divergence};

/// How a program is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// The number of the last line in the run's log file; lines up to it are not made again.
    pub lines_written: u64,
    /// How many entries a turn gathers before it is cut; the simulation makes turns small.
    pub turn_entries: usize,
    /// Whether the run stood as parked: it needed nobody, so nobody was missing. Otherwise the time since its last
    /// entry is time in which somebody should have driven it.
    pub was_parked: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { lines_written: 0, turn_entries: bounds::TURN_ENTRIES, was_parked: false }
    }
}

/// A program standing at the end of its log.
#[derive(Debug)]
pub struct Execution<P> {
    program: P,
    cursor: Cursor,
}

impl<P: Program> Execution<P> {
    /// Executes a program from the top until it stands where its log ends, and a bit further if the log was cut in the
    /// middle of a turn: what comes out is the first turn.
    ///
    /// # Errors
    /// [`AdvanceError::Diverged`] if the program does not ask for what the log has.
    pub fn replay(
        program: P,
        journal: Journal,
        options: Options,
        now: Timestamp,
    ) -> Result<(Self, Turn), AdvanceError> {
        let Options { lines_written, turn_entries, was_parked } = options;
        let mut execution =
            Self { program, cursor: Cursor::new(journal, lines_written, turn_entries) };
        execution.cursor.begin_turn(now);
        // The rest of a turn that was cut would hide the gap.
        execution.cursor.begin_replay(was_parked)?;
        let turn = execution.settle()?;
        Ok((execution, turn))
    }

    /// Executes a program from the top over recorded answers, which are handed to it by [`Execution::advance`].
    pub(crate) fn replay_anew(
        program: P,
        journal: Journal,
        anew: Anew,
        now: Timestamp,
    ) -> Result<(Self, Turn), AdvanceError> {
        let mut cursor = Cursor::new(journal, 0, bounds::TURN_ENTRIES);
        cursor.anew = Some(anew);
        cursor.begin_turn(now);
        let mut execution = Self { program, cursor };
        let turn = execution.settle()?;
        Ok((execution, turn))
    }

    /// The recorded answers are used up: from here on the run lives by itself.
    pub(crate) fn end_history(
        &mut self,
        away: Millis,
        now: Timestamp,
    ) -> Result<Turn, AdvanceError> {
        self.cursor.begin_turn(now);
        self.cursor.end_history(away)?;
        self.settle()
    }

    /// What was found out about the run's earlier life.
    pub(crate) fn anew(&self) -> Option<&Anew> {
        self.cursor.anew.as_ref()
    }

    /// Takes one turn: what happened becomes entries, and the program goes on until it waits for the world.
    ///
    /// Happenings may come late, twice or in any order; those that change nothing are dropped.
    ///
    /// # Errors
    /// [`AdvanceError`]: nothing of this turn may be committed, and this execution is of no further use.
    pub fn advance(
        &mut self,
        happenings: Vec<Happening>,
        now: Timestamp,
    ) -> Result<Turn, AdvanceError> {
        self.cursor.begin_turn(now);
        for happening in happenings {
            self.cursor.absorb(happening)?;
        }
        self.settle()
    }

    /// Delivers until nothing can be delivered without the world, or the turn is full.
    fn settle(&mut self) -> Result<Turn, AdvanceError> {
        loop {
            if self.cursor.is_turn_full() {
                self.cursor.limit_log()?;
                return Ok(self.cursor.take_turn());
            }
            match self.cursor.next_delivery()? {
                Next::Resume(Resumption { delivery, cause }) => {
                    if let Some(delivery) = delivery {
                        self.program.resume(delivery, &mut Door { cursor: &mut self.cursor });
                    }
                    if let Some(cause) = cause {
                        self.cursor.play(&cause);
                    }
                    self.cursor.check_drain()?;
                    self.end_scopes()?;
                }
                Next::Changed => self.end_scopes()?,
                Next::Nothing => {
                    self.cursor.check_replayed()?;
                    if !self.cursor.limit_log()? && !self.cursor.fail_if_stalled()? {
                        return Ok(self.cursor.take_turn());
                    }
                }
            }
        }
    }

    /// Closes the scopes whose bodies have finished, and ends those that have nothing open any more.
    fn end_scopes(&mut self) -> Result<(), AdvanceError> {
        self.cursor.close_finished()?;
        while let Some(scope) = self.cursor.next_endable() {
            let unhandled = match self.cursor.scopes[scope].played {
                true => None,
                false => self.program.unhandled(ScopeId(scope)),
            };
            self.cursor.end_scope(scope, unhandled)?;
        }
        Ok(())
    }

    /// The timers that run, the earliest first.
    pub fn timers(&self) -> impl Iterator<Item = (Timestamp, &Timer)> {
        self.cursor.timers.iter().map(|(due, timer)| (*due, timer))
    }

    /// Where the run stands after its latest turn.
    pub fn standing(&self) -> Standing {
        self.cursor.standing()
    }

    /// How the run ended, if it has.
    pub fn outcome(&self) -> Option<&RunOutcome> {
        self.cursor.journal.end()
    }

    /// What has failed and is not dealt with: the run itself, which has no scope, and attempts that will be tried again.
    pub fn failures(&self) -> Vec<(Option<ScopePath>, Failure)> {
        let journal = &self.cursor.journal;
        let again = self.timers().filter_map(|(_, timer)| match timer {
            Timer::Retry(scope) => {
                let (failure, _) = journal.step(&scope.owner()?)?.failures.last()?;
                Some((Some(scope.clone()), failure.clone()))
            }
            _ => None,
        });
        let own = self.cursor.own_failure().map(|failure| (None, failure.clone()));
        own.into_iter().chain(again).collect()
    }

    /// Operations that the world owes an answer for, with the try that is under way.
    pub fn performing(&self) -> impl Iterator<Item = (&OperationId, Try)> {
        let cursor = &self.cursor;
        let asked = cursor.performing.iter().filter_map(|ticket| {
            let id = cursor.operation_of(*ticket)?;
            Some((id, cursor.journal.operation(id)?.r#try))
        });
        let left = cursor.left.iter();
        asked.chain(left.filter_map(|id| Some((id, cursor.journal.left_behind().get(id)?.r#try))))
    }

    /// What is recorded.
    pub fn journal(&self) -> &Journal {
        &self.cursor.journal
    }

    /// The program, for whoever wants to look into it.
    pub fn program(&self) -> &P {
        &self.program
    }
}
