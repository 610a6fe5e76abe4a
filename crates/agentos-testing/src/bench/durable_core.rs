//! `bench core`: turns, folds and replays, without a store and without a world.
//!
//! Everything runs on one thread. What is dropped at the end of a piece of work is not measured, neither with ours nor
//! with the references.

use std::collections::HashMap;
use std::hint::black_box;
use std::rc::Rc;

use agentos_core::codec::{self, Chunk};
use agentos_core::entry::{Entry, Record};
use agentos_core::journal::Journal;
use agentos_core::program::Program;
use agentos_core::turn::Turn;
use serde_json::Value;

use super::case::{Case, Effort, measure};
use super::drive::{Driven, created, cut, drive, fold, log_of, records};
use super::lean::{Body, Operations, Steps};
use super::report::Report;
use super::stopwatch::{Clock, Stopwatch};
use crate::script::{Node, Script};

/// How much of everything; the bars are for the default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Steps of a short and of a long run.
    pub steps: [usize; 2],
    /// Runs that take turns.
    pub runs: usize,
    /// Entries and operations of a short and of a long log.
    pub log: [usize; 2],
}

impl Default for Sizes {
    fn default() -> Self {
        Self { steps: [100, 1_000], runs: 128, log: [1_000, 10_000] }
    }
}

const TURNS: &str = "turns: every effect answered at once";
const FOLD: &str = "fold: a log becomes a journal";
const REPLAY: &str = "replay: a program is executed again against its journal";

/// Measures the core.
#[must_use]
pub fn durable_core(sizes: Sizes, effort: Effort) -> Report {
    let mut suite = Suite::default();
    suite.add_turns(sizes);
    let [short, long] = sizes.log;
    suite.add_folds(short);
    suite.add_folds(long);
    suite.add_replays(short);
    let (replay, recovery) = suite.add_replays(long);
    suite.bars.push((format!("replay of {long} operations"), replay));
    suite.bars.push(("the same with decode and fold".to_owned(), recovery));
    suite.measure(effort)
}

/// A comparison of two cases, by their places.
struct Comparison {
    name: String,
    ours: usize,
    reference: usize,
}

/// The cases, and what is compared with what.
#[derive(Default)]
struct Suite {
    cases: Vec<Case<'static>>,
    comparisons: Vec<Comparison>,
    bars: Vec<(String, usize)>,
}

impl Suite {
    fn add(
        &mut self,
        group: &'static str,
        name: impl Into<String>,
        (units, unit): (usize, &'static str),
        work: impl FnMut(&mut Stopwatch) + 'static,
    ) -> usize {
        self.cases.push(Case { group, name: name.into(), unit, units, work: Box::new(work) });
        self.cases.len() - 1
    }

    fn compare(&mut self, name: impl Into<String>, ours: usize, reference: usize) {
        self.comparisons.push(Comparison { name: name.into(), ours, reference });
    }

    fn measure(mut self, effort: Effort) -> Report {
        let clock = Rc::new(Clock::new());
        let mut watch = Stopwatch::new(Rc::clone(&clock));
        let summaries = measure(&mut self.cases, effort, &mut watch);
        let mut report = Report::new("core", effort, &self.cases, summaries);
        report.measured_by(&clock);
        for Comparison { name, ours, reference } in self.comparisons {
            report.compare(name, ours, reference);
        }
        for (name, case) in self.bars {
            report.hold(name, case, 50.0);
        }
        report
    }

    fn add_turns(&mut self, sizes: Sizes) {
        let [short, long] = sizes.steps;
        let few = self.add(TURNS, format!("1 run, {short} effectful steps"), (short, "step"), {
            move |watch| time_run(watch, Steps::new(short, Body::Effect))
        });
        let many = self.add(TURNS, format!("1 run, {long} effectful steps"), (long, "step"), {
            move |watch| time_run(watch, Steps::new(long, Body::Effect))
        });
        let encoded = format!("1 run, {long} effectful steps, encoded");
        let encoded = self.add(TURNS, encoded, (long, "step"), move |watch| {
            time_encoded(watch, Steps::new(long, Body::Effect));
        });
        let name = format!("1 run, {long} operations outside of steps");
        self.add(TURNS, name, (long, "operation"), move |watch| {
            time_run(watch, Operations::new(long));
        });
        let runs = sizes.runs;
        let name = format!("{runs} runs by turns, {short} effectful steps each");
        let crowd = self.add(TURNS, name, (runs * short, "step"), move |watch| {
            time_crowd(watch, runs, short);
        });
        let name = format!("1 run, {short} pure steps in one turn");
        let pure = self.add(TURNS, name, (short, "step"), move |watch| {
            time_run(watch, Steps::new(short, Body::Pure));
        });
        self.compare(format!("step of {long} / step of {short} (1: no growth)"), many, few);
        self.compare(format!("step among {runs} runs / step of one run"), crowd, few);
        self.compare("step with its encoding / without", encoded, many);
        self.compare("effectful step / pure step", few, pure);
    }

    fn add_folds(&mut self, entries: usize) {
        let log = cut(log_of(Steps::new(entries.div_ceil(5), Body::Effect)), entries);
        let decoded: Rc<[Record]> = records(&log).into();
        let texts = encoded(&log);
        let amount = (entries, "entry");

        let input = Rc::clone(&decoded);
        let folded = self.add(FOLD, format!("fold, {entries} entries"), amount, move |watch| {
            let log = input.to_vec();
            drop(watch.time(|| fold(log)));
        });
        let name = format!("reference: Vec and HashMap, {entries} entries");
        let plain = self.add(FOLD, name, amount, move |watch| {
            let log = decoded.iter().map(|record| (key(&record.entry), record.clone())).collect();
            drop(watch.time(|| plain(log)));
        });
        let input = Rc::clone(&texts);
        let name = format!("decode and fold, {entries} entries");
        let loaded = self.add(FOLD, name, amount, move |watch| {
            drop(watch.time(|| load(&input)));
        });
        let name = format!("reference: serde_json::Value, {entries} entries");
        let parsed = self.add(FOLD, name, amount, move |watch| drop(watch.time(|| parse(&texts))));
        self.compare(format!("fold / Vec and HashMap, {entries} entries"), folded, plain);
        let name = format!("decode and fold / serde_json::Value, {entries} entries");
        self.compare(name, loaded, parsed);
    }

    /// The replay alone, and with everything that a restart needs before it.
    fn add_replays(&mut self, operations: usize) -> (usize, usize) {
        let log = log_of(Operations::new(operations));
        let lean = self.add_replay("lean", operations, &log, move || Operations::new(operations));
        let texts = encoded(&log);
        let amount = (operations, "operation");

        let input = Rc::clone(&texts);
        let name = format!("decode, fold and replay, {operations} operations");
        let recovered = self.add(REPLAY, name, amount, move |watch| {
            drop(watch.time(|| Driven::begin(Operations::new(operations), load(&input))));
        });
        let name = format!("reference: serde_json::Value, {operations} operations");
        let parsed = self.add(REPLAY, name, amount, move |watch| {
            drop(watch.time(|| parse(&texts)));
        });

        let steps = move || Steps::new(operations, Body::Effect);
        self.add_replay("lean, each in a step", operations, &log_of(steps()), steps);
        let node = Rc::new(repeated(operations));
        let script = move || Script::new(Rc::clone(&node));
        let script = self.add_replay("script", operations, &log_of(script()), script);

        self.compare(format!("replay / serde_json::Value, {operations} operations"), lean, parsed);
        let name = format!("decode, fold, replay / serde_json::Value, {operations} operations");
        self.compare(name, recovered, parsed);
        self.compare(format!("script / lean, {operations} operations"), script, lean);
        (lean, recovered)
    }

    fn add_replay<P: Program + 'static>(
        &mut self,
        program: &str,
        operations: usize,
        log: &[Chunk],
        make: impl Fn() -> P + 'static,
    ) -> usize {
        let records = records(log);
        let name = format!("replay, {program}, {operations} operations");
        self.add(REPLAY, name, (operations, "operation"), move |watch| {
            let (program, journal) = (make(), fold(records.clone()));
            let (_, turn) = watch.time(|| Driven::begin(program, journal));
            assert!(turn.is_empty(), "a replay decides nothing");
        })
    }
}

/// Measures one run from its beginning to its end.
fn time_run(watch: &mut Stopwatch, program: impl Program) {
    let journal = fold(created().into_records());
    drop(watch.time(|| drive(program, journal, |turn| drop(black_box(turn)))));
}

/// The same, with every turn written down as a store would want it.
fn time_encoded(watch: &mut Stopwatch, program: impl Program) {
    let journal = fold(created().into_records());
    let encode = |turn: Turn| drop(black_box(codec::encode(&turn.chunk)));
    drop(watch.time(|| drive(program, journal, encode)));
}

/// Measures many runs at once, each taking one turn before the next one does.
fn time_crowd(watch: &mut Stopwatch, runs: usize, steps: usize) {
    let begin = |_| {
        let program = Steps::new(steps, Body::Effect);
        (program, fold(created().into_records()))
    };
    let crowd: Vec<(Steps, Journal)> = (0..runs).map(begin).collect();
    let ended = watch.time(|| {
        let mut crowd: Vec<_> =
            crowd.into_iter().map(|(program, journal)| Driven::begin(program, journal).0).collect();
        while crowd.iter_mut().filter_map(Driven::turn).map(black_box).count() > 0 {}
        crowd
    });
    assert_eq!(ended.len(), runs);
}

fn encoded(log: &[Chunk]) -> Rc<[String]> {
    log.iter().map(codec::encode).collect()
}

fn load(texts: &[String]) -> Journal {
    let decode = |text: &String| codec::decode(text).expect("what was encoded can be decoded");
    fold(texts.iter().map(decode).flat_map(Chunk::into_records))
}

/// The reference for decoding: the same texts as JSON, whatever it means.
fn parse(texts: &[String]) -> Vec<Value> {
    texts.iter().map(|text| serde_json::from_str(text).expect("chunks are JSON")).collect()
}

/// The reference for folding: each entry into a list, and its identity into a map.
fn plain(log: Vec<(String, Record)>) -> (Vec<Record>, HashMap<String, usize>) {
    let (mut list, mut index) = (Vec::new(), HashMap::new());
    for (key, record) in log {
        index.insert(key, list.len());
        list.push(record);
    }
    (list, index)
}

/// The identity that an entry is about.
fn key(entry: &Entry) -> String {
    match entry {
        Entry::StepRequested { step, .. } | Entry::StepEnded { step, .. } => step.to_string(),
        Entry::AttemptStarted { scope, .. } => scope.to_string(),
        Entry::OperationOrdered { operation, .. } | Entry::OperationEnded { operation, .. } => {
            operation.to_string()
        }
        _ => String::new(),
    }
}

fn repeated(operations: usize) -> Node {
    let body = Box::new(Node::Shell { name: "append".to_owned() });
    Node::Repeat { times: u32::try_from(operations).unwrap_or(u32::MAX), body }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_case_runs_and_is_reported() {
        let sizes = Sizes { steps: [2, 4], runs: 3, log: [10, 20] };
        let effort = Effort { rounds: 2, sample: Duration::ZERO };
        let report = durable_core(sizes, effort);
        let json: Value = serde_json::from_str(&report.to_json()).unwrap();
        assert_eq!(json["cases"].as_array().map(Vec::len), Some(6 + 2 * 4 + 2 * 5));
        assert!(json["machine"]["cores"].as_u64().is_some_and(|cores| cores > 0));
        assert!(json["cases"][0]["ns_per_unit"]["samples"].as_array().is_some());
        let table = report.to_string();
        assert!(table.contains("1 run, 2 effectful steps"), "{table}");
        assert!(table.contains("replay of 20 operations"), "{table}");
    }
}
