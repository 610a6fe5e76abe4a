//! Recorded logs that every later version must fold and execute to the same end.
//!
//! Each fixture is two files in `tests/fixtures/logs`: `<name>.program.json`, which says what is executed in which
//! world and how that ends, and `<name>.jsonl`, the log, one chunk a line as a store keeps it. A log that is there
//! stays there, as it is: it stands for the logs that people have. Nothing here overwrites one.
//!
//! *When the recording has changed on purpose* (a new entry, a new field): set `superseded` in the fixture's program
//! file, copy that file under a new name without it, and record what is missing with
//! `AGENTOS_RECORD=1 cargo test -p agentos-core --test it fixtures`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

use agentos_core::codec::{Chunk, decode, encode};
use agentos_core::entry::Record;
use agentos_core::execution::{Execution, Options};
use agentos_core::journal::Journal;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_testing::script::{Node, Script};
use agentos_testing::simulation::{Driver, Ending, Fault, Mail, Plan, Scenario, edition_of};
use serde::Deserialize;

use crate::codec::examples::examples;

/// The file beside a log.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    #[serde(skip)]
    name: String,
    /// What it shows, for people.
    about: String,
    /// Its log stays, but would be recorded otherwise today; or it was never recorded but written by hand.
    #[serde(default)]
    superseded: bool,
    program: Node,
    #[serde(default)]
    world: World,
    /// Where the run stands at the end of its log.
    standing: Standing,
}

/// What the run met with when it was recorded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct World {
    seed: String,
    #[serde(default)]
    mail: Vec<Mail>,
    grace: u64,
    #[serde(default)]
    timeout: u64,
    #[serde(default)]
    deadline: i64,
    turn_entries: usize,
    /// Workflows that can be invoked.
    #[serde(default)]
    children: BTreeMap<String, Rc<Node>>,
    #[serde(default)]
    faults: Vec<Struck>,
}

/// Something that went wrong, and at which point of the simulation.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Struck {
    at: u64,
    by: Blow,
}

/// What went wrong.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Blow {
    /// The machine went down, with everything on it.
    PowerCut { ms: i64 },
    /// Nobody drove the run for a while.
    Absence { ms: i64 },
    /// The run was moved to another source, which was the same one.
    Switch,
}

impl Fixture {
    fn log_path(&self) -> PathBuf {
        folder().join(format!("{}.jsonl", self.name))
    }

    /// The log's lines.
    fn lines(&self) -> Vec<String> {
        let path = self.log_path();
        let text = fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("{}: {error}; how to record it is said in fixtures.rs", path.display())
        });
        text.lines().map(str::to_owned).collect()
    }

    fn log(&self) -> Vec<Record> {
        let chunks = self
            .lines()
            .into_iter()
            .map(|line| decode(&line).unwrap_or_else(|error| panic!("{}: {error}", self.name)));
        chunks.flat_map(Chunk::into_records).collect()
    }

    /// Executes the run anew in its world.
    fn record(&self) -> Vec<String> {
        let scenario = Scenario {
            seed: self.world.seed.clone(),
            mail: self.world.mail.clone(),
            grace: self.world.grace,
            timeout: self.world.timeout,
            deadline: self.world.deadline,
            turn_entries: self.world.turn_entries,
            children: self.world.children.clone(),
            ..Scenario::new(self.program.clone())
        };
        let plan = self.world.faults.iter().fold(Plan::quiet(), |plan, struck| {
            plan.and(
                struck.at,
                match struck.by {
                    Blow::PowerCut { ms } => Fault::PowerCut(ms),
                    Blow::Absence { ms } => Fault::CrashFor(ms),
                    Blow::Switch => Fault::Switch,
                },
            )
        });
        let report = Driver::new(&scenario, &plan).run();
        assert!(matches!(report.ending, Ending::Ended(_) | Ending::Parked), "{:?}", report.ending);
        report.chunks.iter().map(encode).collect()
    }
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/logs")
}

fn fixtures() -> Vec<Fixture> {
    let files = fs::read_dir(folder()).expect("the folder of fixtures is there");
    let names = files.filter_map(|file| {
        let name = file.expect("a file").file_name().into_string().expect("a plain name");
        name.strip_suffix(".program.json").map(str::to_owned)
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.into_iter().map(load).collect()
}

fn load(name: String) -> Fixture {
    let text = fs::read_to_string(folder().join(format!("{name}.program.json")));
    let fixture: Fixture = serde_json::from_str(&text.expect("a program file"))
        .unwrap_or_else(|error| panic!("{name}: {error}"));
    Fixture { name, ..fixture }
}

#[test]
fn every_recorded_log_folds_and_is_executed_to_its_recorded_end() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 8, "fixtures are kept, not thrown away");
    for fixture in fixtures {
        let (name, log) = (&fixture.name, fixture.log());
        let now = log.last().map_or(Timestamp(0), |record| record.at);
        let edition = edition_of(&log);
        let journal = Journal::fold(log).unwrap_or_else(|error| panic!("{name}: {error}"));
        let recorded = journal.end().cloned();
        let script = Script::edition(Rc::new(fixture.program), edition);
        let (execution, turn) = Execution::replay(script, journal, Options::default(), now)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(turn.is_empty(), "{name} decided something new: {:?}", turn.chunk.entries);
        assert_eq!(execution.outcome(), recorded.as_ref(), "{name}");
        assert_eq!(turn.standing, fixture.standing, "{name}: {}", fixture.about);
    }
}

#[test]
fn every_recorded_log_can_be_continued_from_each_of_its_chunks() {
    for fixture in fixtures() {
        let lines = fixture.lines();
        if lines.iter().any(|line| line.contains("source.switched")) {
            // A switch is committed as a whole, in several chunks.
            continue;
        }
        for len in 1..=lines.len() {
            let chunks = lines[..len].iter().map(|line| decode(line).unwrap());
            let log: Vec<Record> = chunks.flat_map(Chunk::into_records).collect();
            let now = log[log.len() - 1].at;
            let script = Script::new(Rc::new(fixture.program.clone()));
            let journal = Journal::fold(log).unwrap();
            let replayed = Execution::replay(script, journal, Options::default(), now);
            assert!(
                replayed.is_ok(),
                "{} cut after {len} chunks: {:?}",
                fixture.name,
                replayed.err()
            );
        }
    }
}

#[test]
fn what_is_recorded_today_is_what_was_recorded_then() {
    for fixture in fixtures().into_iter().filter(|fixture| !fixture.superseded) {
        let today = fixture.record();
        if std::env::var_os("AGENTOS_RECORD").is_some() && !fixture.log_path().exists() {
            fs::write(fixture.log_path(), today.join("\n") + "\n").unwrap();
        }
        let name = &fixture.name;
        for (nth, (then, now)) in fixture.lines().iter().zip(&today).enumerate() {
            assert_eq!(then, now, "{name}.jsonl:{}; see the top of fixtures.rs", nth + 1);
        }
        assert_eq!(fixture.lines().len(), today.len(), "{name}.jsonl; see the top of fixtures.rs");
    }
}

#[test]
fn the_recorded_logs_have_every_kind_of_entry_and_every_end() {
    let logs: Vec<Record> = fixtures().iter().flat_map(Fixture::log).collect();
    let seen: BTreeSet<&str> = logs.iter().map(|record| record.entry.kind()).collect();
    let examples = examples();
    let all: BTreeSet<&str> = examples.iter().map(|(entry, _)| entry.kind()).collect();
    let missing: Vec<&&str> = all.difference(&seen).collect();
    assert!(missing.is_empty(), "no fixture has an entry of the kinds {missing:?}");
    let standings: Vec<Standing> = fixtures().iter().map(|fixture| fixture.standing).collect();
    let parked = standings.iter().any(|standing| !standing.is_ended());
    let ended: BTreeSet<String> =
        standings.iter().map(|standing| format!("{standing:?}")).collect();
    assert!(parked && ended.len() >= 4, "{ended:?}");
}

#[test]
fn a_recorded_log_is_written_again_as_it_was_read() {
    for fixture in fixtures().into_iter().filter(|fixture| !fixture.superseded) {
        for line in fixture.lines() {
            assert_eq!(encode(&decode(&line).unwrap()), line, "{}", fixture.name);
        }
    }
}
