//! The pure driver: a process that claims runs, executes them turn by turn, and dies where the plan says.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use agentos_core::codec::Chunk;
use agentos_core::effect::Happening;
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Try};
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::rebase::{self, RebaseError};
use agentos_core::standing::Standing;
use agentos_core::turn::Turn;
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::commit::{Outgoing, TurnCommit};
use agentos_store::due::Except;
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::run::{History, NewRun};
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use pollster::block_on;
use uuid::Uuid;

use super::edits::is_refusal;
use super::follower::Follower;
use super::life::{Life, Past};
use super::plan::{Plan, Point, Sabotage};
use super::report::{Ending, Report, edition_of, program_of, trace_of};
use super::scenario::Scenario;
use super::strike::{Mind, Struck};
use super::world::World;
use crate::script::Script;

/// How many processes may follow on one another before something is wrong.
const PROCESSES: u32 = 60;
/// How many rounds one process may take.
const ROUNDS: u32 = 20_000;

/// Drives one scenario under one plan.
pub struct Driver<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) plan: &'a Plan,
    pub(super) store: SimulatedStore,
    pub(super) world: World,
    pub(super) points: u64,
    pub(super) owner: OwnerId,
    pub(super) owners: u64,
    /// The runs that this process has claimed.
    pub(super) lives: BTreeMap<RunId, Life>,
    /// Every run that there is.
    pub(super) family: BTreeSet<RunId>,
    pub(super) pasts: BTreeMap<RunId, Past>,
    pub(super) hung: HashSet<OwnerId>,
    /// What owners that hang have on their minds, and until when.
    pub(super) sleepers: Vec<(u64, Mind)>,
    pub(super) follower: Follower,
    /// The first run is to be moved to another source, which is the same one.
    pub(super) switching: bool,
    /// Switches that were refused.
    pub(super) refusals: Vec<RebaseError>,
    /// Messages that a sabotaged driver has taken.
    pub(super) taken: HashSet<InboxKey>,
    /// Operations whose order, or another try, is in a log.
    pub(super) ordered: HashSet<((RunId, OperationId), Try)>,
    /// Operations whose end is in a log.
    pub(super) finished: HashSet<(RunId, OperationId)>,
    /// What the child of each invocation says at its end.
    pub(super) invoked: HashMap<(RunId, OperationId), InboxKey>,
    /// Invocations that are known to have started.
    pub(super) started: HashSet<(RunId, OperationId)>,
}

impl<'a> Driver<'a> {
    /// Sets the scene.
    #[must_use]
    pub fn new(scenario: &'a Scenario, plan: &'a Plan) -> Self {
        Self::with_history(scenario, plan, scenario.first_entry(), None)
    }

    /// Sets the scene for a run that has a history already.
    ///
    /// # Panics
    /// If the store does not take the run.
    #[must_use]
    pub fn with_history(
        scenario: &'a Scenario,
        plan: &'a Plan,
        first: Entry,
        history: Option<History>,
    ) -> Self {
        let store = SimulatedStore::new(u64::from(crate::chance::number(&scenario.seed)));
        let run = scenario.run();
        let new = NewRun {
            run,
            at: scenario.start(),
            first,
            history,
            place: Place::default(),
            owner: None,
        };
        block_on(store.create_run(new)).expect("the simulated store takes a run");
        Self {
            scenario,
            plan,
            store,
            world: World::new(scenario),
            points: 0,
            owner: OwnerId(Uuid::from_u64_pair(1, 0)),
            owners: 0,
            lives: BTreeMap::new(),
            family: BTreeSet::from([run]),
            pasts: BTreeMap::new(),
            hung: HashSet::new(),
            sleepers: Vec::new(),
            follower: Follower::new(),
            switching: false,
            refusals: Vec::new(),
            taken: HashSet::new(),
            ordered: HashSet::new(),
            finished: HashSet::new(),
            invoked: HashMap::new(),
            started: HashSet::new(),
        }
    }

    /// The same, beginning at another time.
    #[must_use]
    pub fn from_time(mut self, time: i64) -> Self {
        self.world.wait(time - self.world.now().0);
        self
    }

    /// Lets one process follow on the other until the run is over.
    #[must_use]
    pub fn run(mut self) -> Report {
        let mut ending = Ending::Endless;
        for _ in 0..PROCESSES {
            let struck = match self.process() {
                Ok(over) => Struck::Over(over),
                Err(struck) => struck,
            };
            self.lives.clear();
            match struck {
                Struck::Over(over) => {
                    ending = over;
                    break;
                }
                Struck::Reload => {}
                Struck::Dead(ms) => self.succeed(true, ms),
                Struck::PowerCut(ms) => {
                    self.world.power_cut();
                    self.succeed(true, ms);
                }
                Struck::Switch => {
                    self.switching = true;
                    self.succeed(true, 0);
                }
                Struck::Hung => {
                    self.hung.insert(self.owner);
                    self.succeed(false, 0);
                }
            }
        }
        self.sleepers.iter_mut().for_each(|(wakes_at, _)| *wakes_at = 0);
        self.wake_sleepers();
        self.report(ending)
    }

    /// Another process takes the place of this one.
    fn succeed(&mut self, died: bool, ms: i64) {
        if died {
            self.store.owner_died(self.owner);
        }
        self.owners += 1;
        self.owner = OwnerId(Uuid::from_u64_pair(1, self.owners));
        self.world.wait(ms);
    }

    fn report(mut self, ending: Ending) -> Report {
        let (root, finished_at) = (self.scenario.run(), self.world.now().0);
        let chunks = self.load_log(root);
        let follower = std::mem::replace(&mut self.follower, Follower::new());
        if let Err(violation) = follower.check(&self.store, root, &chunks) {
            self.world.violations.push(violation);
        }
        let mut seen: BTreeMap<_, _> = BTreeMap::new();
        for run in self.family.clone() {
            let log = self.load_log(run);
            let trace = trace_of(self.scenario, &log, finished_at).unwrap_or_else(|violation| {
                self.world.violations.push(violation);
                Vec::new()
            });
            if let Err(violation) = self.pasts.entry(run).or_default().ends_as(&trace) {
                self.world.violations.push(violation);
            }
            seen.insert(run, (trace, log.into_iter().flat_map(Chunk::into_records).collect()));
        }
        let (trace, log): (_, Vec<Record>) = seen.remove(&root).unwrap_or_default();
        Report {
            ending,
            trace,
            log,
            chunks,
            children: seen,
            starts: self.world.starts.clone(),
            lines: self.world.lines.clone(),
            finished_at,
            points: self.points,
            refusals: self.refusals,
            violations: self.world.violations,
        }
    }

    /// Whether the driver does this wrong.
    pub(super) fn is(&self, sabotage: Sabotage) -> bool {
        self.plan.sabotage == Some(sabotage)
    }

    fn load_log(&self, run: RunId) -> Vec<Chunk> {
        block_on(load_whole_log(&self.store, run)).unwrap_or_default()
    }

    /// One process: claims what is due and drives it, until the first run is over or the process is struck.
    fn process(&mut self) -> Result<Ending, Struck> {
        for _ in 0..ROUNDS {
            self.claim_all()?;
            if let Some(ending) = self.ended() {
                // The last lines may be missing in the log file; they can be made again.
                self.look_back(self.scenario.run())?;
                return Ok(ending);
            }
            self.park_waiting();
            let Some(batches) = self.gather() else {
                return Ok(Ending::Parked);
            };
            for (run, happenings) in batches {
                self.pass(Point::Turn)?;
                match self.take_turn(run, happenings) {
                    Err(Struck::Reload) => self.open_again(run)?,
                    other => other?,
                }
            }
        }
        Ok(Ending::Endless)
    }

    /// How the first run ended, if it has.
    fn ended(&self) -> Option<Ending> {
        let root = self.scenario.run();
        let standing = block_on(self.store.head(root)).ok()?.standing;
        if !standing.is_ended() {
            return None;
        }
        let log = self.load_log(root).into_iter().flat_map(|chunk| chunk.entries);
        let outcome = log.into_iter().find_map(|entry| match entry {
            Entry::RunEnded { outcome } => Some(outcome),
            _ => None,
        });
        Some(outcome.map_or_else(
            || Ending::Stuck("ended without an end".into()),
            |outcome: RunOutcome| Ending::Ended(outcome),
        ))
    }

    /// Claims what nobody drives and somebody should.
    fn claim_all(&mut self) -> Result<(), Struck> {
        let due: BTreeSet<RunId> =
            block_on(self.store.due(self.world.now(), &Except::new(), 1_000))
                .map_err(|_| Struck::Reload)?
                .into_iter()
                .map(|due| due.run)
                .collect();
        for run in self.family.clone() {
            let owner = block_on(self.store.head(run)).ok().and_then(|head| head.owner);
            let hangs = owner.is_some_and(|owner| self.hung.contains(&owner));
            let lost = owner == Some(self.owner) && !self.lives.contains_key(&run);
            if !self.lives.contains_key(&run) && (due.contains(&run) || hangs || lost) {
                self.open_again(run)?;
            }
        }
        Ok(())
    }

    /// Claims a run and executes it up to the end of its log, as often as it takes.
    fn open_again(&mut self, run: RunId) -> Result<(), Struck> {
        self.lives.remove(&run);
        loop {
            match self.open(run) {
                Err(Struck::Reload) => {}
                other => return other,
            }
        }
    }

    fn open(&mut self, run: RunId) -> Result<(), Struck> {
        self.pass(Point::Claim)?;
        let claim = match block_on(self.store.claim(run, self.owner, ClaimMode::IfFree)) {
            // Whoever has it hangs.
            Err(ClaimError::Owned { .. }) => {
                block_on(self.store.claim(run, self.owner, ClaimMode::TakeOver))
            }
            other => other,
        };
        let (epoch, standing) = match claim {
            Ok(claim) => (claim.epoch, claim.standing),
            Err(ClaimError::Ended { .. }) => return self.look_back(run),
            Err(_) => return Err(Struck::Reload),
        };
        self.pass(Point::Load)?;
        if self.switching && run == self.scenario.run() && self.switch(run, epoch)? {
            return self.look_back(run);
        }
        let parked = matches!(standing, Standing::Parked { .. });
        let (execution, turn) = self.replay(run, parked)?;
        self.lives.insert(run, Life { execution, epoch, standing: None });
        self.settle(run, turn)
    }

    /// The run had ended before anybody knew: executing it again must lead to the same end.
    fn look_back(&mut self, run: RunId) -> Result<(), Struck> {
        let (_, turn) = self.replay(run, false)?;
        if !turn.is_empty() {
            self.world.violations.push("a replay after the end decided something new".into());
        }
        if run == self.scenario.run() {
            self.world.write_lines(turn.lines);
        }
        Ok(())
    }

    fn replay(
        &mut self,
        run: RunId,
        was_parked: bool,
    ) -> Result<(Execution<Script>, Turn), Struck> {
        let log = self.load_log(run);
        log.iter().for_each(|chunk| self.remember(run, chunk));
        let records: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
        let program = program_of(self.scenario, &records);
        let refused = |error| Struck::Over(Ending::Refused(error));
        let journal = Journal::fold(records).map_err(|error| refused(error.into()))?;
        let written = if self.is(Sabotage::LinesTwice) { 0 } else { self.world.lines_written() };
        let options = Options {
            lines_written: if run == self.scenario.run() { written } else { 0 },
            turn_entries: self.scenario.turn_entries,
            was_parked,
        };
        let (execution, turn) =
            Execution::replay(program, journal, options, self.world.now()).map_err(refused)?;
        if let Err(violation) = self.pasts.entry(run).or_default().goes_on_as(&execution) {
            self.world.violations.push(violation);
        }
        Ok((execution, turn))
    }

    /// Moves a run to another source that does the same: nothing may change. Whether the run has ended by that.
    fn switch(&mut self, run: RunId, epoch: Epoch) -> Result<bool, Struck> {
        // What the old source had to say and what is not in the log file yet can't be made by the new one.
        let (mut execution, mut turn) = self.replay(run, true)?;
        while turn.more {
            self.world.write_lines(std::mem::take(&mut turn.lines));
            let next = execution.advance(Vec::new(), self.world.now());
            turn = next.map_err(|error| Struck::Over(Ending::Refused(error)))?;
        }
        self.world.write_lines(turn.lines);
        let log: Vec<Record> =
            self.load_log(run).into_iter().flat_map(Chunk::into_records).collect();
        let stuck = |error: String| Struck::Over(Ending::Stuck(error));
        let edition = edition_of(&log) + 1;
        let program = || Script::edition(self.scenario.edition(edition), edition);
        let moved = rebase::switch(&log, edition.to_string(), self.world.now(), program);
        // The log may have been cut before the failure of the same source: what is not recorded is refused.
        let fails = |error: &RebaseError| {
            matches!(error, RebaseError::Fails(_)) && !execution.failures().is_empty()
        };
        let switched = match moved {
            Err(error) if is_refusal(&error) && (self.scenario.edit.is_some() || fails(&error)) => {
                // It goes on under the source it has.
                self.switching = false;
                self.refusals.push(error);
                return Ok(false);
            }
            other => other.map_err(|error| Struck::Over(Ending::Unmoved(error)))?,
        };
        if !switched.notices.is_empty() && self.scenario.edit.is_none() {
            return Err(stuck(format!("a switch to the same source has {:?}", switched.notices)));
        }
        let last = switched.chunks.len() - 1;
        let working = Standing::Working { wake_at: None };
        let outgoing = switched.outgoing.into_iter();
        let mut outgoing: Vec<Outgoing> =
            outgoing.map(|sent| Outgoing { to: sent.to, message: sent.message }).collect();
        let commits = switched.chunks.into_iter().enumerate().map(|(index, chunk)| TurnCommit {
            run,
            epoch,
            expected: chunk.first,
            chunk,
            consumed: Vec::new(),
            standing: if index == last { switched.standing } else { working },
            outgoing: if index == last { std::mem::take(&mut outgoing) } else { Vec::new() },
        });
        let answers = block_on(self.store.commit(commits.collect()));
        if let Some(Err(error)) = answers.into_iter().find(Result::is_err) {
            return Err(stuck(format!("the switch was not committed: {error}")));
        }
        self.switching = false;
        self.pasts.entry(run).or_default().forget();
        Ok(switched.standing.is_ended())
    }

    /// Takes one turn of a run.
    fn take_turn(&mut self, run: RunId, happenings: Vec<Happening>) -> Result<(), Struck> {
        let now = self.world.now();
        let Some(life) = self.lives.get_mut(&run) else {
            return Ok(());
        };
        let turn = life
            .execution
            .advance(happenings, now)
            .map_err(|error| Struck::Over(Ending::Refused(error)))?;
        self.settle(run, turn)
    }

    /// Commits a turn, then performs its effects; and so on while there is more of it.
    fn settle(&mut self, run: RunId, mut turn: Turn) -> Result<(), Struck> {
        loop {
            let Some(epoch) = self.lives.get(&run).map(|life| life.epoch) else {
                return Ok(());
            };
            let Turn { chunk, consumed, outgoing, effects, lines, standing, more } = turn;
            if self.is(Sabotage::EffectsBeforeCommit) {
                effects.iter().for_each(|effect| self.perform_one(run, epoch, effect));
            }
            if !chunk.entries.is_empty() {
                let outgoing = outgoing.into_iter();
                let commit = TurnCommit {
                    run,
                    epoch,
                    expected: chunk.first,
                    chunk,
                    consumed,
                    standing,
                    outgoing: outgoing
                        .map(|sent| Outgoing { to: sent.to, message: sent.message })
                        .collect(),
                };
                self.commit(commit, &effects)?;
            }
            self.pasts.entry(run).or_default().commit();
            self.pass(Point::Committed)?;
            self.perform(run, epoch, effects)?;
            if run == self.scenario.run() {
                self.world.write_lines(lines);
            }
            let now = self.world.now();
            if standing.is_ended() {
                self.lives.remove(&run);
            }
            let Some(life) = self.lives.get_mut(&run).filter(|_| more) else {
                self.lives.entry(run).and_modify(|life| life.standing = Some(standing));
                return Ok(());
            };
            let next = life.execution.advance(Vec::new(), now);
            turn = next.map_err(|error| Struck::Over(Ending::Refused(error)))?;
        }
    }

    /// Runs that only wait for something that is not there yet may be given back.
    fn park_waiting(&mut self) {
        let now = self.world.now();
        let waits = |life: &Life| {
            let due = life.execution.timers().next().is_some_and(|(due, _)| due <= now);
            matches!(life.standing, Some(Standing::Parked { .. })) && !due
        };
        let waiting = self.lives.iter().filter(|(_, life)| self.scenario.parks && waits(life));
        let waiting: Vec<(RunId, Epoch)> = waiting.map(|(run, life)| (*run, life.epoch)).collect();
        for (run, epoch) in waiting {
            let inbox = block_on(self.store.inbox(run, 1)).unwrap_or_default();
            if inbox.is_empty() && block_on(self.store.release(run, epoch)).is_ok() {
                self.lives.remove(&run);
            }
        }
    }
}
