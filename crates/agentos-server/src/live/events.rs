//! The log of a run as it is: page by page, or as it grows (Server-Sent Events).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use agentos_core::entry::{Entry, Record};
use agentos_core::id::{RunId, Seq};
use agentos_store::log::ReadError;
use agentos_store::moment::written;
use agentos_store::registry::Scope;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use agentos_store::unified::Found;
use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Response};
use futures_util::stream;
use serde::Serialize;
use utoipa::ToSchema;

use super::batch::text;
use super::bounds::{HEARTBEAT, PAGE_CHUNKS};
use super::hub::Hub;
use super::mailbox::Mailbox;
use crate::access::Caller;
use crate::asked::Asked;
use crate::documents::Page;
use crate::problem::Problem;
use crate::routes::refusals::{OfRun, Refuses};
use crate::state::AppState;

/// How many entries are on a page if nobody says, and at most.
const USUAL: u64 = 100;
const MOST: u64 = 1_000;

const LAST_EVENT: &str = "Last-Event-ID";

/// An entry of a run's log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Event {
    /// Its position, counted from 1.
    #[schema(minimum = 1)]
    seq: u64,
    /// When it was recorded.
    #[schema(format = DateTime)]
    at: String,
    /// The position of the entry under which it was decided; null if it came in from outside.
    by: Option<u64>,
    /// What it is about.
    #[schema(example = "step.ended")]
    kind: &'static str,
    /// The entry as the log has it.
    #[schema(value_type = Object)]
    entry: Entry,
}

impl From<Record> for Event {
    fn from(Record { seq, at, by, entry }: Record) -> Self {
        let by = by.map(|by| by.0 + 1);
        Self { seq: seq.0 + 1, at: written(at), by, kind: entry.kind(), entry }
    }
}

/// Read the log of a run, or follow it
///
/// Every entry with its position. With `Accept: text/event-stream` the answer goes on until the run has ended: each entry is
/// one event whose id is its position, so that a client that comes back with `Last-Event-ID` misses nothing and gets nothing
/// twice. When the run has ended and everything was sent, the stream ends; whoever then asks again from there gets 204,
/// which tells an `EventSource` to stop.
#[utoipa::path(get, path = "/api/executions/{id}/events", operation_id = "listEvents", tag = "executions",
    params(
        ("id" = String, Path, description = "The run: its id, or its short name."),
        ("after" = Option<u64>, Query, minimum = 0, description = "Only entries behind this position: the `seq` of an entry or of the run's document. 0 if left out."),
        ("limit" = Option<u64>, Query, minimum = 1, maximum = 1_000, description = "How many on a page; 100 if left out. A stream has no limit."),
        ("Last-Event-ID" = Option<String>, Header, description = "As `after`, for streams; it counts more than `after`."),
    ),
    responses(
        (status = 200, description = "A page of the log.", content(
            (Page<Event> = "application/json"), (String = "text/event-stream"))),
        (status = 204, description = "A stream was asked for, and there will be nothing more in it."),
        Refuses<OfRun>
    )
)]
pub(super) async fn events(
    State(state): State<AppState>,
    caller: Caller,
    Path(id): Path<String>,
    headers: HeaderMap,
    asked: Asked,
) -> Result<Response, Problem> {
    caller.may(Scope::Read)?;
    asked.only(&["after", "limit"])?;
    let found = state.find_run(&id).await?;
    let after = asked.number("after", 0..=u64::MAX - 1)?.unwrap_or(0);
    if accepts_stream(&headers) {
        let begin = match last_event(&headers, u64::MAX - 1)? {
            Some(after) => Begin { after, said_by: LAST_EVENT },
            None => Begin { after, said_by: "after" },
        };
        return stream_from(&state, caller, &found, begin).await;
    }
    let limit = asked.number("limit", 1..=MOST)?.unwrap_or(USUAL);
    page(&found, after, limit).await.map(|page| Json(page).into_response())
}

/// Whether a stream is asked for.
pub(super) fn accepts_stream(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.flat_map(|value| value.split(',')).any(|kind| {
        kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream")
    })
}

/// The id of the last event that somebody who comes back has got.
pub(super) fn last_event(headers: &HeaderMap, most: u64) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get(LAST_EVENT) else { return Ok(None) };
    let position = value.to_str().ok().filter(|text| !text.is_empty());
    let wrong = || Problem::parameter(LAST_EVENT, "has to be the id of an event");
    position.map(|text| text.parse().ok().filter(|at| *at <= most).ok_or_else(wrong)).transpose()
}

async fn page(found: &Found, after: u64, limit: u64) -> Result<Page<Event>, Problem> {
    let (store, run) = (&found.source.store, found.run.id);
    let total = store.head(run).await?.head.0;
    let wanted = usize::try_from(limit).unwrap_or(usize::MAX);
    let (mut items, mut next): (Vec<Event>, u64) = (Vec::new(), after + 1);
    while items.len() < wanted {
        let records = records(store, run, next, PAGE_CHUNKS).await?;
        let Some(last) = records.last() else { break };
        next = last.seq.0 + 2;
        let room = wanted - items.len();
        items.extend(records.into_iter().take(room).map(Event::from));
    }
    let last = items.last().map_or(after, |event| event.seq);
    let next = (last < total).then(|| last.to_string());
    Ok(Page { items, page: 1, limit, total, next, unreadable: Vec::new() })
}

/// The entries from this position on, some of them.
async fn records(
    store: &SqliteStore,
    run: RunId,
    next: u64,
    chunks: usize,
) -> Result<Vec<Record>, ReadError> {
    let from = Seq(next - 1);
    let chunks = store.load_log(run, from, chunks).await?;
    let records = chunks.into_iter().flat_map(agentos_core::codec::Chunk::into_records);
    Ok(records.filter(|record| record.seq >= from).collect())
}

/// Hears of one run, until it is dropped.
pub(super) struct Ear {
    hub: Arc<Hub>,
    run: RunId,
    mailbox: Arc<Mailbox>,
    caller: Caller,
}

impl Ear {
    pub(super) async fn on(hub: &Arc<Hub>, caller: Caller, found: &Found) -> Self {
        let mailbox = Arc::new(Mailbox::bell());
        let ear = Self { hub: Arc::clone(hub), run: found.run.id, mailbox, caller };
        ear.hub.subscribe(found, &ear.mailbox, false).await;
        ear
    }

    /// Waits until something was committed to the run since this was last asked; false if the stream has to end.
    pub(super) async fn hears(&self) -> bool {
        tokio::select! {
            () = self.mailbox.rung() => true,
            () = self.caller.ended() => false,
        }
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        self.hub.unsubscribe(self.run, &self.mailbox);
    }
}

/// Where a stream begins.
struct Begin {
    after: u64,
    /// The parameter that says so.
    said_by: &'static str,
}

struct Following {
    ear: Ear,
    store: SqliteStore,
    next: u64,
    read: VecDeque<Event>,
    has_ended: bool,
}

async fn stream_from(
    state: &AppState,
    caller: Caller,
    found: &Found,
    Begin { after, said_by }: Begin,
) -> Result<Response, Problem> {
    let store = found.source.store.clone();
    let head = store.head(found.run.id).await?;
    if head.standing.is_ended() && after >= head.head.0 {
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let head = head.head.0;
    // It would wait behind the run's end.
    if after > head {
        let detail = format!("is {after}, and the log of the run has {head} entries");
        return Err(Problem::parameter(said_by, detail));
    }
    let ear = Ear::on(&state.live, caller, found).await;
    let following =
        Following { ear, store, next: after + 1, read: VecDeque::new(), has_ended: false };
    let events = stream::unfold(following, async |mut following| {
        let event = following.next_event().await?;
        Some((Ok::<_, Infallible>(event), following))
    });
    let alive = KeepAlive::new().interval(HEARTBEAT);
    let mut response = Sse::new(events).keep_alive(alive).into_response();
    // A proxy that collects it before it passes it on would make it useless.
    response.headers_mut().insert("x-accel-buffering", header::HeaderValue::from_static("no"));
    Ok(response)
}

impl Following {
    async fn next_event(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(event) = self.read.pop_front() {
                self.has_ended = event.kind == "run.ended";
                return Some(sse::Event::default().id(event.seq.to_string()).data(text(&event)));
            }
            if self.has_ended {
                return None;
            }
            match records(&self.store, self.ear.run, self.next, PAGE_CHUNKS).await {
                Ok(records) if records.is_empty() => {
                    if !self.ear.hears().await {
                        return None;
                    }
                }
                Ok(records) => {
                    self.read.extend(records.into_iter().map(Event::from));
                    self.next += self.read.len() as u64;
                }
                // The run was deleted, or can't be read. Whoever comes back is told.
                Err(error) => {
                    tracing::debug!(run = %self.ear.run, %error, "a stream ends");
                    return None;
                }
            }
        }
    }
}
