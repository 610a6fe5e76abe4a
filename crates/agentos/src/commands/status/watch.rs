//! `agentos status --watch`: runs as they change, in whatever process and worktree.
//!
//! On a terminal the table is drawn anew in place; elsewhere each change is a line (with `--json`, a document in a line).
//! Commits are heard of by the databases themselves. Whether a worktree or a database has come or gone is looked at every
//! [`LOOK`], which costs a few stats.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::unified::{UnifiedListing, UnifiedRun, Unreadable};
use jiff::tz::TimeZone;

use super::{Args, listing, page, rows, tell_unreadable};
use crate::error::{CommandError, Result};
use crate::overview::Scope;
use crate::overview::live::LiveView;
use crate::session::Session;
use crate::signals::Signals;
use crate::terminal::live::{self, Live};
use crate::terminal::moment;
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::size::Size;
use crate::terminal::text::Line;

/// A picture is drawn at most so often, and lines are told at most so late.
const PAUSE: Duration = Duration::from_millis(50);

/// How often times in a picture move on, and worktrees are looked for.
const LOOK: Duration = Duration::from_secs(1);

pub(super) async fn run(session: &Session, args: &Args, scope: Scope) -> Result<ExitCode> {
    let mut signals = Signals::listen()?;
    let mut view = LiveView::open(session, scope)?;
    let mut shown = Shown::new(session, args);
    loop {
        let now = SystemClock.now();
        let found = listing(view.view(), args, now).await?;
        shown.show(session, args, &found, now)?;
        tokio::select! {
            // Whoever watches ends it like this; it is no failure.
            _ = signals.next() => return Ok(ExitCode::SUCCESS),
            () = view.changed(LOOK) => {}
        }
        tokio::time::sleep(PAUSE).await;
        // `status --watch | head`: nothing may change for hours.
        if session.output.is_unheard() {
            return Ok(ExitCode::SUCCESS);
        }
        view.look_around(session)?;
    }
}

/// What was shown last.
enum Shown {
    Picture(Live<io::Stdout>),
    /// How each run stood.
    Lines {
        known: BTreeMap<RunId, String>,
        told: BTreeSet<PathBuf>,
    },
}

impl Shown {
    fn new(session: &Session, args: &Args) -> Self {
        let is_terminal = session.output.size.is_some();
        match live::is_possible(&session.surroundings.environment, is_terminal) && !args.json {
            true => Self::Picture(Live::new(io::stdout())),
            false => Self::Lines { known: BTreeMap::new(), told: BTreeSet::new() },
        }
    }

    fn show(
        &mut self,
        session: &Session,
        args: &Args,
        listing: &UnifiedListing,
        now: Timestamp,
    ) -> Result<()> {
        match self {
            Self::Picture(live) => {
                let screen = Size::of(io::stdout(), &session.surroundings.environment);
                Ok(live.draw(&picture(session, args, listing, (now, screen)), screen)?)
            }
            Self::Lines { known, told } => {
                let new = |missing: &&Unreadable| told.insert(missing.path.clone());
                let missing: Vec<Unreadable> =
                    listing.unreadable.iter().filter(new).cloned().collect();
                tell_unreadable(session, &missing);
                session.output.lines(changes((args, session.output.paint), listing, known, now)?)
            }
        }
    }
}

fn picture(
    session: &Session,
    args: &Args,
    listing: &UnifiedListing,
    (now, screen): (Timestamp, Size),
) -> Vec<String> {
    let paint = session.output.paint;
    let runs = listing.runs.iter().filter(|run| page::is_shown(args, run, now));
    let runs: Vec<&UnifiedRun> = runs.collect();
    let mut lines = rows::table(runs.iter().copied(), now).lines(Some(screen.width), paint);
    let more = listing.total.unwrap_or(0).saturating_sub(runs.len() as u64);
    let mut below = match (runs.len(), more) {
        (0, _) => "no runs yet".to_owned(),
        (_, 0) => String::new(),
        (_, more) => format!("{more} more"),
    };
    if !listing.unreadable.is_empty() {
        let names = listing.unreadable.iter().map(|missing| missing.path.display().to_string());
        let names: Vec<String> = names.collect();
        below.push_str(&format!("  can't be read: {}", names.join(", ")));
    }
    if !below.is_empty() {
        lines.push(Line::of(Tone::Faint, below.trim()).fitted(screen.width, paint));
    }
    lines
}

/// A line for each run that is new or stands differently than before.
fn changes(
    (args, paint): (&Args, Paint),
    listing: &UnifiedListing,
    known: &mut BTreeMap<RunId, String>,
    now: Timestamp,
) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    // Told in the order in which they began.
    for found in listing.runs.iter().rev().filter(|run| page::is_shown(args, run, now)) {
        let run = &found.run;
        let step = run.current_step.as_ref();
        let told = format!(
            "{}|{}|{:?}|{:?}|{:?}",
            run.status.as_str(),
            run.interrupted,
            run.elsewhere,
            run.waiting.as_ref().map(|waiting| (waiting.kind, waiting.since)),
            step.map(|step| (step.step_number, step.status, step.attempt_number))
        );
        if known.insert(run.id, told.clone()).is_some_and(|before| before == told) {
            continue;
        }
        lines.push(match args.json {
            true => serde_json::to_string(found)
                .map_err(|error| CommandError::failed(error.to_string()))?,
            false => told_line(found, paint, now),
        });
    }
    Ok(lines)
}

/// `12:03:05  main  implement-abcdef  RUNNING  test`
fn told_line(found: &UnifiedRun, paint: Paint, now: Timestamp) -> String {
    let run = &found.run;
    let time = moment::clock(run.updated_at, &TimeZone::system());
    let mut line = Line::of(Tone::Faint, &format!("{time}  "))
        .with(Tone::Plain, &format!("{}  ", found.worktree))
        .with(Tone::Strong, &format!("{}  ", run.run_id));
    line.append(rows::status_line(run, now));
    if let Some(step) = &run.current_step {
        line.push(Tone::Plain, &format!("  {}", step.name));
    }
    line.painted(paint)
}
