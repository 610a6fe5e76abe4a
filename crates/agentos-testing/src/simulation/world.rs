//! The world outside of the process: a clock, effects that count themselves, mail, and the run's log file.
//!
//! It lives on when the process is killed.

use std::collections::BTreeMap;

use agentos_core::effect::{Happening, Timer};
use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLine;
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use pollster::block_on;
use serde_json::json;

use super::scenario::{Mail, Scenario};
use crate::chance::number;

/// What comes of an effect.
#[derive(Debug, Clone, PartialEq)]
enum Fate {
    Ends(OperationResult),
    Interrupted,
}

/// An effect that was started, or stopped before it could.
#[derive(Debug, Clone, PartialEq)]
struct Performed {
    due: i64,
    fate: Fate,
    stopped: bool,
}

/// The world of one run.
#[derive(Debug)]
pub struct World {
    seed: String,
    now: i64,
    root: RunId,
    effects: BTreeMap<(RunId, OperationId, Try), Performed>,
    mail: Vec<(bool, Mail)>,
    /// How often each operation was started.
    pub starts: BTreeMap<String, u32>,
    /// How often each operation was interrupted.
    pub interruptions: BTreeMap<String, u32>,
    /// The run's log file.
    pub lines: Vec<LogLine>,
    /// What must never happen and did.
    pub violations: Vec<String>,
}

impl World {
    /// The world of a scenario, at its beginning.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            seed: scenario.seed.clone(),
            now: scenario.start().0,
            root: scenario.run(),
            effects: BTreeMap::new(),
            mail: scenario.mail.iter().map(|mail| (false, mail.clone())).collect(),
            starts: BTreeMap::new(),
            interruptions: BTreeMap::new(),
            lines: Vec::new(),
            violations: Vec::new(),
        }
    }

    /// What the clock shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        Timestamp(self.now)
    }

    /// Time goes by.
    pub fn wait(&mut self, ms: i64) {
        self.now += ms;
    }

    /// The clock is set back. What is under way takes as long as before.
    pub fn set_clock_back(&mut self, ms: i64) {
        self.now -= ms;
        self.effects.values_mut().for_each(|performed| performed.due -= ms);
        self.mail.iter_mut().for_each(|(_, mail)| mail.at -= ms);
    }

    /// How the world calls an operation: those of the first run by their own names, those of others behind their run.
    #[must_use]
    pub fn call(&self, run: RunId, operation: &OperationId) -> String {
        if run == self.root { operation.to_string() } else { format!("{run}{operation}") }
    }

    /// Starts an operation: idempotent by operation and try.
    pub fn start(&mut self, run: RunId, operation: &OperationId, r#try: Try) {
        let key = (run, operation.clone(), r#try);
        if self.effects.contains_key(&key) {
            return;
        }
        let id = self.call(run, operation);
        self.count_start(&id);
        let result = result_of(&self.seed, &id);
        let due = self.now + 1 + i64::from(number(&format!("{}{id}", self.seed)) % 4);
        self.effects.insert(key, Performed { due, fate: Fate::Ends(result), stopped: false });
    }

    /// Something was started.
    pub fn count_start(&mut self, id: &str) {
        *self.starts.entry(id.to_owned()).or_default() += 1;
    }

    /// An operation that was to be stopped turns out never to have begun.
    pub fn never_began(&mut self, run: RunId, operation: &OperationId, r#try: Try) {
        let fate = Fate::Ends(OperationResult::Cancelled {});
        let dead = Performed { due: self.now, fate, stopped: true };
        self.effects.insert((run, operation.clone(), r#try), dead);
    }

    /// Stops an operation, which then is dead a little later. One that never started never will.
    pub fn stop(&mut self, run: RunId, operation: &OperationId, r#try: Try) {
        let due = self.now + 1;
        let cancelled =
            Performed { due, fate: Fate::Ends(OperationResult::Cancelled {}), stopped: true };
        match self.effects.get_mut(&(run, operation.clone(), r#try)) {
            Some(performed) if performed.stopped || performed.due <= self.now => {}
            Some(performed) => *performed = cancelled,
            None => {
                self.effects.insert((run, operation.clone(), r#try), cancelled);
            }
        }
    }

    /// The machine goes down: whatever runs on it is interrupted.
    pub fn power_cut(&mut self) {
        for ((_, operation, _), performed) in &mut self.effects {
            if performed.due > self.now {
                *self.interruptions.entry(operation.to_string()).or_default() += 1;
                *performed = Performed { due: self.now, fate: Fate::Interrupted, stopped: true };
            }
        }
    }

    /// When the next mail comes.
    #[must_use]
    pub fn next_mail(&self) -> Option<i64> {
        self.mail.iter().filter(|(sent, _)| !sent).map(|(_, mail)| mail.at).min()
    }

    /// When something happens next to one of these operations.
    pub fn next_end<'a>(
        &self,
        run: RunId,
        open: impl Iterator<Item = (&'a OperationId, Try)>,
    ) -> Option<i64> {
        open.filter_map(|(id, r#try)| self.performed(run, id, r#try))
            .map(|performed| performed.due)
            .min()
    }

    fn performed(&self, run: RunId, operation: &OperationId, r#try: Try) -> Option<&Performed> {
        self.effects.get(&(run, operation.clone(), r#try))
    }

    /// The clock goes to `time`, and mail that is due by then is sent.
    pub fn advance_to(&mut self, time: i64, store: &SimulatedStore, run: RunId) {
        self.now = self.now.max(time);
        for (sent, mail) in self.mail.iter_mut().filter(|(sent, mail)| !sent && mail.at <= self.now)
        {
            *sent = block_on(store.send(run, mail.message(), Timestamp(self.now))).is_ok();
        }
    }

    /// What the world has to say of these operations by now, with its place in the order of things.
    pub fn news<'a>(
        &self,
        run: RunId,
        open: impl Iterator<Item = (&'a OperationId, Try)>,
    ) -> Vec<(u32, Happening)> {
        let due = open.filter_map(|(id, r#try)| Some((id, r#try, self.performed(run, id, r#try)?)));
        due.filter(|(_, _, performed)| performed.due <= self.now)
            .map(|(id, r#try, performed)| {
                let operation = id.clone();
                let happening = match &performed.fate {
                    Fate::Ends(result) => {
                        Happening::Ended { operation, r#try, result: result.clone() }
                    }
                    Fate::Interrupted => Happening::Interrupted { operation, r#try },
                };
                (self.place(&format!("ans:{}", self.call(run, id))), happening)
            })
            .collect()
    }

    /// Everything that the world has ever had to say of a run, for a world that repeats itself.
    #[must_use]
    pub fn old_news(&self, run: RunId) -> Vec<Happening> {
        let of_run = self.effects.iter().filter(|((of, _, _), _)| *of == run);
        of_run
            .filter(|(_, performed)| performed.due <= self.now)
            .filter_map(|((_, operation, r#try), performed)| match &performed.fate {
                Fate::Ends(result) => Some(Happening::Ended {
                    operation: operation.clone(),
                    r#try: *r#try,
                    result: result.clone(),
                }),
                Fate::Interrupted => None,
            })
            .collect()
    }

    /// The place of a timer in the order of things that happen at once.
    #[must_use]
    pub fn place_of_timer(&self, timer: &Timer) -> u32 {
        self.place(&match timer {
            Timer::Operation(id) => format!("ans:{id}"),
            Timer::Retry(scope) => {
                let step = scope.owner().map_or_else(String::new, |step| step.to_string());
                format!("ans:{step}/backoff@{}", scope.attempt())
            }
            Timer::Grace(scope) => format!("grace:{scope}"),
            Timer::Attempt(scope) => format!("timeout:{scope}"),
            Timer::Run => "timeout".to_owned(),
            Timer::Deadline => "deadline".to_owned(),
        })
    }

    /// The place of something in the order of things that happen at once: part of the scenario, not of its faults.
    #[must_use]
    pub fn place(&self, key: &str) -> u32 {
        number(&format!("{}{key}", self.seed))
    }

    /// The number of the last line in the run's log file.
    #[must_use]
    pub fn lines_written(&self) -> u64 {
        self.lines.last().map_or(0, |line| line.ordinal)
    }

    /// Writes to the run's log file.
    pub fn write_lines(&mut self, lines: Vec<LogLine>) {
        for line in lines {
            if line.ordinal <= self.lines_written() {
                self.violations.push(format!(
                    "log line {} follows on {}",
                    line.ordinal,
                    self.lines_written()
                ));
            }
            self.lines.push(line);
        }
    }
}

/// What comes of an operation in the world of this seed.
#[must_use]
pub fn result_of(seed: &str, id: &str) -> OperationResult {
    if number(&format!("f{seed}{id}")).is_multiple_of(5) {
        let message = format!("E{}", number(id) % 9);
        return OperationResult::Failed { failure: Failure::new(FailureKind::Error, message) };
    }
    OperationResult::Ok { value: json!(number(&format!("v{id}")) % 1_000) }
}
