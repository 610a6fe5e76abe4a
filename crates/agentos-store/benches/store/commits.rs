//! Commits: ours against one raw row, at several numbers of waiters.

use std::time::Duration;

use agentos_core::codec::{self, Chunk};
use agentos_core::id::Seq;
use agentos_core::time::Timestamp;
use agentos_store::conformance::block_on;
use agentos_store::sqlite::{Options, SqliteStore};
use uuid::Uuid;

use crate::bare_sqlite::{Merging, Rows};
use crate::crowd::{Seen, gather, gather_threads};
use crate::report::Report;
use crate::steps::{self, Load};

const WAITERS: [usize; 4] = [1, 16, 128, 512];
const LENGTH: Duration = Duration::from_millis(1_500);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// The waiters are threads, which is how one would do it without a runtime.
    RawThreads,
    Raw,
    Ours(Load),
}

const CASES: [(Case, &str); 4] = [
    (Case::Raw, "raw row, merged"),
    (Case::RawThreads, "raw row, merged, threads"),
    (Case::Ours(Load::LogOnly), "ours, one entry"),
    (Case::Ours(Load::Step), "ours, a step"),
];

pub(crate) fn measure(rounds: usize, report: &mut Report) {
    for waiters in WAITERS {
        for round in 0..rounds {
            for offset in 0..CASES.len() {
                let (case, name) = CASES[(round + offset) % CASES.len()];
                let seen = sample(case, waiters);
                let key = format!("{name}, {waiters} waiting");
                let per = seen.commits as f64;
                report.add(&key, "commits/s", per / seen.wall.as_secs_f64());
                report.add(&key, "cpu µs", seen.cpu.as_secs_f64() * 1e6 / per);
                report.add(&key, "p50 µs", seen.quantile(0.5));
                report.add(&key, "p99 µs", seen.quantile(0.99));
            }
        }
        let raw = format!("{}, {waiters} waiting", CASES[0].1);
        let threads = format!("{}, {waiters} waiting", CASES[1].1);
        for (_, name) in &CASES[2..] {
            let ours = format!("{name}, {waiters} waiting");
            report.ratio(&ours, &threads, "commits/s");
            report.ratio(&ours, &raw, "commits/s");
            report.ratio(&ours, &raw, "cpu µs");
            report.ratio(&ours, &raw, "p50 µs");
        }
    }
}

/// The same case again and again, for a profiler.
pub(crate) fn repeat_one_case() {
    for _time in 0..4 {
        let waiters = std::env::args().filter_map(|word| word.parse().ok()).next().unwrap_or(128);
        let seen = sample(Case::Ours(Load::Step), waiters);
        let cpu = seen.cpu.as_secs_f64() * 1e6 / seen.commits as f64;
        println!("{:.0} commits/s, {cpu:.1} µs", seen.commits as f64 / seen.wall.as_secs_f64());
    }
}

/// The chunk that a raw row holds is the one that our commit of a step holds.
fn chunk() -> String {
    codec::encode(&Chunk::new(Seq(1), Timestamp(1), steps::step(7)))
}

fn sample(case: Case, waiters: usize) -> Seen {
    let folder = tempfile::tempdir().expect("there is room for a folder");
    let path = folder.path().join("bench.db");
    match case {
        Case::Raw => {
            let merging = Merging::start(&path, Rows::One, chunk());
            gather(waiters, LENGTH, |number| Box::pin(merging.insert(number)))
        }
        Case::RawThreads => {
            let merging = Merging::start(&path, Rows::One, chunk());
            gather_threads(waiters, LENGTH, |number| block_on(merging.insert(number)))
        }
        Case::Ours(load) => {
            let options = Options::quiet(Uuid::from_u128(5));
            let store = SqliteStore::open(&path, options).expect("the store opens");
            let (runs, _owner) = steps::start(&store, waiters, load);
            let runs: Vec<_> = runs
                .into_iter()
                .map(|run| std::rc::Rc::new(std::cell::RefCell::new(run)))
                .collect();
            gather(waiters, LENGTH, |number| {
                let run = std::rc::Rc::clone(&runs[number]);
                Box::pin(async move { commit(&run).await })
            })
        }
    }
}

/// Each waiter has its own run, and asks one thing at a time.
#[expect(clippy::await_holding_refcell_ref, reason = "nobody else has this run")]
async fn commit(run: &std::cell::RefCell<steps::Driven>) {
    run.borrow_mut().commit().await;
}
