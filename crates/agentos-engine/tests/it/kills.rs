//! Processes that are really killed, stopped and taken over from.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use std::process::Child;
use std::sync::atomic::{AtomicU64, Ordering};

use agentos_core::entry::RunOutcome;
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_engine::points::{Fate, Point, Points};
use agentos_engine::takeover::{self, TakeOver, TakeOverError};
use agentos_store::due::Except;
use agentos_store::sqlite::EndOwnerError;
use agentos_store::store::Store as _;
use agentos_testing::script::build::{seq, shell};
use agentos_testing::wait::until;
use rustix::process::{Pid, Signal, getpid, kill_process};
use uuid::Uuid;

use crate::audit::Audit;
use crate::crashes::everything;
use crate::part;
use crate::support::{House, Scripts};

/// Set by a soak, which wants the big numbers.
const SOAK: &str = "AGENTOS_SOAK";

/// About how many points a process passes.
const POINTS: u64 = 92;

/// Kills its own process at one point.
pub(crate) struct KilledAt {
    pub(crate) passed: AtomicU64,
    pub(crate) at: u64,
}

impl Points for KilledAt {
    fn pass(&self, _: Point) -> Fate {
        if self.passed.fetch_add(1, Ordering::SeqCst) == self.at {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
        Fate::Live
    }
}

/// A command that never ends.
fn endless() -> Scripts {
    Scripts::of(seq([shell("first"), shell("slow")]))
}

/// What the processes of these tests do.
pub(crate) async fn play(part: &str, folder: &Path, number: u64) {
    match part {
        "dies" => {
            let house = House::at(folder, everything());
            let points = KilledAt { passed: AtomicU64::new(0), at: number };
            let life = house.live(|builder| builder.points(points));
            let run = life.start(1).await;
            life.ends(run).await;
            life.engine.leave().await;
        }
        "works" => {
            let house = House::at(folder, endless());
            let life = house.live(|builder| builder);
            let run = life.start(1).await;
            life.ends(run).await;
        }
        "commands" => crate::commands::play(folder).await,
        "typescript" => crate::typescript::play(folder, number).await,
        other => panic!("there is no part `{other}`"),
    }
}

fn main_run() -> RunId {
    RunId(Uuid::from_u128(1))
}

type Seen = (BTreeMap<String, &'static str>, BTreeSet<String>);

async fn seen(house: &House) -> Seen {
    assert!(matches!(house.outcome(main_run()).await, RunOutcome::Completed { .. }));
    (house.step_ends(main_run()).await, house.ledger().performed())
}

/// Lets processes be killed at these points, one after the other, and a last one go to the end. How many were.
async fn die(house: &House, deaths: &[u64]) -> usize {
    let mut audit = Audit::default();
    let mut killed = 0;
    for death in deaths {
        let status = part::start(&[], "dies", house.folder(), *death).wait().expect("it ends");
        // It may have come to its end before.
        assert!(status.success() || status.code().is_none(), "{status}");
        killed += usize::from(!status.success());
        audit.check(house, &format!("after kills at {deaths:?}")).await;
    }
    let status = part::start(&[], "dies", house.folder(), u64::MAX).wait().expect("it ends");
    assert!(status.success(), "{status}");
    audit.check(house, &format!("at the end, after kills at {deaths:?}")).await;
    assert_eq!(audit.finished(), 11, "every operation is finished in the end");
    killed
}

/// Kills at every so-many-th point, and again while that is recovered from. A soak asks for every single one.
fn plans() -> Vec<Vec<u64>> {
    let is_soak = std::env::var_os(SOAK).is_some();
    let (once, twice, second) = if is_soak { (1, 2, 0..6) } else { (3, 9, 4..5) };
    let all = (0..POINTS).step_by(once).map(|at| vec![at]);
    let again = (0..POINTS).step_by(twice);
    let again = again.flat_map(|at| second.clone().map(move |then| vec![at, then]));
    all.chain(again).collect()
}

#[tokio::test]
async fn wherever_a_process_is_killed_the_run_comes_to_the_same_end() {
    let whole = House::new(everything());
    die(&whole, &[]).await;
    let expected = seen(&whole).await;
    let (plans, mut killed) = (plans(), 0);
    for deaths in &plans {
        let house = House::new(everything());
        killed += die(&house, deaths).await;
        assert_eq!(seen(&house).await, expected, "after kills at {deaths:?}");
    }
    // How many points a process passes depends on how much happens at once.
    assert!(killed >= plans.len() / 2, "{killed} processes were killed");
    let said = format!(
        "summary: {} runs of one workflow, {killed} processes killed, each run came to the same end, \
         no finished operation was repeated\n",
        plans.len(),
    );
    std::io::stdout().write_all(said.as_bytes()).expect("somebody listens");
}

/// A process that is ended with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

impl Ended {
    fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.0.id()).expect("a pid")).expect("a pid");
        kill_process(pid, signal).expect("it can be signalled");
    }
}

/// A process that drives the endless run, once it does.
async fn worker(house: &House, wrapper: &[&str]) -> Ended {
    let child = Ended(part::start(wrapper, "works", house.folder(), 0));
    until("the run begins", async || house.ledger().counts().len() == 2).await;
    child
}

async fn is_due(house: &House) -> bool {
    let due =
        house.look().due(Timestamp(0), &Except::new(), 10).await.expect("what is due can be read");
    !due.is_empty()
}

#[tokio::test]
async fn the_runs_of_a_killed_process_are_free_at_once() {
    let house = House::new(endless());
    let mut worker = worker(&house, &[]).await;
    assert!(!is_due(&house).await, "its owner lives");
    worker.signal(Signal::KILL);
    worker.0.wait().expect("it is gone");
    assert!(is_due(&house).await, "its owner is dead");
}

#[tokio::test]
async fn a_killed_process_in_another_pid_namespace_is_seen_as_dead_too() {
    let house = House::new(endless());
    let wrapper =
        ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc"];
    let mut worker = worker(&house, &wrapper).await;
    assert!(!is_due(&house).await, "its owner lives");
    worker.signal(Signal::KILL);
    worker.0.wait().expect("it is gone");
    // Only the wrapper is known to be gone; what it has started is killed by the system.
    until("its owner is dead", async || is_due(&house).await).await;
}

#[tokio::test]
async fn a_process_that_hangs_is_not_taken_for_dead_and_is_killed_by_a_take_over() {
    let house = House::new(endless());
    let mut worker = worker(&house, &[]).await;
    worker.signal(Signal::STOP);
    let owner = house.look().head(main_run()).await.expect("a head").owner.expect("an owner");
    assert!(!is_due(&house).await, "it hangs, but lives");
    // It may hold the writer's lock, so nobody can do more than look.
    let taken = takeover::free(&house.look(), main_run()).await;
    assert_eq!(taken.expect("it is taken over"), TakeOver::From(owner));
    assert!(worker.0.wait().expect("it is gone").code().is_none(), "it was killed");
    // The command that was under way is tried again by the new owner.
    let life = house.live(|builder| builder);
    let again = async || house.ledger().counts().values().any(|count| *count > 1);
    until("the run goes on", again).await;
    let counts = house.ledger().counts();
    let first = counts.iter().find(|(operation, _)| operation.contains("first"));
    assert_eq!(first.map(|(_, count)| *count), Some(1), "what had finished is not repeated");
    life.engine.leave().await;
}

#[tokio::test]
async fn nobody_takes_a_run_over_from_himself() {
    let house = House::new(endless());
    let life = house.live(|builder| builder);
    let mut events = life.engine.events();
    let run = life.start(1).await;
    while !house.kinds(run).await.contains(&"operation.started") {
        events.recv().await.expect("events come");
    }
    let owner = life.owner.id();
    let taken = life.engine.take_over(&life.store, run).await;
    let itself = EndOwnerError::Itself { owner };
    assert!(matches!(taken, Err(TakeOverError::Owner(error)) if error == itself));
    life.engine.leave().await;
}
