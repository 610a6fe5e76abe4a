//! What the tree shows.

use agentos_core::id::Try;
use agentos_store::projection::{SessionStatus, StepStatus, WaitKind, Waiting, WorkflowStatus};
use agentos_store::records::SessionRecord;
use serde_json::json;

use super::super::fixture::{
    COLORED_PAINT, after, ended, environment, failed, family, run_id, running, step,
};
use super::super::paint::ColorChoice;
use super::super::text::painted_width;
use super::*;

fn done(number: u32, path: &str) -> agentos_store::records::StepRecord {
    let start = i64::from(number) * 1_000;
    ended(step(number, path), StepStatus::Completed, (start, start + 850))
}

/// A run in the middle: phases, nesting, an earlier attempt, a retry, an approval.
fn in_the_middle() -> FamilyView {
    let mut test = failed(
        running(step(6, "/implement#1@2/test#1"), 190_000),
        "3 of 120 tests failed\nsee the log",
    );
    test.status = StepStatus::Retrying;
    let mut implement = running(step(3, "/~build#1@1/implement#1"), 5_000);
    implement.attempt_number = 2;
    test.path = "/~build#1@1/implement#1@2/test#1".into();
    let mut check = ended(step(2, "/check#1"), StepStatus::Skipped, (4_000, 4_001));
    check.output = Some(json!({ "skipped": "nothing to check" }));
    let mut view = family(
        "feature-abcdef",
        vec![
            done(1, "/plan#1"),
            check,
            implement,
            done(4, "/~build#1@1/implement#1@1/write#1"),
            done(5, "/~build#1@1/implement#1@2/write#1"),
            test,
            step(7, "/~build#1@1/docs#1"),
        ],
    );
    view.run.run.waiting =
        Some(Waiting::new(WaitKind::Retry, after(190_000), Some(after(249_000))));
    view.lines = vec!["compiling".into(), "running 120 tests".into()];
    view
}

fn frame(width: usize, height: usize) -> Frame {
    Frame { now: after(245_000), size: Some(Size { width, height }), paint: Paint::PLAIN }
}

/// The lines, which fit.
fn shown(view: &FamilyView, width: usize, height: usize) -> String {
    let lines = lines(view, &frame(width, height));
    assert!(lines.len() <= height.max(1), "{lines:#?}");
    assert!(lines.iter().all(|line| painted_width(line) <= width), "{lines:#?}");
    lines.join("\n")
}

#[test]
fn a_run_in_the_middle_says_where_it_stands() {
    insta::assert_snapshot!(shown(&in_the_middle(), 80, 24), @r#"
        feature-abcdef  RUNNING  4 m 05 s
          ✓ 1 plan  850 ms
          – 2 check  nothing to check
          build
            ● 3 implement  (attempt 2/3)  4 m 00 s
              ✓ 5 write  850 ms
              ↻ 6 test  55.0 s  next attempt in 4 s
                  3 of 120 tests failed see the log
            ○ 7 docs
        │ compiling
        │ running 120 tests
        "#);
}

#[test]
fn what_a_workflow_wants_to_be_known_stands_between_tree_and_log() {
    let mut view = in_the_middle();
    view.notes = vec!["the branch is only pushed".into()];
    let shown = shown(&view, 80, 24);
    let end = "○ 7 docs\nnote: the branch is only pushed\n│ compiling\n│ running 120 tests";
    assert!(shown.ends_with(end), "{shown}");
}

#[test]
fn a_narrow_terminal_cuts_lines_and_breaks_none() {
    insta::assert_snapshot!(shown(&in_the_middle(), 40, 24), @r#"
        feature-abcdef  RUNNING  4 m 05 s
          ✓ 1 plan  850 ms
          – 2 check  nothing to check
          build
            ● 3 implement  (attempt 2/3)  4 m 0…
              ✓ 5 write  850 ms
              ↻ 6 test  55.0 s  next attempt in…
                  3 of 120 tests failed see the…
            ○ 7 docs
        │ compiling
        │ running 120 tests
        "#);
    insta::assert_snapshot!(shown(&in_the_middle(), 20, 24), @r#"
        feature-abcdef  RUN…
          ✓ 1 plan  850 ms
          – 2 check  nothin…
          build
            ● 3 implement  …
              ✓ 5 write  85…
              ↻ 6 test  55.…
                3 of 120 te…
            ○ 7 docs
        │ compiling
        │ running 120 tests
        "#);
    assert_eq!(shown(&in_the_middle(), 1, 2), "…\n…");
}

#[test]
fn an_approval_is_asked_for_where_it_is_needed() {
    let mut question = running(step(2, "/approve:00ff#1"), 5_000);
    question.name = "approve: Deploy to production?".to_owned();
    question.input = Some(json!({ "question": "Deploy to production?" }));
    let mut view = family("release-abcdef", vec![done(1, "/build#1"), question]);
    view.run.run.waiting = Some(Waiting::new(WaitKind::Approval, after(5_000), None));
    insta::assert_snapshot!(shown(&view, 80, 24), @r#"
        release-abcdef  RUNNING  4 m 05 s
          ✓ 1 build  850 ms
          ● 2 approve: Deploy to production?  4 m 00 s  waits for approval since 4 m
        "#);
}

#[test]
fn a_failed_run_says_why() {
    let why = failed(ended(step(1, "/build#1"), StepStatus::Failed, (0, 4_200)), "cc: not found");
    let stopped = ended(step(2, "/lint#1"), StepStatus::Cancelled, (0, 4_200));
    let mut view = family("ci-abcdef", vec![why, stopped]);
    view.run.run.status = WorkflowStatus::Failed;
    view.run.run.completed_at = Some(after(4_300));
    view.run.run.duration = Some(4_300);
    view.run.run.error = Some(json!({ "kind": "error", "message": "build failed" }));
    insta::assert_snapshot!(shown(&view, 80, 24), @r#"
        ci-abcdef  FAILED  4.3 s
            build failed
          ✗ 1 build  4.2 s
              cc: not found
          ⊘ 2 lint  4.2 s
        "#);
}

#[test]
fn an_interrupted_run_says_so() {
    let mut view = family("ci-abcdef", vec![running(step(1, "/build#1"), 0)]);
    view.run.run.interrupted = true;
    view.run.run.updated_at = after(60_000);
    view.run.run.workflow = "continuous".into();
    insta::assert_snapshot!(shown(&view, 80, 24), @r#"
        ci-abcdef  continuous  RUNNING  1 m 00 s  interrupted
          ● 1 build  1 m 00 s
        "#);
}

#[test]
fn a_child_run_stands_below_the_step_that_invoked_it() {
    let child = |path: &str, short: &str| {
        let mut child = family(short, vec![running(step(1, "/read#1"), 1_000)]);
        child.run.run.id = run_id(1).child(&path.parse().unwrap(), Try(1));
        child
    };
    let path = "/invoke:review#1";
    let mut invoking = running(step(1, path), 0);
    invoking.name = "invoke: review".to_owned();
    let steps = vec![invoking, running(step(2, "/last#1"), 0)];
    let mut view = family("feature-abcdef", steps);
    view.children = vec![
        family("other-mnopqr", vec![]),
        child("/last#1@1/invoke:fix#2", "fix-stuvwx"),
        child(path, "review-ghijkl"),
    ];
    insta::assert_snapshot!(shown(&view, 80, 24), @r#"
        feature-abcdef  RUNNING  4 m 05 s
          ● 1 invoke: review  4 m 05 s
            review-ghijkl  RUNNING  4 m 05 s
              ● 1 read  4 m 04 s
          ● 2 last  4 m 05 s
            fix-stuvwx  RUNNING  4 m 05 s
              ● 1 read  4 m 04 s
          other-mnopqr  RUNNING  4 m 05 s
        "#);
}

#[test]
fn a_low_screen_folds_what_is_done_and_keeps_what_is_active() {
    let mut steps: Vec<_> =
        (1..=50).map(|number| done(number, &format!("/work#{number}"))).collect();
    steps[3] = running(step(4, "/work#4"), 4_000);
    steps[40] = failed(ended(step(41, "/work#41"), StepStatus::Failed, (0, 1)), "no");
    steps.push(step(51, "/work#51"));
    steps.push(step(52, "/work#52"));
    let mut view = family("many-abcdef", steps);
    view.lines = (1..=9).map(|number| format!("line {number}")).collect();
    insta::assert_snapshot!(shown(&view, 60, 16), @r#"
        many-abcdef  RUNNING  4 m 05 s
          … 3 steps done
          ●  4 work  4 m 01 s
          … 36 steps done
          ✗ 41 work  1 ms
              no
          … 6 steps done
          ✓ 48 work  850 ms
          ✓ 49 work  850 ms
          ✓ 50 work  850 ms
          ○ 51 work
          ○ 52 work
        │ line 6
        │ line 7
        │ line 8
        │ line 9
        "#);
    insta::assert_snapshot!(shown(&view, 60, 7), @r#"
        many-abcdef  RUNNING  4 m 05 s
          … 3 steps done
          ●  4 work  4 m 01 s
          … 36 steps done
          ✗ 41 work  1 ms
          … 11 steps more
        │ line 9
        "#);
    insta::assert_snapshot!(shown(&view, 60, 3), @r#"
        many-abcdef  RUNNING  4 m 05 s
          ●  4 work  4 m 01 s
          … 51 steps more
        "#);
    assert!(shown(&view, 60, 1).starts_with("many-abcdef  RUNNING"));
}

#[test]
fn a_screen_of_any_height_is_never_exceeded() {
    let mut view = in_the_middle();
    view.children = vec![in_the_middle(), family("child-abcdef", vec![done(1, "/a#1")])];
    for height in 1..32 {
        for width in [1, 2, 3, 7, 20, 80] {
            let text = shown(&view, width, height);
            let is_seen = |number: &str| text.contains(&format!("● {number} implement"));
            assert!(width < 20 || height < 5 || is_seen("3"), "{text}");
        }
    }
}

#[test]
fn a_thousand_active_steps_are_counted() {
    let steps =
        (1..=1_000).map(|number| running(step(number, &format!("/work#{number}")), 0)).collect();
    insta::assert_snapshot!(shown(&family("wide-abcdef", steps), 60, 4), @r#"
        wide-abcdef  RUNNING  4 m 05 s
          ●    1 work  4 m 05 s
          ●    2 work  4 m 05 s
          … 998 steps more
        "#);
}

#[test]
fn no_name_and_no_message_reaches_the_terminal_as_a_command() {
    let mut bad = failed(ended(step(1, "/x#1"), StepStatus::Failed, (0, 1)), "a\x1b[2Jb\u{9b}31mc");
    bad.name = "\x1b]0;owned\x07\n\u{202e}name".into();
    let mut view = family("bad-abcdef", vec![bad]);
    view.lines = vec!["\x1b[?1049h".into()];
    insta::assert_snapshot!(shown(&view, 80, 24), @r#"
        bad-abcdef  RUNNING  4 m 05 s
          ✗ 1 ?]0;owned? ?name  1 ms
              a?[2Jb?31mc
        │ ?[?1049h
        "#);
}

#[test]
fn a_terminal_without_unicode_gets_ascii() {
    let paint = Paint::decide(ColorChoice::Never, &environment(&[("LANG", "C")]), true);
    let frame = Frame { paint, ..frame(30, 9) };
    insta::assert_snapshot!(lines(&in_the_middle(), &frame).join("\n"), @r#"
        feature-abcdef  RUNNING  4 ...
          ... 2 steps done
          build
            * 3 implement  (attempt...
              ... 1 step done
              ~ 6 test  55.0 s  nex...
            ... 1 step pending
        | compiling
        | running 120 tests
        "#);
}

#[test]
fn colours_do_not_change_the_text() {
    let colored = lines(&in_the_middle(), &Frame { paint: *COLORED_PAINT, ..frame(80, 24) });
    let mut text = colored.join("\n");
    assert!(text.contains("\x1b[32m✓\x1b[0m"));
    for codes in ["0", "1", "2", "31", "32", "33", "36"] {
        text = text.replace(&format!("\x1b[{codes}m"), "");
    }
    assert_eq!(text, shown(&in_the_middle(), 80, 24));
}

#[test]
fn without_a_screen_nothing_is_cut() {
    let steps = (1..=200).map(|number| done(number, &format!("/work#{number}"))).collect();
    let lines = lines(&family("many-abcdef", steps), &Frame { size: None, ..frame(1, 1) });
    assert_eq!(lines.len(), 201);
}

#[test]
fn sessions_of_agents_stand_below_their_steps() {
    let mut view =
        family("work-abcdef", vec![done(1, "/plan#1"), running(step(2, "/build#1"), 5_000)]);
    let plan = session(1, "plan", SessionStatus::Completed);
    let mut failed = session(2, "look", SessionStatus::Failed);
    failed.error = Some(json!({ "detail": { "exit_reason": "rate_limit" } }));
    let build = SessionRecord {
        input_tokens: None,
        output_tokens: None,
        cost_usd: None,
        ..session(2, "build", SessionStatus::Running)
    };
    view.run.agent_sessions = vec![plan, failed, build];
    let progress = json!({
        "session_id": "s-build", "tool": "Bash", "text": "x", "input_tokens": 1_234_567, "output_tokens": 12_345, "cost_usd": 1.5,
    });
    super::super::session::overlay(&mut view, &[("s-build".to_owned(), progress)].into());
    insta::assert_snapshot!(shown(&view, 80, 24), @r"
        work-abcdef  RUNNING  4 m 05 s
          ✓ 1 plan  850 ms
              claude plan  model-1  200 in, 50 out  $0.02
          ● 2 build  4 m 00 s
              claude look  model-1  200 in, 50 out  $0.02  rate_limit
              claude build  model-1  1.2M in, 12k out  $1.50  → Bash
        ");
}

fn session(step: u32, name: &str, status: SessionStatus) -> SessionRecord {
    SessionRecord {
        id: uuid::Uuid::nil(),
        workflow_step_id: Some(uuid::Uuid::from_u128(u128::from(step))),
        name: name.to_owned(),
        agent: Some("claude".to_owned()),
        model: Some("model-1".to_owned()),
        session_id: Some(format!("s-{name}")),
        status,
        session_file_path: None,
        input_tokens: Some(200),
        output_tokens: Some(50),
        cached_tokens: None,
        cost_usd: Some(0.0215),
        exit_code: None,
        error: None,
        started_at: Some(after(0)),
        completed_at: None,
        duration: None,
        inherited: false,
        superseded: false,
        created_at: after(0),
        updated_at: after(0),
    }
}
