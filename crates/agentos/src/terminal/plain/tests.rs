//! What plain lines say.

use agentos_core::turn::LogLevel;
use serde_json::json;

use super::super::fixture::{after, ended, failed, family, running, step};
use super::*;

fn told(before: Option<&FamilyView>, after: &FamilyView) -> String {
    changes(before, after, (Vec::new(), &[]), &TimeZone::UTC).join("\n")
}

#[test]
fn every_change_is_told_once() {
    let mut pending = family("ci-abcdef", vec![]);
    pending.run.run.started_at = None;
    let began = family("ci-abcdef", vec![running(step(1, "/build#1"), 500), step(2, "/test#1")]);
    let mut retrying = failed(running(step(2, "/test#1"), 1_500), "3 tests failed\nof 120");
    retrying.status = StepStatus::Retrying;
    retrying.updated_at = after(3_000);
    let mut again = running(step(2, "/test#1"), 1_500);
    again.attempt_number = 2;
    again.updated_at = after(4_000);
    let built = || ended(step(1, "/build#1"), StepStatus::Completed, (500, 1_400));
    let mut waits = family("ci-abcdef", vec![built(), retrying]);
    waits.run.run.waiting = Some(Waiting::new(WaitKind::Retry, after(3_000), Some(after(4_000))));
    let goes_on = family("ci-abcdef", vec![built(), again.clone()]);
    let mut over =
        family("ci-abcdef", vec![built(), ended(again, StepStatus::Completed, (1_500, 5_700))]);
    over.run.run.status = WorkflowStatus::Completed;
    over.run.run.completed_at = Some(after(5_800));
    over.run.run.duration = Some(5_800);
    let looks = [
        None,
        Some(&pending),
        Some(&began),
        Some(&waits),
        Some(&goes_on),
        Some(&over),
        Some(&over),
    ];
    let all: Vec<String> = looks
        .windows(2)
        .flat_map(|pair| changes(pair[0], pair[1].unwrap(), (Vec::new(), &[]), &TimeZone::UTC))
        .collect();
    insta::assert_snapshot!(all.join("\n"), @r#"
        12:03:05 ci-abcdef  started
        12:03:05 ci-abcdef  step 1 build: started
        12:03:06 ci-abcdef  step 1 build: completed in 900 ms
        12:03:06 ci-abcdef  step 2 test: started
        12:03:08 ci-abcdef  step 2 test: failed: 3 tests failed of 120; next attempt in 1 s
        12:03:09 ci-abcdef  step 2 test: started (attempt 2/3)
        12:03:10 ci-abcdef  step 2 test: completed in 4.2 s
        12:03:10 ci-abcdef  completed in 5.8 s
        "#);
}

#[test]
fn what_began_and_ended_between_two_looks_is_told_in_order() {
    let over = family(
        "ci-abcdef",
        vec![
            ended(step(1, "/slow#1"), StepStatus::Completed, (0, 9_000)),
            ended(step(2, "/fast#1"), StepStatus::Cancelled, (1_000, 2_000)),
            failed(ended(step(3, "/bad#1"), StepStatus::Failed, (1_500, 8_000)), "no \x1b[2Jdisk"),
        ],
    );
    insta::assert_snapshot!(told(None, &over), @r#"
        12:03:05 ci-abcdef  started
        12:03:05 ci-abcdef  step 1 slow: started
        12:03:06 ci-abcdef  step 2 fast: started
        12:03:06 ci-abcdef  step 3 bad: started
        12:03:07 ci-abcdef  step 2 fast: cancelled
        12:03:13 ci-abcdef  step 3 bad: failed after 6.5 s: no ?[2Jdisk
        12:03:14 ci-abcdef  step 1 slow: completed in 9.0 s
        "#);
}

#[test]
fn a_wait_is_told_with_its_question() {
    let mut question = running(step(1, "/approve:00ff#1"), 0);
    let diff = json!({ "files_changed": 1, "insertions": 2, "deletions": 0 });
    question.input = Some(json!({ "question": "Deploy?", "diff": diff }));
    let before = family("release-abcdef", vec![question.clone()]);
    let mut asks = family("release-abcdef", vec![question]);
    asks.run.run.waiting = Some(Waiting::new(WaitKind::Approval, after(0), Some(after(7_200_000))));
    assert_eq!(
        told(Some(&before), &asks),
        "12:03:05 release-abcdef  waits for approval: Deploy? [1 file changed, +2 -0] (for 2 h at most)"
    );
    assert_eq!(told(Some(&asks), &asks), "");
}

#[test]
fn children_and_interruptions_are_told() {
    let mut skipped = ended(step(1, "/lint#1"), StepStatus::Skipped, (1_000, 1_000));
    skipped.output = Some(json!({ "skipped": "nothing changed" }));
    let before = family("ci-abcdef", vec![]);
    let mut after = family("ci-abcdef", vec![]);
    after.run.run.interrupted = true;
    after.children = vec![family("lint-ghijkl", vec![skipped])];
    after.children[0].run.run.status = WorkflowStatus::TimedOut;
    after.children[0].run.run.completed_at = Some(super::super::fixture::after(2_000));
    insta::assert_snapshot!(told(Some(&before), &after), @r#"
        12:03:05 ci-abcdef  interrupted; it continues with `agentos resume`
        12:03:05 lint-ghijkl  started
        12:03:06 lint-ghijkl  step 1 lint: started
        12:03:06 lint-ghijkl  step 1 lint: skipped: nothing changed
        12:03:07 lint-ghijkl  timed out after 0 ms
        "#);
    assert_eq!(told(Some(&after), &before), "12:03:05 ci-abcdef  resumed");
}

#[test]
fn a_step_that_begins_anew_under_another_source_is_told_again() {
    let old = family("ci-abcdef", vec![ended(step(1, "/a#1"), StepStatus::Completed, (0, 1_000))]);
    let new = family("ci-abcdef", vec![running(step(1, "/a#1"), 5_000)]);
    assert_eq!(told(Some(&old), &new), "12:03:10 ci-abcdef  step 1 a: started");
}

#[test]
fn what_a_run_says_is_told_by_its_name_and_before_its_end() {
    let mut view = family("ci-abcdef", vec![running(step(1, "/build#1"), 500)]);
    let child = RunId(uuid::Uuid::from_u128(7));
    let mut greeting = family("greet-abcdef", vec![]);
    greeting.run.run.id = child;
    greeting.run.run.status = WorkflowStatus::Completed;
    greeting.run.run.completed_at = Some(after(1_000));
    view.children = vec![greeting];
    let (level, message) = (LogLevel::Info, "hello\nthere".to_owned());
    let line = Said { at: after(1_000), run: child, level, message };
    let told = changes(None, &view, (Vec::new(), &[line]), &TimeZone::UTC).join("\n");
    insta::assert_snapshot!(told, @r"
    12:03:05 ci-abcdef  started
    12:03:05 greet-abcdef  started
    12:03:05 ci-abcdef  step 1 build: started
    12:03:06 greet-abcdef  info: hello there
    12:03:06 greet-abcdef  completed in 0 ms
    ");
}

/// What is told of looks at a run, each at a moment: what it waits for room for, if it does.
fn told_of_room(looks: &[(i64, Option<&str>)]) -> String {
    let mut lines = PlainLines::default();
    let mut told = Vec::new();
    for (at, why) in looks {
        let mut view = family("ci-abcdef", vec![]);
        let waiting = Waiting::new(WaitKind::Disk, after(0), Some(after(at + 5_000)));
        view.run.run.waiting =
            why.map(|why| Waiting { why: Some(why.to_owned()), ..waiting.clone() });
        told.extend(lines.changes(view, (after(*at), &TimeZone::UTC)));
    }
    told.join("\n")
}

#[test]
fn a_wait_for_room_is_told_when_it_begins_and_ends_however_often_it_is_tried_again() {
    let record = Some("there is no room on the disk for the record of a command");
    let (tried, over) = ([5_000, 10_000], [(15_100, None), (15_300, None), (19_000, None)]);
    let tries = tried.map(|at| [(at, None), (at + 300, record)]);
    let looks = [&[(0, record)], tries.as_flattened(), &over[..]].concat();
    insta::assert_snapshot!(told_of_room(&looks), @r"
    12:03:05 ci-abcdef  waits for room on the disk: there is no room on the disk for the record of a command
    12:03:05 ci-abcdef  started
    12:03:20 ci-abcdef  goes on: there is room on the disk
    ");
}

#[test]
fn a_wait_for_room_is_told_again_when_its_numbers_are_others() {
    let why = |free: &str| format!("a workspace takes 3.2 GB, and {free} are free");
    let (one, near, far) = (why("1.10 GB"), why("1.05 GB"), why("0.4 GB"));
    let looks = [(0, &one), (5_000, &near), (10_000, &far), (15_000, &far)];
    let looks = looks.map(|(at, why)| (at, Some(why.as_str())));
    insta::assert_snapshot!(told_of_room(&looks), @r"
    12:03:05 ci-abcdef  waits for room on the disk: a workspace takes 3.2 GB, and 1.10 GB are free
    12:03:05 ci-abcdef  started
    12:03:15 ci-abcdef  waits for room on the disk: a workspace takes 3.2 GB, and 0.4 GB are free
    ");
}

#[test]
fn a_wait_for_a_killed_tool_is_told_once_however_often_it_is_tried_again() {
    let mut lines = PlainLines::default();
    let mut told = Vec::new();
    let killed = |said: &str| Some(format!("`git commit` was ended by signal 9; {said}"));
    let looks = [
        (0, 0, killed("one")),
        (5_000, 0, None),
        (9_000, 0, killed("two")),
        (14_000, 0, None),
        (18_000, 0, killed("three")),
        (30_000, 30_000, killed("of the next commit")),
        (35_000, 30_000, killed("four")),
    ];
    for (at, since, why) in looks {
        let mut view = family("ci-abcdef", vec![]);
        let waiting = Waiting::new(WaitKind::Retry, after(since), Some(after(at + 5_000)));
        view.run.run.waiting = why.map(|why| Waiting { why: Some(why), ..waiting });
        told.extend(lines.changes(view, (after(at), &TimeZone::UTC)));
    }
    insta::assert_snapshot!(told.join("\n"), @r"
    12:03:05 ci-abcdef  waits to try again: `git commit` was ended by signal 9; one
    12:03:05 ci-abcdef  started
    12:03:35 ci-abcdef  waits to try again: `git commit` was ended by signal 9; of the next commit
    ");
}

#[test]
fn a_run_that_ends_waits_no_longer_for_room() {
    let mut lines = PlainLines::default();
    let mut waits = family("ci-abcdef", vec![]);
    waits.run.run.waiting = Some(Waiting::new(WaitKind::Disk, after(0), None));
    lines.changes(waits, (after(0), &TimeZone::UTC));
    let mut over = family("ci-abcdef", vec![]);
    over.run.run.status = WorkflowStatus::Completed;
    (over.run.run.completed_at, over.run.run.duration) = (Some(after(2_000)), Some(2_000));
    insta::assert_snapshot!(lines.changes(over, (after(2_100), &TimeZone::UTC)).join("\n"), @r"
    12:03:07 ci-abcdef  goes on: there is room on the disk
    12:03:07 ci-abcdef  completed in 2.0 s
    ");
}
