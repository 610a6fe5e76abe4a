//! Pictures of the board, and what keys do to it.

use agentos_store::projection::{StepStatus, WaitKind, Waiting, WorkflowStatus};
use agentos_store::unified::UnifiedRun;
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::json;

use super::board::{Board, Detail, Mode, Order, Wish};
use super::draw::{Look, draw};
use crate::terminal::fixture::{START, after, ended, failed, family, run_id, running, step};
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::question::Question;
use crate::terminal::text::Line;

fn found(number: u128, short: &str, worktree: &str) -> UnifiedRun {
    let steps = vec![running(step(1, "/implement#1"), 0)];
    let mut run = family(short, steps).run.run;
    run.id = run_id(number);
    run.worktree_id = Some(worktree.to_owned());
    UnifiedRun {
        run,
        worktree: worktree.to_owned(),
        database: "/repo/.agentos/issue_workflow.db".into(),
    }
}

fn some_runs() -> Vec<UnifiedRun> {
    let mut asks = found(1, "ship-aaaaaa", "main");
    asks.run.waiting = Some(Waiting::new(WaitKind::Approval, START, None));
    let busy = found(2, "implement-bbbbbb", "feature-login");
    let mut done = found(3, "plan-cccccc", "main");
    done.run.status = WorkflowStatus::Completed;
    done.run.completed_at = Some(after(61_000));
    let mut broken = found(4, "review-dddddd", "feature-login");
    broken.run.status = WorkflowStatus::Failed;
    broken.run.completed_at = Some(after(9_000));
    let mut left = found(5, "test-eeeeee", "main");
    left.run.interrupted = true;
    vec![asks, busy, done, broken, left]
}

fn details() -> Detail {
    let steps = vec![
        ended(step(1, "/plan#1"), StepStatus::Completed, (0, 12_000)),
        failed(ended(step(2, "/test#1"), StepStatus::Failed, (12_000, 15_000)), "3 tests failed"),
        running(step(3, "/ask#1"), 15_000),
    ];
    let mut run = family("ship-aaaaaa", steps).run;
    run.run.branch_name = Some("agentos/ship-aaaaaa".to_owned());
    let questions = vec![Question::of(
        &json!({ "question": "Ship it?", "diff": { "files_changed": 1, "insertions": 3, "deletions": 1,
            "files": [{ "path": "src/main.rs", "insertions": 3, "deletions": 1 }] } }),
        "ask",
    )];
    let log = |text: &str| Line::of(Tone::Faint, "12:03:05 ").with(Tone::Plain, text);
    Detail {
        run,
        questions,
        log: vec![log("the plan is made"), log("testing"), log("waiting for you")],
    }
}

fn board() -> Board {
    let mut board = Board::default();
    board.put(some_runs(), 5, 0);
    board.detail = Some(details());
    board
}

fn seen(board: &Board, (width, height): (u16, u16)) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let look = Look { now: after(75_000), zone: TimeZone::UTC, paint: Paint::PLAIN };
    terminal.draw(|frame| draw(frame, board, &look)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = (0..height).map(|y| {
        let row: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        row.trim_end().to_owned()
    });
    rows.collect::<Vec<String>>().join("\n")
}

fn press(board: &mut Board, key: KeyCode) -> Wish {
    board.press(KeyEvent::new(key, KeyModifiers::NONE))
}

fn type_in(board: &mut Board, text: &str) {
    for letter in text.chars() {
        press(board, KeyCode::Char(letter));
    }
}

#[test]
fn a_wide_screen_shows_runs_steps_and_log() {
    insta::assert_snapshot!(seen(&board(), (120, 26)));
}

#[test]
fn a_narrow_screen_keeps_what_matters() {
    insta::assert_snapshot!(seen(&board(), (60, 22)));
}

#[test]
fn no_screen_is_too_small() {
    for size in [(1, 1), (3, 2), (10, 3), (20, 5), (40, 8), (300, 2), (2, 100)] {
        for mode in
            [Mode::Browse, Mode::Filter, Mode::Log(0), Mode::Cancel, Mode::Answer(0), Mode::Help]
        {
            let mut board = board();
            board.mode = mode;
            seen(&board, size);
        }
    }
    seen(&Board::default(), (80, 24));
}

#[test]
fn a_question_is_shown_with_what_was_changed() {
    let mut board = board();
    assert_eq!(press(&mut board, KeyCode::Char('a')), Wish::Nothing);
    insta::assert_snapshot!(seen(&board, (80, 24)));
    let answer = press(&mut board, KeyCode::Char('n'));
    let question = "Ship it?".to_owned();
    assert_eq!(answer, Wish::Answer { run: run_id(1), question, is_approved: false });
    assert_eq!(board.mode, Mode::Browse);
}

#[test]
fn a_run_is_cancelled_only_by_who_says_yes() {
    let mut board = board();
    press(&mut board, KeyCode::Char('c'));
    assert_eq!(board.mode, Mode::Cancel);
    assert_eq!(press(&mut board, KeyCode::Enter), Wish::Nothing);
    press(&mut board, KeyCode::Char('c'));
    assert_eq!(press(&mut board, KeyCode::Char('y')), Wish::Cancel(run_id(1)));
    press(&mut board, KeyCode::Down);
    press(&mut board, KeyCode::Down);
    press(&mut board, KeyCode::Char('c'));
    assert_eq!(board.mode, Mode::Browse, "it has ended");
}

#[test]
fn a_filter_narrows_the_list_and_the_selection_stays_on_it() {
    let mut board = board();
    press(&mut board, KeyCode::End);
    type_in(&mut board, "/login impl");
    let shown = |board: &Board| -> Vec<String> {
        board.shown().iter().map(|found| found.run.run_id.clone()).collect()
    };
    assert_eq!(shown(&board), ["implement-bbbbbb", "review-dddddd"]);
    press(&mut board, KeyCode::Enter);
    assert_eq!(board.position(), Some(0));
    assert_eq!(press(&mut board, KeyCode::Esc), Wish::Nothing, "it clears the filter first");
    assert_eq!(shown(&board).len(), 5);
    press(&mut board, KeyCode::Char('s'));
    assert_eq!(board.order, Order::Status);
    assert_eq!(shown(&board)[..2], ["test-eeeeee", "ship-aaaaaa"]);
    assert_eq!(press(&mut board, KeyCode::Esc), Wish::Quit);
}

#[test]
fn control_keys_are_no_letters_and_a_filter_begins_anew() {
    let mut board = board();
    let control = |letter: char| KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL);
    type_in(&mut board, "/login impl");
    board.press(control('x'));
    assert_eq!(board.filter, "login impl");
    board.press(control('w'));
    assert_eq!(board.filter, "login ");
    board.press(control('u'));
    assert_eq!(board.filter, "");
    type_in(&mut board, "gate");
    press(&mut board, KeyCode::Enter);
    type_in(&mut board, "/slow");
    assert_eq!(board.filter, "slow");
}

#[test]
fn what_is_selected_stays_so_while_runs_come_and_go() {
    let mut board = board();
    press(&mut board, KeyCode::Down);
    let mut runs = some_runs();
    runs.insert(0, found(9, "new-ffffff", "main"));
    board.put(runs.clone(), 6, 1);
    assert_eq!(board.selected().map(|found| found.run.id), Some(run_id(2)));
    runs.retain(|found| found.run.id != run_id(2));
    board.put(runs, 5, 1);
    assert_eq!(board.position(), Some(0));
    assert_eq!(press(&mut board, KeyCode::PageUp), Wish::Look);
    assert_eq!(board.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Wish::Quit);
}
