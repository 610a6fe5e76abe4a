//! Keeps the board right while others work, and the screen while the board changes.

use std::process::ExitCode;
use std::time::Duration;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::{Records as _, RunQuery};
use jiff::tz::TimeZone;

use super::board::{Board, Detail, Wish};
use super::deeds;
use super::draw::Look;
use super::screen::{Input, Screen};
use crate::commands::{approve, logs};
use crate::error::Result;
use crate::overview::Scope;
use crate::overview::live::LiveView;
use crate::session::Session;
use crate::signals::Signals;

/// How many runs are on the board.
const RUNS: usize = 500;

/// How many lines of a log can be scrolled through.
const LOG_LINES: usize = 1_000;

/// How often times move on, and worktrees are looked for.
const LOOK: Duration = Duration::from_millis(500);

/// The board is made anew at most so often; keys are heard at once.
const PAUSE: Duration = Duration::from_millis(100);

/// Shows everything until the person goes.
pub(crate) async fn run(session: &Session, scope: Scope) -> Result<ExitCode> {
    let mut view = LiveView::open(session, scope)?;
    let mut signals = Signals::listen()?;
    let mut board = Board::default();
    refresh(&view, &mut board).await?;
    let mut screen = Screen::take()?;
    let mut is_due = tokio::time::interval(PAUSE);
    loop {
        screen.show(&board, &look(session))?;
        let is_stale = tokio::select! {
            input = screen.input.recv() => match input {
                Some(Input::Key(key)) => match board.press(key) {
                    Wish::Quit => return Ok(ExitCode::SUCCESS),
                    Wish::Nothing => false,
                    Wish::Look => {
                        board.detail = detail(&view, &board).await;
                        false
                    }
                    wish => {
                        board.message = deeds::perform(session, wish).await;
                        true
                    }
                },
                Some(Input::Resized) => false,
                Some(Input::Closed) | None => return Ok(ExitCode::SUCCESS),
            },
            () = view.changed(LOOK) => {
                is_due.tick().await;
                true
            }
            _ = signals.next() => return Ok(ExitCode::SUCCESS),
        };
        if is_stale {
            view.look_around(session)?;
            refresh(&view, &mut board).await?;
        }
    }
}

fn look(session: &Session) -> Look {
    Look { now: SystemClock.now(), zone: TimeZone::system(), paint: session.output.paint }
}

async fn refresh(view: &LiveView, board: &mut Board) -> Result<()> {
    let query = RunQuery { limit: RUNS, with_total: true, ..RunQuery::default() };
    let listing = view.view().query_runs(query).await?;
    board.put(listing.runs, listing.total.unwrap_or(0), listing.unreadable.len());
    board.detail = detail(view, board).await;
    Ok(())
}

/// Everything about the selected run. One that can't be read this moment has no details.
async fn detail(view: &LiveView, board: &Board) -> Option<Detail> {
    let found = board.selected()?;
    let store = &view.view().source(&found.database)?.store;
    let run = store.run_detail(found.run.id).await.ok()?;
    let questions = match run.run.completed_at {
        Some(_) => Vec::new(),
        None => approve::questions(store, found.run.id).await.unwrap_or_default(),
    };
    let log = logs::tail::latest(&run, LOG_LINES);
    Some(Detail { run, questions, log })
}
