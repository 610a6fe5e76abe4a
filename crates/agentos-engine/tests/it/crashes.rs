//! The crash matrix, in one process: it dies at each point, and somebody else goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use agentos_core::entry::RunOutcome;
use agentos_engine::points::{Fate, Point, Points};
use agentos_testing::script::Node;
use agentos_testing::script::build::{
    all, get, invoke, own, phase, race, retried, seq, set, shell, sleep, step, throw, try_finally,
    wait_for,
};

use crate::audit::Audit;
use crate::support::{House, Scripts};

/// Dies at one point.
#[derive(Clone)]
pub(crate) struct DiesAt {
    passed: Arc<AtomicU64>,
    at: u64,
}

impl DiesAt {
    pub(crate) fn new(at: u64) -> Self {
        Self { passed: Arc::default(), at }
    }
}

impl Points for DiesAt {
    fn pass(&self, _: Point) -> Fate {
        match self.passed.fetch_add(1, Ordering::SeqCst) == self.at {
            true => Fate::Die,
            false => Fate::Live,
        }
    }
}

/// Sequential, parallel, nested, retried, waiting and child steps.
pub(crate) fn everything() -> Scripts {
    let failing: Node = try_finally(retried("flaky", 2, seq([shell("d"), throw()])), shell("e"));
    Scripts::of(seq([
        step("plan", seq([shell("a"), set("k", 3)])),
        all([
            step("left", own("inner", 1, shell("b"))),
            phase("right", seq([sleep("s", 2), shell("c"), get("k")])),
        ]),
        failing,
        race([sleep("quick", 1), shell("slow")]),
        try_finally(wait_for("nothing", 3), shell("f")),
        invoke("child"),
        shell("end"),
    ]))
    .with("child", seq([step("work", shell("x")), sleep("nap", 2), shell("y")]))
}

/// Executes the workflow with deaths at these points, one after the other.
async fn dies(house: &House, deaths: &[u64]) -> (Picture, u64) {
    let mut run = None;
    let mut audit = Audit::default();
    for death in deaths {
        let points = DiesAt::new(*death);
        let life = house.live(|builder| builder.points(points.clone()));
        let id = life.start(1).await;
        run = Some(id);
        tokio::select! {
            () = life.engine.died() => {}
            () = ended(house, id) => {}
        }
        drop(life.owner);
        audit.check(house, &format!("after deaths at {deaths:?}")).await;
    }
    let points = DiesAt::new(u64::MAX);
    let life = house.live(|builder| builder.points(points.clone()));
    let run = match run {
        Some(run) => run,
        None => life.start(1).await,
    };
    life.ends(run).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run).await, RunOutcome::Completed { .. }));
    audit.check(house, &format!("at the end, after deaths at {deaths:?}")).await;
    assert_eq!(audit.finished(), 11, "every operation is finished in the end");
    let picture =
        Picture { steps: house.step_ends(run).await, performed: house.ledger().performed() };
    (picture, points.passed.load(Ordering::SeqCst))
}

/// What can be seen of a run, whatever the order in which things happened that happen at once.
#[derive(Debug, PartialEq)]
struct Picture {
    steps: BTreeMap<String, &'static str>,
    performed: BTreeSet<String>,
}

/// Waits for the end of a run that may come before the death.
pub(crate) async fn ended(house: &House, run: agentos_core::id::RunId) {
    use agentos_store::store::Store as _;
    let store = house.store();
    let mut watch = store.watch().expect("the store can be watched");
    while !store.head(run).await.is_ok_and(|head| head.standing.is_ended()) {
        watch.changed().await;
    }
}

#[tokio::test]
async fn wherever_a_process_dies_the_run_comes_to_the_same_end() {
    let (expected, points) = dies(&House::new(everything()), &[]).await;
    assert!(points > 60 && expected.steps.len() == 5, "{points} {expected:?}");
    for at in 0..points {
        let house = House::new(everything());
        let (outcome, _) = dies(&house, &[at]).await;
        assert_eq!(outcome, expected, "after a death at point {at}");
    }
}

#[tokio::test]
async fn dying_again_while_recovering_changes_nothing() {
    let (expected, points) = dies(&House::new(everything()), &[]).await;
    for first in (0..points).step_by(9) {
        for second in [1, 3, 6] {
            let house = House::new(everything());
            let deaths = [first, second];
            let (outcome, _) = dies(&house, &deaths).await;
            assert_eq!(outcome, expected, "after deaths at points {deaths:?}");
        }
    }
}
