//! The pure driver: claims a run, executes it turn by turn, and dies where the plan says.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

use agentos_core::codec::Chunk;
use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::execution::{AdvanceError, Execution, Options};
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::turn::{LogLine, Turn};
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::commit::{CommitError, TurnCommit};
use agentos_store::run::NewRun;
use agentos_store::simulated::{self, SimulatedStore, Verb};
use agentos_store::store::Store;
use pollster::block_on;
use uuid::Uuid;

use super::follower::Follower;
use super::plan::{Fault, Plan, Point, Sabotage};
use super::scenario::Scenario;
use super::world::World;
use crate::script::{Script, Trace};

/// How many lives a run gets before something is wrong with it.
const LIVES: u32 = 40;
/// How many turns one life may take.
const TURNS: u32 = 20_000;

/// How a simulated run came to its end.
#[derive(Debug, Clone, PartialEq)]
pub enum Ending {
    /// It ended.
    Ended(RunOutcome),
    /// It waits for a signal that will never come.
    Parked,
    /// The core refused to go on.
    Refused(AdvanceError),
    /// It did not come to an end within the bounds of the simulation.
    Endless,
}

/// Everything that can be seen of a simulated run.
#[derive(Debug, Clone, PartialEq)]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
    /// What its program did and saw, from the top, in its last life.
    pub trace: Trace,
    /// Its log.
    pub log: Vec<Record>,
    /// How often each operation was started.
    pub starts: BTreeMap<String, u32>,
    /// Its log file.
    pub lines: Vec<LogLine>,
    /// The clock at its end.
    pub finished_at: i64,
    /// How many points the driver passed.
    pub points: u64,
    /// What must never happen and did.
    pub violations: Vec<String>,
}

/// Why a life ended early.
enum Struck {
    Dead(i64),
    PowerCut(i64),
    Reload,
    Hung(u64),
    Over(Ending),
}

/// What an owner had on its mind when it hung.
struct Sleeper {
    wakes_at: u64,
    epoch: Epoch,
    commit: Option<TurnCommit>,
    effects: Vec<Effect>,
}

/// Drives one scenario under one plan.
pub struct Driver<'a> {
    scenario: &'a Scenario,
    plan: &'a Plan,
    store: SimulatedStore,
    world: World,
    points: u64,
    owner: OwnerId,
    owners: u64,
    sleepers: Vec<Sleeper>,
    follower: Follower,
    /// Messages that a sabotaged driver has taken.
    taken: HashSet<InboxKey>,
    /// Operations whose end is in the log.
    finished: HashSet<OperationId>,
    /// The trace of the latest life, and how much of it was committed.
    trace: Rc<RefCell<Trace>>,
    committed: usize,
}

impl<'a> Driver<'a> {
    /// Sets the scene.
    ///
    /// # Panics
    /// If the store does not take the run.
    #[must_use]
    pub fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        let store = SimulatedStore::new(u64::from(crate::chance::number(&scenario.seed)));
        let new =
            NewRun { run: scenario.run(), at: scenario.start(), first: scenario.first_entry() };
        block_on(store.create_run(new)).expect("the simulated store takes a run");
        Self {
            scenario,
            plan,
            store,
            world: World::new(scenario),
            points: 0,
            owner: OwnerId(Uuid::from_u64_pair(1, 0)),
            owners: 0,
            sleepers: Vec::new(),
            follower: Follower::new(),
            taken: HashSet::new(),
            finished: HashSet::new(),
            trace: Rc::default(),
            committed: 0,
        }
    }

    /// Lets the run go through as many lives as it needs.
    #[must_use]
    pub fn run(mut self) -> Report {
        let mut ending = Ending::Endless;
        let mut mode = ClaimMode::IfFree;
        for _ in 0..LIVES {
            match self.live(mode) {
                Struck::Over(over) => {
                    ending = over;
                    break;
                }
                Struck::Reload => mode = ClaimMode::IfFree,
                Struck::Dead(ms) => mode = self.succeed(true, ms),
                Struck::PowerCut(ms) => {
                    self.world.power_cut();
                    mode = self.succeed(true, ms);
                }
                Struck::Hung(_) => mode = self.succeed(false, 0),
            }
        }
        self.sleepers.iter_mut().for_each(|sleeper| sleeper.wakes_at = 0);
        self.wake_sleepers();
        self.report(ending)
    }

    /// Another process takes the place of this one.
    fn succeed(&mut self, died: bool, ms: i64) -> ClaimMode {
        if died {
            self.store.owner_died(self.owner);
        }
        self.owners += 1;
        self.owner = OwnerId(Uuid::from_u64_pair(1, self.owners));
        self.world.wait(ms);
        if died { ClaimMode::IfFree } else { ClaimMode::TakeOver }
    }

    fn report(mut self, ending: Ending) -> Report {
        let log = self.load_log();
        if let Err(violation) = self.follower.check(&self.store, self.scenario.run(), &log) {
            self.world.violations.push(violation);
        }
        let log = log.into_iter().flat_map(Chunk::into_records).collect();
        Report {
            ending,
            trace: self.trace.take(),
            log,
            starts: self.world.starts.clone(),
            lines: self.world.lines.clone(),
            finished_at: self.world.now().0,
            points: self.points,
            violations: self.world.violations,
        }
    }

    /// Whether the driver does this wrong.
    fn is(&self, sabotage: Sabotage) -> bool {
        self.plan.sabotage == Some(sabotage)
    }

    fn run_id(&self) -> RunId {
        self.scenario.run()
    }

    fn load_log(&self) -> Vec<Chunk> {
        let mut log: Vec<Chunk> = Vec::new();
        loop {
            let from = log
                .last()
                .map_or(Seq::FIRST, |chunk| Seq(chunk.first.0 + chunk.entries.len() as u64));
            match block_on(self.store.load_log(self.run_id(), from, 64)) {
                Ok(page) if page.is_empty() => return log,
                Ok(page) => log.extend(page),
                Err(_) => {}
            }
        }
    }

    /// One life: from the claim until the run is over or the process is struck.
    fn live(&mut self, mode: ClaimMode) -> Struck {
        match self.try_live(mode) {
            Ok(ending) => Struck::Over(ending),
            Err(struck) => struck,
        }
    }

    fn try_live(&mut self, mode: ClaimMode) -> Result<Ending, Struck> {
        self.pass(Point::Claim)?;
        let epoch = match block_on(self.store.claim(self.run_id(), self.owner, mode)) {
            Ok(claim) => claim.epoch,
            // Whoever took over from the one that hangs has died before it could.
            Err(ClaimError::Owned { .. }) => return self.try_live(ClaimMode::TakeOver),
            Err(ClaimError::Ended { .. }) => return self.look_back(),
            Err(_) => return Err(Struck::Reload),
        };
        self.pass(Point::Load)?;
        let (mut execution, turn) = self.replay().map_err(Struck::Over)?;
        self.check_continues(&execution);
        self.settle(&mut execution, epoch, turn)?;
        for _ in 0..TURNS {
            if let Some(outcome) = execution.outcome() {
                return Ok(Ending::Ended(outcome.clone()));
            }
            let Some(happenings) = self.gather(&execution) else {
                return Ok(Ending::Parked);
            };
            self.pass(Point::Turn)?;
            let turn = self.advance(&mut execution, happenings)?;
            self.settle(&mut execution, epoch, turn)?;
        }
        Ok(Ending::Endless)
    }

    /// The run had ended before this life: executing it again must lead to the same end.
    fn look_back(&mut self) -> Result<Ending, Struck> {
        let (execution, turn) = self.replay().map_err(Struck::Over)?;
        self.check_continues(&execution);
        if !turn.is_empty() {
            self.world.violations.push("a replay after the end decided something new".into());
        }
        self.world.write_lines(turn.lines);
        let outcome = execution.outcome().cloned();
        Ok(outcome.map_or(Ending::Endless, Ending::Ended))
    }

    fn replay(&mut self) -> Result<(Execution<Script>, Turn), Ending> {
        let log = self.load_log();
        self.finished.clear();
        log.iter().for_each(|chunk| self.remember_finished(chunk));
        let records = log.into_iter().flat_map(Chunk::into_records);
        let journal = Journal::fold(records).map_err(|error| Ending::Refused(error.into()))?;
        let options = Options {
            lines_written: if self.is(Sabotage::LinesTwice) {
                0
            } else {
                self.world.lines_written()
            },
            turn_entries: self.scenario.turn_entries,
        };
        let program = Script::new(Rc::clone(&self.scenario.program));
        Execution::replay(program, journal, options, self.world.now()).map_err(Ending::Refused)
    }

    fn advance(
        &mut self,
        execution: &mut Execution<Script>,
        happenings: Vec<Happening>,
    ) -> Result<Turn, Struck> {
        execution
            .advance(happenings, self.world.now())
            .map_err(|error| Struck::Over(Ending::Refused(error)))
    }

    /// What an earlier life had committed, this one must have done again.
    fn check_continues(&mut self, execution: &Execution<Script>) {
        let trace = execution.program().trace();
        {
            let (was, is) = (self.trace.borrow(), trace.borrow());
            let committed = &was[..self.committed];
            if !is.starts_with(committed) {
                let place = committed.iter().zip(&*is).take_while(|(was, is)| was == is).count();
                let violation = format!(
                    "a later life did something else: {:?} instead of {:?}",
                    is.get(place),
                    committed.get(place)
                );
                self.world.violations.push(violation);
            }
        }
        self.committed = self.committed.min(trace.borrow().len());
        self.trace = trace;
    }

    /// Waits until something happens, and gathers everything that happens at that time.
    fn gather(&mut self, execution: &Execution<Script>) -> Option<Vec<Happening>> {
        self.follower.read(&self.store, self.scenario.run());
        let timers = execution.timers().map(|(due, _)| due).take(1);
        let inbox_waits = !self.inbox().is_empty();
        let next = self.world.next_time(execution.performing(), timers);
        let time = if inbox_waits { Some(self.world.now().0) } else { next };
        self.world.advance_to(time?, &self.store, self.scenario.run());
        let now = self.world.now();
        let mut news = self.world.news(execution.performing());
        let due = execution.timers().take_while(|(due, _)| *due <= now);
        news.extend(
            due.map(|(_, timer)| {
                (self.world.place_of_timer(timer), Happening::Timer(timer.clone()))
            }),
        );
        news.extend(self.inbox());
        if self.is(Sabotage::InboxTakenOnRead) {
            self.taken.extend(news.iter().filter_map(|(_, happening)| match happening {
                Happening::Message(message) => Some(message.key.clone()),
                _ => None,
            }));
        }
        news.sort_by_key(|(place, _)| *place);
        let mut happenings: Vec<Happening> =
            news.into_iter().map(|(_, happening)| happening).collect();
        if self.plan.twice {
            happenings.extend(happenings.clone());
            happenings.extend(self.world.old_news());
        }
        Some(happenings)
    }

    fn inbox(&self) -> Vec<(u32, Happening)> {
        let mut received = block_on(self.store.inbox(self.run_id(), 100)).unwrap_or_default();
        received.retain(|received| !self.taken.contains(&received.message.key));
        let place = |key: &str| self.world.place(&format!("i{key}"));
        received
            .into_iter()
            .map(|received| (place(&received.message.key.0), Happening::Message(received.message)))
            .collect()
    }

    /// Commits a turn, then performs its effects; and so on while there is more of it.
    fn settle(
        &mut self,
        execution: &mut Execution<Script>,
        epoch: Epoch,
        turn: Turn,
    ) -> Result<(), Struck> {
        let mut turn = turn;
        loop {
            let Turn { chunk, consumed, effects, lines, standing, more } = turn;
            if self.is(Sabotage::EffectsBeforeCommit) {
                effects.iter().for_each(|effect| self.perform_one(epoch, effect));
            }
            if !chunk.entries.is_empty() {
                let run = self.run_id();
                let commit = TurnCommit {
                    run,
                    epoch,
                    expected: chunk.first,
                    chunk,
                    consumed,
                    standing,
                    outgoing: vec![],
                };
                self.commit(commit, &effects)?;
            }
            self.committed = self.trace.borrow().len();
            self.pass(Point::Committed)?;
            self.perform(epoch, effects)?;
            self.world.write_lines(lines);
            if !more {
                return Ok(());
            }
            turn = self.advance(execution, Vec::new())?;
        }
    }

    fn commit(&mut self, commit: TurnCommit, effects: &[Effect]) -> Result<(), Struck> {
        match self.pass_commit()? {
            Some(Fault::Hang(points)) => {
                self.sleep(points, commit.epoch, Some(commit), effects.to_vec());
                return Err(Struck::Hung(points));
            }
            Some(fault) => self.store.fail_next(Verb::Commit, store_fault(fault)),
            None => {}
        }
        loop {
            let answer = block_on(self.store.commit(vec![commit.clone()])).pop();
            match answer {
                Some(Ok(_)) => {
                    self.remember_finished(&commit.chunk);
                    return Ok(());
                }
                Some(Err(CommitError::Backend(_))) => {}
                Some(Err(CommitError::Unknown { .. }))
                    if self.is(Sabotage::UnknownTakenForDone) =>
                {
                    return Ok(());
                }
                Some(Err(CommitError::Unknown { .. })) | None => return Err(Struck::Reload),
                Some(Err(error)) => {
                    self.world.violations.push(format!("the owner's commit failed: {error}"));
                    return Err(Struck::Reload);
                }
            }
        }
    }

    fn perform(&mut self, epoch: Epoch, effects: Vec<Effect>) -> Result<(), Struck> {
        for (index, effect) in effects.iter().enumerate() {
            if let Err(struck) = self.pass(Point::Effect) {
                if let Struck::Hung(points) = struck {
                    self.sleep(points, epoch, None, effects[index..].to_vec());
                }
                return Err(struck);
            }
            self.perform_one(epoch, effect);
            self.pass(Point::Performed)?;
        }
        Ok(())
    }

    /// Every effect checks again that its owner still is one.
    fn perform_one(&mut self, epoch: Epoch, effect: &Effect) {
        let owns = block_on(self.store.head(self.run_id())).is_ok_and(|head| head.epoch == epoch);
        if !owns && !self.is(Sabotage::EffectsUnfenced) {
            return;
        }
        if self.finished.contains(effect.operation()) {
            self.world.violations.push(format!("performed after its end: {}", effect.operation()));
        }
        self.world.perform(effect);
    }

    fn remember_finished(&mut self, chunk: &Chunk) {
        self.finished.extend(chunk.entries.iter().filter_map(|entry| match entry {
            Entry::OperationEnded { operation, .. } => Some(operation.clone()),
            _ => None,
        }));
    }

    /// Passes a point; the plan may strike there.
    fn pass(&mut self, point: Point) -> Result<(), Struck> {
        let fault = self.next_fault();
        match fault {
            None => Ok(()),
            Some(Fault::CrashFor(ms)) => Err(Struck::Dead(ms)),
            Some(Fault::PowerCut(ms)) => Err(Struck::PowerCut(ms)),
            Some(Fault::Hang(points)) if point == Point::Effect => Err(Struck::Hung(points)),
            Some(_) => Err(Struck::Dead(0)),
        }
    }

    /// Passes the point before a commit, where more can go wrong.
    fn pass_commit(&mut self) -> Result<Option<Fault>, Struck> {
        match self.next_fault() {
            Some(fault) if fault.needs_commit() || matches!(fault, Fault::Hang(_)) => {
                Ok(Some(fault))
            }
            None => Ok(None),
            Some(Fault::CrashFor(ms)) => Err(Struck::Dead(ms)),
            Some(Fault::PowerCut(ms)) => Err(Struck::PowerCut(ms)),
            Some(_) => Err(Struck::Dead(0)),
        }
    }

    fn next_fault(&mut self) -> Option<Fault> {
        let fault = self.plan.at(self.points);
        self.points += 1;
        self.wake_sleepers();
        fault
    }

    fn sleep(
        &mut self,
        points: u64,
        epoch: Epoch,
        commit: Option<TurnCommit>,
        effects: Vec<Effect>,
    ) {
        self.sleepers.push(Sleeper { wakes_at: self.points + points, epoch, commit, effects });
    }

    /// Owners that hung go on with what they had in mind, unaware that the run has another owner now.
    fn wake_sleepers(&mut self) {
        let (awake, asleep) = std::mem::take(&mut self.sleepers)
            .into_iter()
            .partition(|sleeper| sleeper.wakes_at <= self.points);
        self.sleepers = asleep;
        let awake: Vec<Sleeper> = awake;
        for sleeper in awake {
            let owned = block_on(self.store.head(self.run_id()))
                .is_ok_and(|head| head.epoch == sleeper.epoch);
            if owned {
                // Nobody has taken over yet; it will notice nothing before somebody has.
                self.sleepers.push(Sleeper { wakes_at: self.points + 1, ..sleeper });
                continue;
            }
            if let Some(commit) = sleeper.commit
                && block_on(self.store.commit(vec![commit])).iter().any(Result::is_ok)
            {
                self.world.violations.push("a stale owner's commit was taken".into());
            }
            for effect in &sleeper.effects {
                self.perform_one(sleeper.epoch, effect);
            }
        }
    }
}

fn store_fault(fault: Fault) -> simulated::Fault {
    match fault {
        Fault::LostAcknowledgement => simulated::Fault::LostAcknowledgement,
        Fault::LateCommit(operations) => simulated::Fault::AppliedLater { operations },
        Fault::Full => simulated::Fault::Full,
        _ => simulated::Fault::NotApplied,
    }
}
