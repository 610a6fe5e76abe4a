//! What is seen of a run and its children: read from the store, shown on a terminal or as plain lines.

use std::collections::HashMap;
use std::io::{self, Write as _};

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_store::log::{ReadError, load_whole_log};
use agentos_store::records::{Records as _, RunDetail};
use agentos_store::sqlite::SqliteStore;
use jiff::tz::TimeZone;

use crate::lines::Said;
use crate::output::Output;
use crate::terminal::live::{self, Live, room};
use crate::terminal::note::notes;
use crate::terminal::paint::Paint;
use crate::terminal::plain::PlainLines;
use crate::terminal::size::Size;
use crate::terminal::text::harmless;
use crate::terminal::tree::{self, Frame};
use crate::terminal::{Environment, FamilyView, session};

/// How many runs of a family are shown at most.
const SHOWN: usize = 100;

/// How many of the latest log lines are kept for the picture.
const LATEST: usize = 20;

/// Reads a family: the run, and those of the others that descend from it.
pub(crate) async fn load(
    store: &SqliteStore,
    root: RunId,
    others: impl IntoIterator<Item = RunId>,
) -> Result<FamilyView, ReadError> {
    let run = store.run_detail(root).await?;
    let mut by_parent: HashMap<String, Vec<RunDetail>> = HashMap::new();
    for other in others.into_iter().filter(|other| *other != root).take(SHOWN) {
        match store.run_detail(other).await {
            Ok(detail) => {
                let parent = detail.run.parent_run_id.clone().unwrap_or_default();
                by_parent.entry(parent).or_default().push(detail);
            }
            // It was ordered, and is not created yet.
            Err(ReadError::NotFound { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(assemble(run, &mut by_parent))
}

/// Reads a family whose members are not known yet.
pub(crate) async fn load_family(store: &SqliteStore, root: RunId) -> Result<FamilyView, ReadError> {
    load(store, root, descendants(store, root).await?).await
}

/// The runs that a run has invoked, and those that they have: each is in the log of whoever ordered it.
async fn descendants(store: &SqliteStore, root: RunId) -> Result<Vec<RunId>, ReadError> {
    let (mut found, mut next) = (Vec::new(), vec![root]);
    while let Some(run) = next.pop().filter(|_| found.len() < SHOWN) {
        let log = match load_whole_log(store, run).await {
            Ok(log) => log,
            // It was ordered, and is not created yet.
            Err(ReadError::NotFound { .. }) if run != root => continue,
            Err(error) => return Err(error),
        };
        let entries = log.into_iter().flat_map(Chunk::into_records).map(|record| record.entry);
        let children: Vec<RunId> = entries
            .filter_map(|entry| match entry {
                Entry::OperationOrdered { child, .. } => child,
                _ => None,
            })
            .collect();
        found.extend(&children);
        next.extend(children);
    }
    Ok(found)
}

fn assemble(run: RunDetail, by_parent: &mut HashMap<String, Vec<RunDetail>>) -> FamilyView {
    let mut children = by_parent.remove(&run.run.id.to_string()).unwrap_or_default();
    children.sort_by_key(|child| (child.run.created_at, child.run.id));
    let children = children.into_iter().map(|child| assemble(child, by_parent)).collect();
    FamilyView { run, children, lines: Vec::new(), notes: Vec::new(), doing: HashMap::new() }
}

/// Where the picture goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Standard output.
    Out,
    /// Standard error: standard output is for the document.
    Error,
}

/// Shows a family as it changes. When nobody reads any more it goes silent: a run does not end because of that.
pub(crate) struct Presenter {
    stream: Stream,
    how: How,
    paint: Paint,
    environment: Environment,
    zone: TimeZone,
    latest: Vec<String>,
    /// How far sessions of agents have come, by the agents' own names for them.
    sessions: HashMap<String, Value>,
}

enum How {
    Live(Live<Box<dyn io::Write>>),
    Plain(PlainLines),
    Silent,
}

impl Presenter {
    pub(crate) fn new(output: &Output, stream: Stream, environment: Environment) -> Self {
        let (size, paint, out): (_, _, Box<dyn io::Write>) = match stream {
            Stream::Out => (output.size, output.paint, Box::new(io::stdout())),
            Stream::Error => (output.error_size, output.error_paint, Box::new(io::stderr())),
        };
        let how = match size {
            Some(_) if output.is_quiet && live::is_possible(&environment, true) => {
                How::Live(Live::new(out))
            }
            _ => How::Plain(PlainLines::default()),
        };
        Self {
            stream,
            how,
            paint,
            environment,
            zone: TimeZone::system(),
            latest: Vec::new(),
            sessions: HashMap::new(),
        }
    }

    /// What is known of already is not told as news.
    pub(crate) fn knows(mut self, view: FamilyView) -> Self {
        if let How::Plain(lines) = &mut self.how {
            lines.knows(view);
        }
        self
    }

    /// Whether the picture moves by itself.
    pub(crate) const fn is_live(&self) -> bool {
        matches!(self.how, How::Live(_))
    }

    /// Takes in a log line.
    pub(crate) fn hear(&mut self, said: &Said) {
        match &mut self.how {
            How::Live(_) => {
                self.latest.push(harmless(&said.message).into_owned());
                if self.latest.len() > LATEST {
                    self.latest.remove(0);
                }
            }
            How::Plain(lines) => lines.hear(said),
            How::Silent => {}
        }
    }

    /// Takes in how far an operation has come. Of those that are over nothing is kept for long.
    pub(crate) fn note(&mut self, progress: Value) {
        let Some(id) = progress.get("session_id").and_then(Value::as_str) else { return };
        if self.is_live() {
            if self.sessions.len() >= SHOWN {
                self.sessions.clear();
            }
            self.sessions.insert(id.to_owned(), progress);
        }
    }

    /// Shows how things stand.
    pub(crate) fn show(&mut self, mut view: FamilyView, now: Timestamp) {
        view.lines.clone_from(&self.latest);
        view.notes = notes(&view.run).map(|note| note.message.clone()).collect();
        session::overlay(&mut view, &self.sessions);
        let screen = self.screen();
        let shown = match &mut self.how {
            How::Live(live) => {
                let frame = Frame { now, size: Some(room(screen)), paint: self.paint };
                live.draw(&tree::lines(&view, &frame), screen)
            }
            How::Plain(lines) => {
                let lines = lines.changes(view, (now, &self.zone));
                self.write_lines(&lines);
                Ok(())
            }
            How::Silent => Ok(()),
        };
        if shown.is_err() {
            self.how = How::Silent;
        }
    }

    /// Shows how things stand, for the last time: whole, and left where it is.
    pub(crate) fn finish(&mut self, view: FamilyView, now: Timestamp) {
        let screen = self.screen();
        if let How::Live(live) = &mut self.how {
            let cleared = live.clear(screen);
            let size = Some(Size { height: usize::MAX, ..screen });
            let lines = tree::lines(&view, &Frame { now, size, paint: self.paint });
            if cleared.is_ok() {
                self.write_lines(&lines);
            }
        } else {
            self.show(view, now);
        }
    }

    fn screen(&self) -> Size {
        match self.stream {
            Stream::Out => Size::of(io::stdout(), &self.environment),
            Stream::Error => Size::of(io::stderr(), &self.environment),
        }
    }

    fn write_lines(&mut self, lines: &[String]) {
        let text: String = lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect();
        let written = match self.stream {
            Stream::Out => io::stdout().write_all(text.as_bytes()),
            Stream::Error => io::stderr().write_all(text.as_bytes()),
        };
        if written.is_err() {
            self.how = How::Silent;
        }
    }
}
