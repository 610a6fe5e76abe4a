//! What a run has said: the lines of its log files, as they are or as they grow.

use std::collections::VecDeque;
use std::convert::Infallible;

use agentos_core::turn::LogLevel;
use agentos_store::folder::LogReader;
use agentos_store::registry::Scope;
use agentos_store::store::Store as _;
use agentos_store::unified::Found;
use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::{StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::time::timeout;
use utoipa::ToSchema;
use uuid::Uuid;

use super::bounds::{HEARTBEAT, PROGRESS};
use super::events::{Ear, accepts_stream, last_event};
use crate::access::Caller;
use crate::asked::Asked;
use crate::house::errors::OpenLogError;
use crate::problem::Problem;
use crate::routes::refusals::{OfRun, Refuses};
use crate::state::AppState;

/// How many lines are on a page if nobody says, and at most.
const USUAL: u64 = 1_000;
const MOST: u64 = 10_000;

/// How many lines are read at a time.
const LINES: usize = 500;

/// The last place that a file can have.
const FARTHEST: u64 = i64::MAX as u64;

/// A line of a log file.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogLine {
    /// When.
    #[schema(format = DateTime)]
    at: String,
    /// How loud: `trace`, `debug`, `info`, `warn`, `error` or `fatal`.
    level: String,
    /// The step that it belongs to.
    step_id: Option<Uuid>,
    /// Who said it: the workflow with `log`, a command (`stdout`, `stderr`) or an `agent`.
    stream: String,
    /// What.
    msg: String,
    /// The command that wrote it: one try of one operation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    command: Option<String>,
    /// How many bytes of the command's output are kept with this piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    end: Option<u64>,
    /// Whether the line goes on with the command's next piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    goes_on: Option<bool>,
    /// The number of the workflow's own line.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    n: Option<u64>,
}

/// A page of a log file. Pages of lines have no number and no total: nobody has counted the lines of a file that grows.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LogPage {
    /// The lines, oldest first.
    #[schema(value_type = Vec<LogLine>)]
    items: Vec<Box<RawValue>>,
    /// How many are on a page at most.
    limit: u64,
    /// Where the next page begins: give it as `after`. Null if there is nothing more by now.
    next: Option<String>,
}

/// Read what a run has said, or follow it
///
/// With `follow=true` the answer goes on until the run has ended: one line of JSON for each line
/// (`application/x-ndjson`), or Server-Sent Events with `Accept: text/event-stream`.
#[utoipa::path(get, path = "/api/executions/{id}/logs", operation_id = "listLogs", tag = "executions",
    params(
        ("id" = String, Path, description = "The run: its id, or its short name."),
        ("stepId" = Option<Uuid>, Query, description = "Only lines of this step."),
        ("level" = Option<String>, Query, description = "Only lines that are at least so loud: `trace`, `debug`, `info`, `warn`, `error` or `fatal`."),
        ("follow" = Option<bool>, Query, description = "Go on until the run has ended."),
        ("after" = Option<u64>, Query, minimum = 0, description = "From this place of the file on: the `next` of another page."),
        ("Last-Event-ID" = Option<String>, Header, description = "As `after`, for Server-Sent Events; it counts more than `after`."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 10_000, description = "How many lines on a page; 1000 if left out. A stream has no limit."),
    ),
    responses(
        (status = 200, description = "A page of the log, or the log as it grows.", content(
            (LogPage = "application/json"), (String = "application/x-ndjson"), (String = "text/event-stream"))),
        Refuses<(OfRun, OpenLogError)>
    )
)]
pub(super) async fn logs(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    asked: Asked,
) -> Result<Response, Problem> {
    caller.may(Scope::Read)?;
    asked.only(&["stepId", "level", "follow", "after", "limit"])?;
    let step: Option<Uuid> = asked.parsed("stepId", "a step's id")?;
    let level = asked.one("level")?.map(level_of).transpose()?.unwrap_or(LogLevel::Trace);
    let limit = asked.number("limit", 1..=MOST)?.unwrap_or(USUAL);
    let mut after = asked.number("after", 0..=FARTHEST)?.unwrap_or(0);
    let follows = asked.flag("follow")?.unwrap_or(false);
    let as_events = follows && accepts_stream(&headers);
    if as_events {
        after = last_event(&headers, FARTHEST)?.unwrap_or(after);
    }
    let found = state.find_run(&id).await?;
    let mut told = Told { state, found, step, level, after, reader: None };
    told.open().await?;
    if !follows {
        return told.page(limit).await.map(|page| Json(page).into_response());
    }
    let ear = Ear::on(&told.state.live, caller, &told.found).await;
    Ok(told.follow(ear, as_events))
}

fn level_of(text: &str) -> Result<LogLevel, Problem> {
    let level = serde_json::from_value(text.to_lowercase().into());
    level.map_err(|_| {
        Problem::parameter("level", "has to be trace, debug, info, warn, error or fatal")
    })
}

/// A line that is passed on.
struct Said {
    line: Box<RawValue>,
    /// Where the next one begins in the file.
    next: u64,
}

/// Lines on their way to whoever asked for them.
struct Told {
    state: AppState,
    found: Found,
    step: Option<Uuid>,
    level: LogLevel,
    /// Where it begins in the file.
    after: u64,
    /// None while there is no file.
    reader: Option<LogReader>,
}

impl Told {
    async fn open(&mut self) -> Result<(), Problem> {
        if self.reader.is_none()
            && let Some(file) = self.state.house.open_log(self.found.clone(), self.step).await?
        {
            let mut reader = LogReader::of(file);
            reader.skip_to(self.after).map_err(unreadable)?;
            self.reader = Some(reader);
        }
        Ok(())
    }

    /// The next lines, some of them, and how many there were before those that are not loud enough were left out.
    async fn next_lines(&mut self, most: usize) -> Result<(Vec<Said>, usize), Problem> {
        self.open().await?;
        let Some(mut reader) = self.reader.take() else { return Ok((Vec::new(), 0)) };
        let level = self.level;
        let read = tokio::task::spawn_blocking(move || {
            let (mut loud, mut count) = (Vec::new(), 0);
            // One by one, because a reader knows only where the last that it has given ends.
            while count < most
                && let Some(line) = reader.next_lines(1)?.pop()
            {
                count += 1;
                let next = reader.position();
                loud.extend(passed_on(line, level).map(|line| Said { line, next }));
            }
            Ok((loud, count, reader))
        });
        let failed = |error: tokio::task::JoinError| Problem::internal(error.to_string());
        let (lines, count, reader) = read.await.map_err(failed)?.map_err(unreadable)?;
        self.reader = Some(reader);
        Ok((lines, count))
    }

    async fn page(mut self, limit: u64) -> Result<LogPage, Problem> {
        let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut items = Vec::new();
        while items.len() < wanted {
            let (lines, count) = self.next_lines((wanted - items.len()).min(LINES)).await?;
            if count == 0 {
                return Ok(LogPage { items, limit, next: None });
            }
            items.extend(lines.into_iter().map(|said| said.line));
        }
        let position = self.reader.as_ref().map(LogReader::position);
        Ok(LogPage { items, limit, next: position.map(|position| position.to_string()) })
    }

    async fn has_ended(&self) -> bool {
        let head = self.found.source.store.head(self.found.run.id).await;
        head.map_or(true, |head| head.standing.is_ended())
    }

    fn follow(self, ear: Ear, as_events: bool) -> Response {
        let following = Following { told: self, ear, read: VecDeque::new(), is_over: false };
        let lines = stream::unfold(following, async |mut following| {
            let said = following.next_line().await?;
            Some((said, following))
        });
        if as_events {
            let events = lines.map(|Said { line, next }| {
                Ok::<_, Infallible>(sse::Event::default().id(next.to_string()).data(line.get()))
            });
            let alive = KeepAlive::new().interval(HEARTBEAT);
            return Sse::new(events).keep_alive(alive).into_response();
        }
        let lines = lines.map(|Said { line, .. }| Ok::<_, Infallible>(format!("{}\n", line.get())));
        let mut response = Body::from_stream(lines).into_response();
        let kind = HeaderValue::from_static("application/x-ndjson");
        response.headers_mut().insert(header::CONTENT_TYPE, kind);
        response
    }
}

struct Following {
    told: Told,
    ear: Ear,
    read: VecDeque<Said>,
    /// Whether the run had ended before the file was last read to its end.
    is_over: bool,
}

impl Following {
    async fn next_line(&mut self) -> Option<Said> {
        loop {
            if let Some(said) = self.read.pop_front() {
                return Some(said);
            }
            // A stream has begun, so what is wrong now can only end it.
            let (lines, count) = self.told.next_lines(LINES).await.ok()?;
            self.read.extend(lines);
            if count > 0 {
                continue;
            }
            if self.is_over {
                return None;
            }
            // Files tell nobody that they grow. Whoever has ended says nothing more, so the end is looked at before the
            // file is read for the last time.
            if let Ok(false) = timeout(PROGRESS, self.ear.hears()).await {
                return None;
            }
            self.is_over = self.told.has_ended().await;
        }
    }
}

/// A line as it is in the file, if it is loud enough. What is no line of ours is left out.
fn passed_on(line: String, least: LogLevel) -> Option<Box<RawValue>> {
    #[derive(Deserialize)]
    struct Loud {
        level: LogLevel,
    }
    let Loud { level } = serde_json::from_str(&line).ok()?;
    if level < least {
        return None;
    }
    RawValue::from_string(line).ok()
}

fn unreadable(error: std::io::Error) -> Problem {
    Problem::internal(format!("the log can't be read: {error}"))
}
