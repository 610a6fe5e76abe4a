//! Runs moved, forked and mended under changed programs: what people do to a workflow while it runs.

use std::rc::Rc;

use agentos_core::entry::{Entry, Record, RunStarted};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::RunId;
use agentos_core::journal::Journal;
use agentos_core::rebase::{
    Destination, Keep, Names, Notice, Rebase, RebaseError, Rebased, generation,
};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_testing::script::build::{
    all, get, invoke, own, phase, pure, race, retried, seq, set, shell, sleep, step, throw,
    try_catch, try_finally, wait, wait_for, within,
};
use agentos_testing::script::{Node, Script};
use agentos_testing::simulation::{Driver, Fault, Fork, Plan, Report, Scenario};
use uuid::Uuid;

use crate::support::{
    completes, go_on, lucky, ordered, outcome, quiet, records, saw, survives, switched,
    switched_at, tries_of, until,
};

const LATE: i64 = 1_000_000;

/// A fork under an id of its own.
fn forked(log: &[Record], program: &Node, keep: Keep) -> Result<Rebased, RebaseError> {
    let Some(Entry::RunStarted(start)) = generation(log).first().map(|record| &record.entry) else {
        return Err(RebaseError::Empty);
    };
    let program = Rc::new(program.clone());
    let rebase = Rebase {
        log,
        start: RunStarted { run: RunId(Uuid::from_u64_pair(9, 9)), ..start.clone() },
        keep,
        now: Timestamp(500),
        into: Destination::NewRun,
        old_names: Names::default(),
        new_names: Names::default(),
    };
    rebase.run(|| Script::new(Rc::clone(&program)))
}

fn before(log: &[Record], identity: &str) -> Keep {
    let number = generation(log).iter().find_map(|record| match &record.entry {
        Entry::StepRequested { step, number, .. } if step.as_str() == identity => *number,
        Entry::OperationOrdered { operation, number, .. } if operation.as_str() == identity => {
            *number
        }
        _ => None,
    });
    Keep::BeforeStep(number.expect("it was asked for"))
}

fn asks_for(rebased: &Rebased, name: &'static str) -> bool {
    rebased.chunks.iter().flat_map(|chunk| &chunk.entries).any(|entry| ordered(name)(entry))
}

#[test]
fn a_finished_body_stays_finished_when_it_is_asked_for_only_later() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let changed = seq([shell("lint"), own("a", 1, seq([shell("x"), shell("more")])), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    let step = "/a#1".parse().expect("a path");
    assert!(rebased.notices.contains(&Notice::StepNotAsked { step }), "{:?}", rebased.notices);
    let report = go_on(&scenario, &changed, &log, &rebased);
    completes(&report);
    assert!(!report.starts.keys().any(|id| id.contains("more")), "{:?}", report.starts);
}

#[test]
fn a_finished_body_survives_a_detour_over_a_source_that_did_not_come_to_it() {
    let scenario = lucky(seq([own("a", 1, seq([shell("x"), set("k", 1)])), shell("z")]));
    let mut log = until(&quiet(&scenario), ordered("/shell:z"));
    let detour = seq([sleep("d", 50), own("a", 1, seq([shell("x"), set("k", 1)])), shell("z")]);
    log.extend(records(&switched(&log, &detour).expect("it can be switched")));
    let changed = seq([own("a", 1, seq([shell("x"), set("k", 2), shell("more")])), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched again");
    assert!(!asks_for(&rebased, "shell:more"), "its new text was executed");
}

#[test]
fn a_step_that_was_cancelled_in_its_back_off_is_played_as_it_was() {
    let body = Box::new(seq([shell("x"), throw()]));
    let slow =
        Node::Step { name: "n".into(), body, attempts: 2, delay: 50, timeout: 0, own: false };
    let racing = race([try_finally(slow, set("k", 5)), sleep("s", 20)]);
    let program = |last: &str| {
        let writer = own("o", 1, seq([racing.clone(), pure(last)]));
        seq([all([writer, seq([sleep("t", 10), get("k")])]), shell("z"), shell("w")])
    };
    let scenario = lucky(program("p"));
    let recorded = survives(&scenario);
    let reads = |report: &Report| -> Vec<String> {
        report.trace.iter().filter(|event| event.starts_with("get")).cloned().collect()
    };
    let moved = Scenario { edit: Some(Rc::new(program("q"))), ..scenario };
    for at in 0..recorded.points {
        let report = Driver::new(&moved, &Plan::one(at, Fault::Switch)).run();
        assert_eq!(reads(&report), reads(&recorded), "after a switch at {at}");
    }
}

#[test]
fn a_played_body_whose_answers_come_in_another_order_keeps_its_names() {
    let both = |last: &str| {
        let left = seq([shell("a"), shell("n")]);
        let right = seq([shell("b"), shell("n")]);
        own("s", 1, seq([all([left, right]), pure(last)]))
    };
    let scenario = Scenario::new(seq([both("p"), shell("y"), shell("z")]));
    let position = |log: &[Record], name: &'static str| {
        log.iter().position(|record| crate::support::ended(name)(&record.entry))
    };
    let worlds =
        (0..500).map(|seed| lucky(Scenario { seed: format!("w{seed}"), ..scenario.clone() }));
    let mut logs = worlds.map(|scenario| until(&quiet(&scenario), ordered("/shell:z")));
    let log = logs
        .find(|log| position(log, "shell:b") < position(log, "shell:a"))
        .expect("in some world the right side is faster");
    let changed = seq([shell("y"), both("q"), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    assert!(records(&rebased).iter().any(|record| matches!(record.entry, Entry::BodyKept(_))));
}

#[test]
fn a_played_body_does_not_wait_for_its_back_offs_again() {
    let failing =
        |key: &str| try_finally(own("a", 2, seq([shell("x"), set(key, 1), throw()])), pure("p"));
    let scenario = lucky(seq([failing("u"), shell("y"), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let changed = seq([shell("y"), failing("v"), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    assert!(asks_for(&rebased, "/shell:z"), "{:?}", rebased.standing);
}

#[test]
fn what_is_new_has_its_whole_time() {
    let scenario = lucky(Scenario { grace: 1_000, ..Scenario::new(seq([shell("x"), wait("go")])) });
    let log = until(&quiet(&scenario), ordered("/wait:go"));
    // A step with a timeout in a run that rests.
    let timed = seq([shell("x"), within(1_000, "b", 1, wait("other"))]);
    let rebased = switched_at(&log, &timed, LATE).expect("it can be switched");
    assert_eq!(rebased.standing, Standing::Parked { wake_at: Some(Timestamp(LATE + 1_000)) });
    let whole: Vec<Record> = log.iter().cloned().chain(records(&rebased)).collect();
    let journal = Journal::fold(whole).expect("a log like any other");
    let options = Options { was_parked: true, ..Options::default() };
    let (execution, _) =
        Execution::replay(Script::new(Rc::new(timed)), journal, options, Timestamp(LATE))
            .expect("it is executed again");
    assert_eq!(execution.timers().next().map(|(due, _)| due), Some(Timestamp(LATE + 1_000)));
    // The grace of a scope that closes only under the new source.
    let tidy = try_finally(wait("never"), shell("cleanup"));
    let closing = seq([shell("x"), step("s", race([tidy, sleep("none", 0)])), wait("go")]);
    let rebased = switched_at(&log, &closing, LATE).expect("it can be switched");
    let graces: Vec<i64> = records(&rebased)
        .iter()
        .filter_map(|record| match &record.entry {
            Entry::ScopeClosing(closing) => closing.grace_until.map(|until| until.0),
            _ => None,
        })
        .collect();
    assert!(!graces.is_empty() && graces.iter().all(|until| *until == LATE + 1_000), "{graces:?}");
}

#[test]
fn a_step_under_way_gets_back_the_day_in_which_nobody_drove_its_run() {
    let scenario = lucky(within(10_000, "a", 1, shell("x")));
    let log = until(&quiet(&scenario), ordered("shell:x"));
    let day = 86_400_000;
    let rebased = switched_at(&log, &scenario.program, day).expect("it can be switched");
    assert_eq!(rebased.standing.wake_at(), Some(Timestamp(day + 10_000)));
}

#[test]
fn a_fork_is_held_to_the_same_table_as_a_switch() {
    let scenario = lucky(seq([shell("x"), shell("y"), shell("z")]));
    let log = quiet(&scenario).log;
    let other = seq([Node::Artifact { name: "x".into() }, shell("y"), shell("z")]);
    let refused = forked(&log, &other, before(&log, "/shell:z#1"));
    assert!(matches!(refused, Err(RebaseError::OtherKind { .. })), "{refused:?}");
    // Beyond the cut nothing is kept, so nothing can be in the way.
    let beyond = seq([shell("x"), shell("y"), Node::Artifact { name: "z".into() }]);
    let fork = forked(&log, &beyond, before(&log, "/shell:z#1")).expect("a fork");
    assert_eq!(fork.notices, []);
}

#[test]
fn forks_and_retries_play_finished_bodies_that_have_changed() {
    let program = |last: &str, end: Node| {
        let body = seq([shell("x"), set("k", 1), pure(last)]);
        seq([own("a", 1, body), get("k"), step("b", shell("y")), end])
    };
    let scenario = lucky(program("p", step("c", seq([shell("in"), throw()]))));
    let failed = quiet(&scenario);
    let changed = program("third", step("c", seq([shell("in"), pure("mended")])));
    for keep in [before(&failed.log, "/b#1"), before(&failed.log, "/c#1"), Keep::Finished] {
        let fork = forked(&failed.log, &changed, keep).expect("a fork");
        let plays =
            |record: &Record| matches!(&record.entry, Entry::BodyKept(kept) if kept.acts.is_some());
        assert!(records(&fork).iter().any(plays), "{keep:?}");
        assert!(!asks_for(&fork, "pure-third"), "{keep:?}: the new text was executed");
    }
    // What failed is done again, by its new text.
    let retry = forked(&failed.log, &changed, Keep::Finished).expect("a retry");
    assert!(asks_for(&retry, "/c#1@1/shell:in"));
    // Before the first step there is nothing to play.
    let fork = forked(&failed.log, &changed, before(&failed.log, "/a#1")).expect("a fork");
    assert!(!records(&fork).iter().any(|record| matches!(record.entry, Entry::BodyKept(_))));
}

#[test]
fn a_fork_under_an_id_of_its_own_hears_of_children_when_they_ended() {
    let losing = seq([invoke("child"), set("k", 1)]);
    let program =
        seq([race([sleep("s", 1), losing]), sleep("t", 20), get("k"), step("b", shell("y"))]);
    let scenario = lucky(Scenario::new(program).with_child("child", sleep("s", 5)));
    let report = quiet(&scenario);
    completes(&report);
    let fork = forked(&report.log, &scenario.program, before(&report.log, "/b#1")).expect("a fork");
    let facts = |log: &[Record]| -> Vec<(i64, &'static str)> {
        log.iter().skip(1).map(|record| (record.at.0, record.entry.kind())).collect()
    };
    let cut = report.log.iter().position(|record| matches!(&record.entry, Entry::StepRequested { step, .. } if step.as_str() == "/b#1"));
    assert_eq!(
        facts(&records(&fork))[..cut.expect("a step") - 1],
        facts(&report.log[..cut.expect("a step")])
    );
}

#[test]
fn what_was_under_way_in_a_run_is_begun_anew_by_its_fork() {
    // A child that had not ended when its run was cancelled.
    for program in
        [invoke("child"), all([invoke("child"), seq([sleep("s", 2), step("b", shell("y"))])])]
    {
        let family = Scenario::new(program).with_child("child", sleep("long", 40));
        let scenario = lucky(family).with_mail(20, "cancel");
        let recorded = quiet(&scenario);
        let retry = Fork::new(&scenario, &recorded.log, Keep::Finished).expect("it was cancelled");
        let alone = Scenario { mail: Vec::new(), ..scenario };
        completes(&retry.run(&alone, &Plan::quiet()));
    }
}

#[test]
fn a_finished_step_keeps_the_outcome_of_its_old_policy() {
    let flaky = |attempts| retried("a", attempts, seq([shell("x"), shell("y")]));
    let program =
        |attempts| seq([try_catch(flaky(attempts), shell("rescue"), pure("p")), shell("z")]);
    let worlds =
        (0..2_000).map(|seed| Scenario { seed: format!("f{seed}"), ..Scenario::new(program(3)) });
    let mut mended = worlds.filter(|scenario| {
        let starts = quiet(scenario).starts;
        let tried = |id: &str| starts.contains_key(id);
        tried("/a#1@2/shell:x#1") && !tried("/shell:rescue#1") && tried("/shell:z#1")
    });
    let scenario = mended.next().expect("in some world the second attempt works");
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let rebased = switched(&log, &program(1)).expect("it can be switched");
    assert!(!asks_for(&rebased, "shell:rescue"), "{:?}", rebased.notices);
}

#[test]
fn a_body_that_has_become_tied_stops_the_switch() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let tied = seq([step("a", seq([shell("x"), pure("p")])), shell("z")]);
    let refused = switched(&log, &tied);
    assert!(matches!(refused, Err(RebaseError::Tied { .. })), "{refused:?}");
}

#[test]
fn a_cancelled_body_has_not_finished() {
    // The loser of a race: its new text is executed, and cancelled like the old one.
    let loser = |last: Node| own("slow", 1, seq([sleep("s", 50), last]));
    let program = |last| seq([phase("r", race([sleep("q", 1), loser(last)])), shell("z")]);
    let scenario = lucky(program(pure("p")));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let rebased = switched(&log, &program(pure("q"))).expect("it can be switched");
    assert!(!records(&rebased).iter().any(|record| matches!(&record.entry, Entry::BodyKept(kept) if kept.step.as_str().contains("slow"))));
}

#[test]
fn a_log_without_causes_is_executed_and_not_played() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let mut log = until(&quiet(&scenario), ordered("/shell:z"));
    log.iter_mut().for_each(|record| record.by = None);
    let changed = seq([own("a", 1, seq([shell("x"), pure("more")])), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    assert!(asks_for(&rebased, "pure-more"));
}

#[test]
fn a_finished_step_that_is_gone_is_told_of() {
    let scenario = lucky(seq([own("a", 1, set("k", 1)), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    let rebased = switched(&log, &shell("z")).expect("it can be switched");
    let step = "/a#1".parse().expect("a path");
    assert_eq!(rebased.notices, [Notice::StepNotAsked { step }]);
}

#[test]
fn a_run_that_has_failed_already_can_be_moved_while_it_cleans_up() {
    let stalls = try_finally(phase("c", Node::Never), shell("cleanup"));
    let scenario = lucky(seq([shell("x"), stalls]));
    let log = until(&quiet(&scenario), ordered("cleanup"));
    assert!(log.iter().any(|record| matches!(record.entry, Entry::RunFailing { .. })));
    assert!(switched(&log, &scenario.program).is_ok());
}

#[test]
fn a_signal_for_a_played_and_another_wait_is_consumed_by_both_once() {
    let body = |last: &str| own("s", 1, seq([wait_for("ev0", 50), pure(last)]));
    let program = |last: &str| {
        let both = all([body(last), seq([wait_for("ev0", 50), shell("after")])]);
        seq([both, wait_for("ev0", 60), shell("z")])
    };
    let scenario = lucky(Scenario::new(program("p")).with_mail(3, "ev0").with_mail(30, "ev0"));
    let moved = Scenario { edit: Some(Rc::new(program("q"))), ..scenario.clone() };
    for at in 0..quiet(&scenario).points {
        let plan = Plan::one(at, Fault::Switch).and(at + 2, Fault::Switch);
        let report = Driver::new(&moved, &plan).run();
        assert_eq!(report.violations, Vec::<String>::new(), "{plan}");
        assert!(saw(&report, "answer /wait:ev0#2 \"m1\""), "{plan}: {:?}", outcome(&report));
    }
}

#[test]
fn an_open_operation_that_is_asked_for_with_something_else_is_begun_anew() {
    // The language has no other arguments for a command, so the log is given some.
    let scenario = lucky(seq([shell("x"), shell("slow")]));
    let mut log = until(&quiet(&scenario), ordered("/shell:slow"));
    for record in &mut log {
        if let Entry::OperationOrdered { operation, args, .. } = &mut record.entry
            && operation.as_str() == "/shell:slow#1"
        {
            *args = serde_json::json!({ "name": "slower" });
        }
    }
    let rebased = switched(&log, &scenario.program).expect("it can be switched");
    let operation = "/shell:slow#1".parse().expect("an operation");
    assert_eq!(rebased.notices, [Notice::Abandoned { operation }]);
    let tries = tries_of(&records(&rebased), "/shell:slow#1");
    assert_eq!(tries, [2]);
}
