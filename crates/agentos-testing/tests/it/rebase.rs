//! Recorded runs executed anew: forks, retries, and the switch to another source.

use std::rc::Rc;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record, RunOutcome};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::StepNumber;
use agentos_core::journal::Journal;
use agentos_core::rebase::{Keep, Notice, RebaseError, generation};
use agentos_core::time::Timestamp;
use agentos_testing::script::build::{
    all, approve, get, invoke, pure, race, retried, seq, set, shell, sleep, step, throw, try_catch,
    try_finally, wait, wait_for,
};
use agentos_testing::script::{Node, Script};
use agentos_testing::simulation::{Ending, Fork, Plan, Scenario};

use crate::support::{
    completes, ended, go_on, lucky, ordered, prefixes, quiet, saw, survives, switched, tries_of,
    until, worlds,
};

#[test]
fn a_switch_to_the_same_source_changes_nothing_at_any_position() {
    let mut entries = 0;
    for seed in 1..60 {
        let scenario = Scenario { turn_entries: 1_000, ..Scenario::generate(seed) };
        let report = quiet(&scenario);
        for log in prefixes(&report) {
            if log.iter().any(|record| matches!(record.entry, Entry::RunEnded { .. })) {
                continue;
            }
            let rebased = match switched(&log, &scenario.program) {
                Ok(rebased) => rebased,
                // It has done nothing yet, and fails with the first thing that it does.
                Err(RebaseError::Fails(_)) if log.len() == 1 => continue,
                Err(error) => panic!("seed {seed}: {error}"),
            };
            assert_eq!(rebased.notices, [], "seed {seed}");
            assert_eq!(rebased.steps.superseded, [], "seed {seed}");
            let new: Vec<Record> =
                rebased.chunks.into_iter().skip(1).flat_map(Chunk::into_records).collect();
            let facts = |log: &[Record]| -> Vec<(Timestamp, Entry)> {
                log.iter().skip(1).map(|record| (record.at, record.entry.clone())).collect()
            };
            let (old, mut new) = (facts(&log), facts(&new));
            let lives = new.pop_if(|(_, entry)| matches!(entry, Entry::RunRebased { .. }));
            assert_eq!(lives.is_some(), !rebased.standing.is_ended(), "seed {seed}");
            // Before its first turn the old log has nothing but its start.
            assert!(new.starts_with(&old), "seed {seed} of {}", log.len());
            assert!(
                new.len() == old.len() || log.len() == 1,
                "seed {seed}: {:?}",
                new.get(old.len())
            );
            entries += new.len();
        }
    }
    assert!(entries > 5_000, "{entries}");
}

#[test]
fn finished_work_is_not_repeated_when_something_new_comes_before_it() {
    let scenario = lucky(seq([step("a", shell("x")), step("b", shell("y")), shell("z")]));
    let log = until(&quiet(&scenario), ended("/b#1@1/shell:y"));
    let changed = seq([shell("lint"), step("a", shell("x")), step("b", shell("y")), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    let report = go_on(&scenario, &changed, &log, &rebased);
    completes(&report);
    assert!(report.starts.contains_key("/shell:lint#1"), "{:?}", report.starts);
    assert!(
        !report.starts.keys().any(|id| id.contains("shell:x") || id.contains("shell:y")),
        "{:?}",
        report.starts
    );
}

#[test]
fn what_finished_and_is_not_asked_for_is_a_notice() {
    let scenario = lucky(seq([shell("x"), shell("y"), shell("z")]));
    let log = until(&quiet(&scenario), ended("/shell:y"));
    let rebased = switched(&log, &seq([shell("x"), shell("z")])).expect("it can be switched");
    let not_asked = |notice: &Notice| matches!(notice, Notice::NotAsked { operation } if operation.as_str() == "/shell:y#1");
    assert!(rebased.notices.iter().any(not_asked), "{:?}", rebased.notices);
}

#[test]
fn what_is_open_and_not_asked_for_is_stopped_before_the_run_ends() {
    let scenario = lucky(seq([shell("x"), shell("slow"), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:slow"));
    let changed = seq([shell("x"), pure("p")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    assert!(
        rebased.notices.iter().any(|notice| matches!(notice, Notice::Abandoned { .. })),
        "{:?}",
        rebased.notices
    );
    let report = go_on(&scenario, &changed, &log, &rebased);
    completes(&report);
    let kinds: Vec<&str> = report.log.iter().map(|record| record.entry.kind()).collect();
    let (dead, end) = (
        kinds
            .iter()
            .position(|kind| *kind == "operation.abandoned_ended")
            .expect("it is proven dead"),
        kinds.iter().position(|kind| *kind == "run.ended").expect("the run ends"),
    );
    assert!(dead < end);
}

#[test]
fn what_was_abandoned_and_is_asked_for_again_is_another_try() {
    let scenario = lucky(seq([shell("slow"), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:slow"));
    let changed = seq([sleep("first", 5), shell("slow"), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    let report = go_on(&scenario, &changed, &log, &rebased);
    completes(&report);
    let tries = tries_of(generation(&report.log), "/shell:slow#1");
    assert_eq!(tries, [2]);
}

#[test]
fn a_name_that_stands_for_another_kind_stops_the_switch() {
    let scenario = lucky(seq([shell("x"), shell("y")]));
    let log = until(&quiet(&scenario), ended("/shell:x"));
    let changed = seq([Node::Artifact { name: "x".into() }, shell("y")]);
    let error = switched(&log, &changed).expect_err("it must not be switched");
    assert_eq!(
        error.to_string(),
        "`/shell:x#1` is recorded, but the workflow now asks for `/artifact:x#1` in its place; give it another name"
    );
}

#[test]
fn a_switch_after_a_switch_keeps_what_the_first_one_kept() {
    let scenario = lucky(seq([shell("x"), shell("y"), shell("z")]));
    let log = until(&quiet(&scenario), ended("/shell:y"));
    let detour = seq([sleep("wait", 50), shell("x"), shell("y"), shell("z")]);
    let rebased = switched(&log, &detour).expect("it can be switched");
    let mut whole = log;
    whole.extend(rebased.chunks.into_iter().flat_map(Chunk::into_records));
    let back = seq([shell("x"), shell("y"), shell("z")]);
    let rebased = switched(&whole, &back).expect("it can be switched back");
    let report = go_on(&scenario, &back, &whole, &rebased);
    completes(&report);
    assert_eq!(report.starts.keys().collect::<Vec<_>>(), ["/shell:z#1"]);
}

#[test]
fn a_retry_repeats_nothing_that_had_finished() {
    let work = all([
        seq([shell("x"), shell("y")]),
        seq([sleep("s", 9), retried("bad", 2, seq([shell("in"), throw()]))]),
    ]);
    let scenario = lucky(seq([step("first", shell("w")), work]));
    let failed = quiet(&scenario);
    assert!(
        matches!(&failed.ending, Ending::Ended(RunOutcome::Failed { .. })),
        "{:?}",
        failed.ending
    );
    let retry = Fork::new(&scenario, &failed.log, Keep::Finished).expect("it failed");
    let report = retry.run(&scenario, &Plan::quiet());
    let started: Vec<&String> = report.starts.keys().collect();
    assert_eq!(
        started,
        ["/bad#1@1/shell:in#1", "/bad#1@2/shell:in#1"],
        "only the failed step is done again"
    );
}

#[test]
fn a_cancelled_run_can_be_retried_where_it_was() {
    let scenario = lucky(seq([shell("x"), sleep("s", 40), shell("y")])).with_mail(20, "cancel");
    let cancelled = quiet(&scenario);
    let retry = Fork::new(&scenario, &cancelled.log, Keep::Finished).expect("it was cancelled");
    let report = retry.run(&scenario, &Plan::quiet());
    completes(&report);
    assert_eq!(report.starts.keys().collect::<Vec<_>>(), ["/shell:y#1"]);
}

#[test]
fn a_run_that_did_not_fail_has_nothing_to_retry() {
    let scenario = lucky(shell("x"));
    let error = Fork::new(&scenario, &quiet(&scenario).log, Keep::Finished).err();
    assert_eq!(error, Some(RebaseError::NotFailed));
    let nowhere =
        Fork::new(&scenario, &quiet(&scenario).log, Keep::BeforeStep(StepNumber(9))).err();
    assert_eq!(nowhere, Some(RebaseError::NoSuchStep(StepNumber(9))));
}

#[test]
fn a_fork_keeps_the_answers_of_what_was_asked_for_before_its_step() {
    let program = seq([all([step("a", shell("x")), step("b", shell("y"))]), step("c", shell("z"))]);
    for scenario in worlds(&Scenario::new(try_finally(program, pure("p")))) {
        survives(&scenario);
    }
    let scenario =
        lucky(seq([all([step("a", shell("x")), step("b", shell("y"))]), step("c", shell("z"))]));
    let recorded = quiet(&scenario);
    for (cut, expected) in [(1, 3), (2, 3), (3, 1)] {
        let fork =
            Fork::new(&scenario, &recorded.log, Keep::BeforeStep(StepNumber(cut))).expect("a fork");
        let report = fork.run(&scenario, &Plan::quiet());
        completes(&report);
        assert_eq!(report.starts.len(), expected, "before step {cut}: {:?}", report.starts);
    }
}

#[test]
fn a_fork_of_a_fork_keeps_what_both_kept() {
    let scenario = lucky(seq(["t", "u", "v", "w"].map(|name| step(name, shell(name)))));
    let recorded = quiet(&scenario);
    let fork =
        Fork::new(&scenario, &recorded.log, Keep::BeforeStep(StepNumber(3))).expect("a fork");
    let first = fork.run(&scenario, &Plan::quiet());
    completes(&first);
    let again =
        Fork::new(&scenario, &first.log, Keep::BeforeStep(StepNumber(4))).expect("a fork of it");
    let second = again.run(&scenario, &Plan::quiet());
    completes(&second);
    assert_eq!(second.starts.keys().collect::<Vec<_>>(), ["/w#1@1/shell:w#1"]);
}

#[test]
fn a_fork_remembers_signals_and_state_and_children() {
    let program = seq([
        wait_for("go", 9),
        set("x", 3),
        step("a", race([sleep("s", 1), invoke("child")])),
        invoke("child"),
        step("b", seq([get("x"), shell("y")])),
    ]);
    let scenario = Scenario::new(program).with_child("child", sleep("s", 2)).with_mail(2, "go");
    let scenario = lucky(scenario);
    let recorded = quiet(&scenario);
    completes(&recorded);
    let last = generation(&recorded.log).iter().rev().find_map(|record| match &record.entry {
        Entry::StepRequested { number, .. } => *number,
        _ => None,
    });
    let fork = Fork::new(&scenario, &recorded.log, Keep::BeforeStep(last.expect("a step")))
        .expect("a fork");
    let report = fork.run(&scenario, &Plan::quiet());
    completes(&report);
    assert_eq!(report.starts.keys().collect::<Vec<_>>(), ["/b#1@1/shell:y#1"]);
    assert!(saw(&report, "answer /wait:go#1 \"m0\"") && saw(&report, "get x=Some"));
}

#[test]
fn a_rebased_log_is_a_log_like_any_other() {
    for seed in 1..40 {
        let scenario = Scenario { turn_entries: 1_000, ..Scenario::generate(seed) };
        let report = quiet(&scenario);
        for number in (1..4).map(StepNumber) {
            let Ok(fork) = Fork::new(&scenario, &report.log, Keep::BeforeStep(number)) else {
                continue;
            };
            let first = Record::new(agentos_core::id::Seq(0), Timestamp(0), fork.first.clone());
            let log = std::iter::once(first)
                .chain(fork.history.rest.iter().cloned().flat_map(Chunk::into_records));
            let journal = Journal::fold(log).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let program = Script::new(Rc::clone(&scenario.program));
            let (_, turn) =
                Execution::replay(program, journal, Options::default(), Timestamp(fork.at))
                    .unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert!(turn.is_empty(), "seed {seed}: {:?}", turn.chunk.entries);
        }
    }
}

#[test]
fn a_switch_after_what_the_first_one_left_behind_has_died_goes_on() {
    let scenario = lucky(seq([shell("x"), shell("slow")]));
    let log = until(&quiet(&scenario), ordered("/shell:slow"));
    let waiting = seq([shell("x"), sleep("long", 500)]);
    let rebased = switched(&log, &waiting).expect("it can be switched");
    let first = go_on(&scenario, &waiting, &log, &rebased);
    completes(&first);
    let dead = |entry: &Entry| matches!(entry, Entry::AbandonedEnded { .. });
    let log = until(&first, dead);
    let shorter = seq([shell("x"), pure("p")]);
    let rebased = switched(&log, &shorter).expect("it can be switched again");
    completes(&go_on(&scenario, &shorter, &log, &rebased));
}

#[test]
fn a_signal_that_was_consumed_is_not_consumed_again_under_another_source() {
    let scenario = lucky(Scenario::new(seq([wait("go"), shell("x")])).with_mail(2, "go"));
    let log = until(&quiet(&scenario), ordered("/shell:x"));
    let twice = seq([shell("lint"), wait("go"), shell("x"), wait("go"), shell("deploy")]);
    let rebased = switched(&log, &twice).expect("it can be switched");
    let alone = Scenario { mail: Vec::new(), ..scenario };
    let report = go_on(&alone, &twice, &log, &rebased);
    assert_eq!(report.ending, Ending::Parked, "the second wait waits for a second signal");
    assert!(!report.starts.contains_key("/shell:deploy#1"));
}

#[test]
fn a_decision_is_kept_as_it_was_made() {
    let scenario =
        lucky(Scenario::new(seq([approve("a", 0), shell("x")])).with_mail(2, "/approve:a#1"));
    let log = until(&quiet(&scenario), ordered("/shell:x"));
    let later = seq([shell("lint"), approve("a", 0), shell("x")]);
    let rebased = switched(&log, &later).expect("it can be switched");
    let report = go_on(&scenario, &later, &log, &rebased);
    completes(&report);
    assert!(saw(&report, "answer /approve:a#1 {\"approved\":"), "{:#?}", report.trace);
}

#[test]
fn a_failure_that_the_workflow_wrapped_can_be_retried() {
    let wrapped = try_catch(
        step("a", seq([shell("in"), throw()])),
        Node::Throw { retryable: false },
        pure("p"),
    );
    let scenario = lucky(seq([shell("x"), wrapped]));
    let failed = quiet(&scenario);
    let retry = Fork::new(&scenario, &failed.log, Keep::Finished).expect("it failed");
    let report = retry.run(&scenario, &Plan::quiet());
    assert_eq!(report.starts.keys().collect::<Vec<_>>(), ["/a#1@1/shell:in#1"]);
}

#[test]
fn steps_that_failed_alike_at_once_are_all_done_again() {
    let same = |name| step(name, seq([sleep("s", 3), shell(name), throw()]));
    let scenario = lucky(all([same("a"), same("b")]));
    let failed = quiet(&scenario);
    assert!(
        matches!(&failed.ending, Ending::Ended(RunOutcome::Failed { .. })),
        "{:?}",
        failed.ending
    );
    let retry = Fork::new(&scenario, &failed.log, Keep::Finished).expect("it failed");
    let report = retry.run(&scenario, &Plan::quiet());
    assert!(!report.starts.is_empty(), "nothing was done again");
}
