//! Finished steps whose bodies say something else now: they are played, not executed.

use agentos_core::entry::{Entry, Record, StepOutcome};
use agentos_core::rebase::generation;
use agentos_testing::script::Node;
use agentos_testing::script::build::{
    all, get, own, pure, seq, set, shell, sleep, step, throw, try_finally, wait_for,
};
use agentos_testing::simulation::{Driver, Fault, Plan, Report, Scenario};

use crate::support::{completes, ended, lucky, ordered, quiet, saw, switched, until};

/// The run, moved to another program at each point of its way, as far as it can be.
fn moved_anywhere(scenario: &Scenario, program: &Node) -> Vec<Report> {
    let points = quiet(scenario).points;
    let moved = Scenario { edit: Some(std::rc::Rc::new(program.clone())), ..scenario.clone() };
    let reports = (0..points).map(|at| Driver::new(&moved, &Plan::one(at, Fault::Switch)).run());
    reports.filter(|report| report.refusals.is_empty()).collect()
}

fn outcomes(log: &[Record], name: &str) -> Vec<StepOutcome> {
    let ends = generation(log).iter().filter_map(|record| match &record.entry {
        Entry::StepEnded { step, outcome } if step.as_str() == name => Some(outcome.clone()),
        _ => None,
    });
    ends.collect()
}

#[test]
fn a_changed_body_that_had_finished_is_not_executed() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let recorded = quiet(&scenario);
    let log = until(&recorded, ordered("/shell:z"));
    let changed = seq([own("a", 1, seq([shell("x"), shell("more")])), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    let whole: Vec<Record> = log
        .iter()
        .cloned()
        .chain(rebased.chunks.into_iter().flat_map(agentos_core::codec::Chunk::into_records))
        .collect();
    assert_eq!(outcomes(&whole, "/a#1"), outcomes(&recorded.log, "/a#1"));
    assert!(!whole.iter().any(|record| ordered("shell:more")(&record.entry)));
    assert_eq!(rebased.notices, []);
}

#[test]
fn a_changed_body_that_had_not_finished_is_executed() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/a#1@1/shell:x"));
    let changed = seq([own("a", 1, all([shell("x"), shell("more")])), shell("z")]);
    let rebased = switched(&log, &changed).expect("it can be switched");
    let mut entries = rebased.chunks.iter().flat_map(|chunk| &chunk.entries);
    assert!(entries.any(|entry| ordered("shell:more")(entry)));
}

#[test]
fn what_a_played_body_wrote_is_read_when_it_was_written() {
    // The reader looks before, between and after the writes of its neighbour.
    let writer =
        |last| own("w", 1, seq([sleep("s", 3), set("k", 1), sleep("s", 3), set("k", last)]));
    let reader =
        seq([get("k"), sleep("t", 4), get("k"), sleep("t", 4), get("k"), shell("late"), get("k")]);
    let scenario = lucky(all([writer(2), reader.clone()]));
    let recorded = quiet(&scenario);
    let reads = |report: &Report| -> Vec<String> {
        report.trace.iter().filter(|event| event.starts_with("get")).cloned().collect()
    };
    assert_eq!(reads(&recorded).len(), 4);
    let mut played = 0;
    for report in moved_anywhere(&scenario, &all([writer(3), reader])) {
        completes(&report);
        if report.log.iter().any(|record| matches!(record.entry, Entry::BodyKept(_))) {
            assert_eq!(reads(&report), reads(&recorded));
            played += 1;
        }
    }
    assert!(played > 0, "no switch came after the writer's end");
}

#[test]
fn what_a_played_body_consumed_stays_consumed() {
    let listener = |last: Node| own("l", 1, seq([wait_for("ev0", 50), last]));
    let program = |last| seq([listener(last), shell("between"), wait_for("ev0", 50)]);
    let scenario =
        lucky(Scenario::new(program(pure("p"))).with_mail(2, "ev0").with_mail(20, "ev0"));
    let mut played = 0;
    for report in moved_anywhere(&scenario, &program(pure("q"))) {
        completes(&report);
        played +=
            usize::from(report.log.iter().any(|record| matches!(record.entry, Entry::BodyKept(_))));
        assert!(saw(&report, "answer /wait:ev0#1 \"m1\""), "{:#?}", report.trace);
    }
    assert!(played > 0, "no switch came after the listener's end");
}

#[test]
fn a_changed_body_that_others_can_see_stops_the_switch_with_its_line() {
    let scenario = lucky(seq([step("a", shell("x")), shell("z")]));
    let log = until(&quiet(&scenario), ordered("/shell:z"));
    for changed in [step("a", seq([shell("x"), pure("p")])), own("a", 1, pure("p"))] {
        let error = switched(&log, &seq([changed, shell("z")]));
        assert_eq!(
            error.expect_err("it must not be switched").to_string(),
            "the body of the finished step `/a#1` has changed, but it writes variables of the code around it or uses \
             that code's ctx (script:shell x); undo the change, or fork the run from before this step"
        );
    }
    // As long as it has not finished, nobody has seen anything.
    let log = until(&quiet(&scenario), ordered("/a#1@1/shell:x"));
    let changed = seq([step("a", seq([shell("x"), pure("p")])), shell("z")]);
    assert!(switched(&log, &changed).is_ok());
}

#[test]
fn a_played_body_fails_and_is_tried_again_as_it_was() {
    let body = |last| own("a", 2, seq([shell("x"), last]));
    let program = |last| seq([try_finally(body(last), pure("p")), shell("z")]);
    let scenario = lucky(program(throw()));
    let recorded = quiet(&scenario);
    let log = until(&recorded, ordered("/shell:z"));
    let rebased = switched(&log, &program(pure("q"))).expect("it can be switched");
    let kinds = |entries: &mut dyn Iterator<Item = &Entry>| -> Vec<&'static str> {
        let kinds = entries.map(Entry::kind);
        kinds
            .filter(|kind| !matches!(*kind, "body.kept" | "run.rebased" | "source.switched"))
            .collect()
    };
    assert_eq!(
        kinds(&mut rebased.chunks.iter().flat_map(|chunk| &chunk.entries)),
        kinds(&mut log.iter().map(|record| &record.entry))
    );
}

#[test]
fn a_change_that_is_taken_back_is_executed_again() {
    let scenario = lucky(seq([own("a", 1, shell("x")), shell("z")]));
    let mut log = until(&quiet(&scenario), ordered("/shell:z"));
    let changed = seq([own("a", 1, seq([shell("x"), shell("more")])), shell("z")]);
    for (program, played) in [(&changed, true), (&*scenario.program, false), (&changed, true)] {
        let rebased = switched(&log, program).expect("it can be switched");
        log.extend(rebased.chunks.into_iter().flat_map(agentos_core::codec::Chunk::into_records));
        let plays =
            generation(&log).iter().any(|record| matches!(record.entry, Entry::BodyKept(_)));
        assert_eq!(plays, played, "{program}");
        assert!(!generation(&log).iter().any(|record| ordered("shell:more")(&record.entry)));
    }
}

#[test]
fn a_finished_step_keeps_its_outcome_when_its_policy_changes() {
    let program = |attempts| {
        seq([try_finally(own("a", attempts, seq([shell("x"), throw()])), pure("p")), shell("z")])
    };
    let scenario = lucky(program(3));
    let recorded = quiet(&scenario);
    let log = until(&recorded, ordered("/shell:z"));
    let rebased = switched(&log, &program(1)).expect("it can be switched");
    let entries: Vec<&Entry> = rebased.chunks.iter().flat_map(|chunk| &chunk.entries).collect();
    assert!(entries.iter().any(|entry| ended("/a#1@3/shell:x")(entry)), "all three attempts stay");
}
