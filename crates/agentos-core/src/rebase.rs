//! A recorded run, executed anew: fork, retry, and the switch to another source.
//!
//! All three are one thing. The program is executed from the top, and the *recorded* answers are its world: they are
//! handed to it in the order and at the times at which they once came in. What comes out is a log of its own, which is
//! legal and can be replayed like any other.
//!
//! - A **fork** keeps the answers to everything that was asked for before some step; from there on it lives by itself.
//! - A **retry** keeps everything but what failed.
//! - A **switch** keeps everything, under another program. The new log follows on the old one, behind an
//!   [`Entry::SourceSwitched`]; under the same program it is the old one again, entry by entry.
//!
//! Nothing is performed here. That makes it also the trial: what would become of the run is seen before anything is
//! committed.
//!
//! An answer may come before the program asks for it (another source asks in another order), or without ever being
//! asked for. Such answers are put into the new log's beginning, as [`Entry::AnswersKept`]: finished work is not
//! repeated, however late it is wanted.

mod bodies;
mod compare;
mod feed;
mod keep;
mod names;
mod trial;

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::fmt;

use thiserror::Error;

pub use compare::{Notice, Place};
pub use keep::Keep;
pub use names::Names;
pub use trial::{NumberedStep, StepChanges};

use crate::bounds;
use crate::codec::{Cause, Chunk};
use crate::effect::{Happening, Timer};
use crate::entry::{
    Abandoned, AnswerTimes, Entry, KeptAnswer, KeptBody, OperationResult, Record, RunStarted,
};
use crate::execution::{AdvanceError, Anew, Execution, Known};
use crate::failure::{Failure, FailureKind};
use crate::id::{Seed, Seq, StepNumber};
use crate::journal::{IllegalEntry, Journal};
use crate::path::{OperationId, StepPath};
use crate::program::Program;
use crate::source::Site;
use crate::standing::Standing;
use crate::time::{Millis, Timestamp};
use crate::turn::{Outgoing, Turn};
use crate::value::Value;
use feed::Happened;
use keep::Selection;

/// How often the log is made again because answers came before they were asked for.
const PASSES: usize = 100;

/// What to execute anew.
#[derive(Debug, Clone)]
pub struct Rebase<'a> {
    /// The recorded log.
    pub log: &'a [Record],
    /// What the new log starts with. Its seed is that of the recorded run: the answers belong to it.
    pub start: RunStarted,
    /// Which answers are kept.
    pub keep: Keep,
    /// When the run is executed anew. What it asks for beyond its history, it asks for now.
    pub now: Timestamp,
    /// Whose log it becomes.
    pub into: Destination,
    /// What the old run calls itself and its places.
    pub old_names: Names,
    /// What the new run calls itself and its places.
    pub new_names: Names,
}

/// Whose log comes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Destination {
    /// The same run's: the chunks follow on its log.
    SameRun,
    /// That of a new run, from position 0.
    NewRun,
}

/// A run executed anew.
#[derive(Debug, Clone, PartialEq)]
pub struct Rebased {
    /// The new log, in chunks: from position 0, or following on the old one.
    pub chunks: Vec<Chunk>,
    /// How the run stands after that. It may have ended.
    pub standing: Standing,
    /// What other runs have to hear of it, together with the last chunk.
    pub outgoing: Vec<Outgoing>,
    /// What is worth telling.
    pub notices: Vec<Notice>,
    /// What becomes of the steps.
    pub steps: StepChanges,
}

/// Why a run can't be executed anew.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum RebaseError {
    /// The old log is damaged.
    #[error("the recorded log can't be read: {0}")]
    Log(#[from] IllegalEntry),
    /// The log has no run.
    #[error("the recorded log is empty")]
    Empty,
    /// The run is over, and stays so.
    #[error("the run has ended; fork it, or retry it if it failed")]
    Ended,
    /// There is no such step to cut at.
    #[error("the run has no step {0}")]
    NoSuchStep(StepNumber),
    /// The run has not failed, so there is nothing to mend.
    #[error("the run has not failed; there is nothing to retry")]
    NotFailed,
    /// The same name stands for something of another kind now, so its recorded answer fits nothing.
    #[error(
        "{recorded} is recorded, but the workflow now asks for {asked} in its place; give it another name"
    )]
    OtherKind {
        /// What the log has.
        recorded: Place,
        /// What the program asks for.
        asked: Place,
    },
    /// The body of a finished step has changed, and code outside of it would notice that it is not executed.
    #[error(
        "the body of the finished step `{step}` has changed, but it writes variables of the code around it or uses \
         that code's ctx ({site}); undo the change, or fork the run from before this step"
    )]
    Tied {
        /// The step.
        step: StepPath,
        /// Where it does that.
        site: Site,
    },
    /// The body of a finished step has changed, and it waited for something that is not asked for any more.
    #[error(
        "the body of the finished step `{step}` has changed, and what it waited for is not asked for any more; undo \
         the change, or fork the run from before this step"
    )]
    Orphaned {
        /// The step.
        step: StepPath,
    },
    /// With the recorded answers, another source fails.
    #[error("the workflow fails over what the run has done so far: {0}")]
    Fails(Failure),
    /// With the recorded answers, the program does not go on.
    #[error("the workflow would not go on from where the run stands: {0}")]
    Stuck(Failure),
    /// There is no program to execute.
    #[error("{0}")]
    NoProgram(String),
    /// The program could not be executed over its answers.
    #[error(transparent)]
    Advance(#[from] AdvanceError),
    /// Answers kept coming before they were asked for.
    #[error("the recorded answers could not be brought into an order that fits the workflow")]
    Unsettled,
}

impl Rebase<'_> {
    /// Executes a program over the recorded answers. `program` is called for a fresh one, more than once if need be.
    ///
    /// # Errors
    /// [`RebaseError`]; nothing has happened.
    pub fn run<P: Program>(&self, program: impl Fn() -> P) -> Result<Rebased, RebaseError> {
        self.try_run(|| Ok::<P, Infallible>(program()))
    }

    /// The same with a program that may not be had.
    ///
    /// # Errors
    /// As [`Rebase::run`]; [`RebaseError::NoProgram`] with what `program` says.
    pub fn try_run<P: Program, E: fmt::Display>(
        &self,
        program: impl Fn() -> Result<P, E>,
    ) -> Result<Rebased, RebaseError> {
        let program = || program().map_err(|error| RebaseError::NoProgram(error.to_string()));
        let log = generation(self.log);
        let Some(Record { entry: Entry::RunStarted(started), .. }) = log.first() else {
            return Err(RebaseError::Empty);
        };
        let is_over = || log.iter().any(|record| matches!(record.entry, Entry::RunEnded { .. }));
        if self.into == Destination::SameRun && is_over() {
            return Err(RebaseError::Ended);
        }
        let selection = Selection::new(log, self.keep)?;
        let history = History {
            seed: started.seed,
            answers: feed::answers(log, &selection),
            finished: bodies::finished(log, &selection),
            known: bodies::known(log, &selection),
            times: feed::times(self.log),
            selection,
            log,
        };
        let early = feed::early(log, &history.selection);
        let mut beginning = Beginning { early, bodies: BTreeMap::new(), abandoned: Vec::new() };
        for _ in 0..PASSES {
            let mut executed = self.execute(program()?, &history, &beginning)?;
            let missed = missed(&executed.execution, &history.answers, &beginning.early);
            let abandoned = match self.into {
                Destination::SameRun => compare::abandoned(log, &executed.chunks),
                Destination::NewRun => Vec::new(),
            };
            let bodies = history.unasked_bodies(&executed.execution);
            if missed.is_empty()
                && abandoned == beginning.abandoned
                && bodies.keys().eq(beginning.bodies.keys())
            {
                self.check(&history, &executed)?;
                let notices = compare::notices(self, &history, &executed.chunks, &beginning)?;
                self.end_history(&mut executed)?;
                let Executed { execution, chunks, outgoing } = executed;
                let steps = StepChanges::new(self.log, log, &chunks);
                let standing = execution.standing();
                return Ok(Rebased { chunks, standing, outgoing, notices, steps });
            }
            beginning.early.extend(missed);
            beginning.abandoned = abandoned;
            beginning.bodies = bodies;
        }
        Err(RebaseError::Unsettled)
    }

    /// One execution: the beginning, then batch by batch.
    fn execute<P: Program>(
        &self,
        program: P,
        history: &History<'_>,
        beginning: &Beginning,
    ) -> Result<Executed<P>, RebaseError> {
        let began = history.log.first().map_or(self.now, |first| first.at);
        let (mut journal, mut chunks) = (Journal::default(), Vec::new());
        if self.into == Destination::SameRun {
            journal = Journal::fold(self.log.iter().cloned())?;
            let abandoned = beginning.abandoned.clone();
            let definition = self.start.definition.clone();
            let entries =
                vec![Entry::SourceSwitched { definition, abandoned, keeps_numbers: true }];
            let at = self.log.last().map_or(self.now, |last| last.at.max(self.now));
            chunks.push(Chunk::new(Seq(journal.len()), at, entries));
        }
        let first = Seq(journal.len() + chunks.len() as u64);
        chunks.push(Chunk::new(first, began, self.first_entries(history, beginning)));
        for record in chunks.iter().cloned().flat_map(Chunk::into_records) {
            journal.apply(record)?;
        }
        let anew = Anew {
            now: self.now,
            known: history.known.clone(),
            finished: history.finished.clone(),
            tied: Vec::new(),
        };
        let first_turn = history.first_turn().unwrap_or(began);
        let (execution, turn) = Execution::replay_anew(program, journal, anew, first_turn)?;
        let mut executed = Executed { execution, chunks, outgoing: Vec::new() };
        executed.gather(turn, first_turn)?;
        let happened = Happened {
            selection: &history.selection,
            early: &beginning.early,
            answers: &history.answers,
            into: self.into,
        };
        for batch in feed::batches(history.log, &happened) {
            let turn = executed.execution.advance(batch.happenings, batch.at)?;
            executed.gather(turn, batch.at)?;
        }
        self.end_back_offs(&mut executed)?;
        Ok(executed)
    }

    /// A body that is played waits for nothing but what it waited for then; its back-offs are over.
    fn end_back_offs<P: Program>(&self, executed: &mut Executed<P>) -> Result<(), RebaseError> {
        loop {
            let journal = executed.execution.journal();
            let played: Vec<StepPath> = journal.unfinished_bodies().cloned().collect();
            let of_played = |timer: &Timer| match timer {
                Timer::Retry(scope) => played.iter().any(|step| scope.is_within(step)),
                _ => false,
            };
            let due = executed.execution.timers().filter(|(due, _)| *due <= self.now);
            let next =
                due.map(|(due, timer)| (due, timer.clone())).find(|(_, timer)| of_played(timer));
            let Some((due, timer)) = next else {
                return Ok(());
            };
            let turn = executed.execution.advance(vec![Happening::Timer(timer)], due)?;
            executed.gather(turn, due)?;
        }
    }

    fn first_entries(&self, history: &History<'_>, beginning: &Beginning) -> Vec<Entry> {
        let kept = beginning.early.iter().map(|(operation, result)| KeptAnswer {
            operation: operation.clone(),
            result: result.clone(),
            times: history.times.get(operation).copied(),
        });
        let answers: Vec<KeptAnswer> = kept.collect();
        let start = Entry::RunStarted(RunStarted { seed: history.seed, ..self.start.clone() });
        let kept = answers
            .chunks(bounds::KEPT_ANSWERS)
            .map(|answers| Entry::AnswersKept { answers: answers.to_vec() });
        let bodies = beginning.bodies.values().cloned().map(Entry::BodyKept);
        std::iter::once(start).chain(kept).chain(bodies).collect()
    }

    /// Whether an operation is asked for with something else, apart from what the runs call themselves.
    fn differ(&self, recorded: &Value, asked: &Value) -> bool {
        self.old_names.hidden_in(recorded) != self.new_names.hidden_in(asked)
    }

    /// Whether what came out is a run that can go on.
    fn check<P: Program>(
        &self,
        history: &History<'_>,
        executed: &Executed<P>,
    ) -> Result<(), RebaseError> {
        if let Some((step, site)) = executed.execution.anew().and_then(|anew| anew.tied.first()) {
            return Err(RebaseError::Tied { step: step.clone(), site: site.clone() });
        }
        let journal = executed.execution.journal();
        let waits = |step: &&StepPath| {
            let mut timers = executed.execution.timers();
            timers.any(|(_, timer)| matches!(timer, Timer::Retry(scope) if scope.is_within(step)))
        };
        if let Some(step) = journal.unfinished_bodies().filter(|step| !waits(step)).min() {
            return Err(RebaseError::Orphaned { step: step.clone() });
        }
        if let Some(failure) = trial::new_failure(self, history, executed.execution.failures()) {
            return Err(RebaseError::Fails(failure));
        }
        match journal.failing().filter(|failure| failure.kind == FailureKind::Stalled) {
            // Had nothing been open, it would have failed under its old source too.
            Some(failure) => {
                let old = Journal::fold(self.log.iter().cloned())?;
                match old.failing().is_none() && old.awaits_something() {
                    true => Err(RebaseError::Stuck(failure.clone())),
                    false => Ok(()),
                }
            }
            None => Ok(()),
        }
    }

    /// The history is over.
    fn end_history<P: Program>(&self, executed: &mut Executed<P>) -> Result<(), RebaseError> {
        let standing = executed.execution.standing();
        if standing.is_ended() {
            executed.end_at(self.now);
            return Ok(());
        }
        let last = executed.execution.journal().last_at().unwrap_or(self.now);
        let since = self.now.0.saturating_sub(last.0).max(0);
        let rests = matches!(standing, Standing::Parked { .. });
        let missed = match self.into {
            // A run that needs nobody misses nobody, and neither does one that was driven a moment ago.
            Destination::SameRun => !rests && since >= bounds::AWAY_MS,
            Destination::NewRun => true,
        };
        let away = if missed { Millis::new(since.unsigned_abs()) } else { Millis::ZERO };
        let turn = executed.execution.end_history(away, self.now)?;
        executed.gather(turn, self.now)
    }
}

/// What there is of the run's earlier life.
struct History<'a> {
    log: &'a [Record],
    seed: Seed,
    selection: Selection,
    answers: BTreeMap<OperationId, OperationResult>,
    finished: HashMap<StepPath, KeptBody>,
    known: Known,
    times: HashMap<OperationId, AnswerTimes>,
}

impl History<'_> {
    /// When the run was first driven, if it was: some time after it was created.
    fn first_turn(&self) -> Option<Timestamp> {
        let start = self.log.first()?.seq;
        self.log.iter().find(|record| record.by == Some(start)).map(|record| record.at)
    }

    /// Finished steps that an execution has not asked for. Should it do so later, they are played if they can be.
    fn unasked_bodies<P: Program>(&self, execution: &Execution<P>) -> BTreeMap<StepPath, KeptBody> {
        let journal = execution.journal();
        let left = self
            .finished
            .iter()
            .filter(|(step, kept)| journal.step(step).is_none() && kept.body.tied.is_none());
        left.map(|(step, kept)| (step.clone(), kept.clone())).collect()
    }
}

/// What the new log has to begin with, as far as it is known.
#[derive(Debug)]
struct Beginning {
    /// Answers that come before they are asked for.
    early: BTreeMap<OperationId, OperationResult>,
    /// Steps that had finished and are not asked for.
    bodies: BTreeMap<StepPath, KeptBody>,
    /// Operations that are open and not asked for.
    abandoned: Vec<Abandoned>,
}

/// What one execution over the recorded answers came to.
struct Executed<P> {
    execution: Execution<P>,
    chunks: Vec<Chunk>,
    outgoing: Vec<Outgoing>,
}

impl<P: Program> Executed<P> {
    /// Records the end of the run at this time. The run ended by what was done over recorded answers, but it ends only now:
    /// how long it is kept counts from there. The program sees nothing of it, because its end is not delivered.
    fn end_at(&mut self, now: Timestamp) {
        let Some(last) = self.chunks.last_mut() else { return };
        let now = now.max(last.at);
        let Some(end) = last.entries.pop_if(|entry| matches!(entry, Entry::RunEnded { .. })) else {
            return;
        };
        let index = last.entries.len();
        let by = last.causes.last().map(|cause| cause.by);
        last.causes.retain(|cause| (cause.from as usize) < index);
        let mut chunk = Chunk::new(Seq(last.first.0.saturating_add(index as u64)), now, vec![end]);
        chunk.causes.extend(by.map(|by| Cause { from: 0, by }));
        if last.entries.is_empty() {
            self.chunks.pop();
        }
        self.chunks.push(chunk);
    }

    /// Takes in a turn, and what more there is of it.
    fn gather(&mut self, mut turn: Turn, at: Timestamp) -> Result<(), RebaseError> {
        loop {
            if !turn.is_empty() {
                self.chunks.push(turn.chunk);
            }
            self.outgoing.extend(turn.outgoing);
            if !turn.more {
                return Ok(());
            }
            turn = self.execution.advance(Vec::new(), at)?;
        }
    }
}

/// Answers that the execution did not take and that were not given to it from the start.
fn missed<P: Program>(
    execution: &Execution<P>,
    answers: &BTreeMap<OperationId, OperationResult>,
    early: &BTreeMap<OperationId, OperationResult>,
) -> Vec<(OperationId, OperationResult)> {
    let journal = execution.journal();
    let taken = |id: &OperationId| journal.operation(id).is_some_and(|record| record.is_answered());
    let left = answers.iter().filter(|(id, _)| !taken(id) && !early.contains_key(id));
    left.map(|(id, result)| (id.clone(), result.clone())).collect()
}

/// The part of a log that counts: what follows on its last source switch.
#[must_use]
pub fn generation(log: &[Record]) -> &[Record] {
    let switch =
        log.iter().rposition(|record| matches!(record.entry, Entry::SourceSwitched { .. }));
    &log[switch.map_or(0, |switch| switch + 1)..]
}

/// Moves a run to another source. The chunks follow on its log; they are committed all together, or not at all.
///
/// # Errors
/// As [`Rebase::run`].
pub fn switch<P: Program>(
    log: &[Record],
    definition: String,
    now: Timestamp,
    program: impl Fn() -> P,
) -> Result<Rebased, RebaseError> {
    let Some(Entry::RunStarted(start)) = generation(log).first().map(|record| &record.entry) else {
        return Err(RebaseError::Empty);
    };
    let rebase = Rebase {
        log,
        start: RunStarted { definition, ..start.clone() },
        keep: Keep::Everything,
        now,
        into: Destination::SameRun,
        old_names: Names::default(),
        new_names: Names::default(),
    };
    rebase.run(program)
}
