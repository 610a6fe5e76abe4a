//! The server: what it has, and how it answers.

use std::fs::File;
use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{Response, StatusCode, header};
use futures_util::stream;
use serde_json::{Value, json};

use super::fault::{Fault, Strike};
use super::pulls::{Dialect, Pull};
use super::{LABEL, REVIEWER, TOKEN};
use crate::loopback::Loopback;

/// The largest request that is read.
const MAX_BODY_BYTES: usize = 4 << 20;

/// How many requests are remembered.
const REMEMBERED: usize = 10_000;

/// A request that came in.
#[derive(Debug, Clone, PartialEq)]
pub struct Received {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// Its document, if it has one.
    pub body: Value,
}

#[derive(Debug, Default)]
struct Desk {
    pulls: Vec<Pull>,
    strikes: Vec<Strike>,
    received: Vec<Received>,
    /// Gets a line for each pull request.
    record: Option<File>,
}

impl Desk {
    fn take_in(&mut self, pull: Pull) {
        if let (Some(record), Ok(line)) = (&mut self.record, serde_json::to_string(&pull)) {
            // Whoever can't write it down still has it.
            let _unwritten = writeln!(record, "{line}");
        }
        self.pulls.push(pull);
    }
}

/// A forge that runs until it is dropped.
#[derive(Debug)]
pub struct ForgeServer {
    loopback: Loopback,
    desk: Arc<Mutex<Desk>>,
}

impl ForgeServer {
    /// Starts one on a free port of 127.0.0.1.
    pub fn start() -> io::Result<Self> {
        Self::start_at(0)
    }

    /// Starts one on a port of 127.0.0.1.
    pub fn start_at(port: u16) -> io::Result<Self> {
        Self::serve(port, Desk::default())
    }

    /// Starts one that writes each pull request into a file, as a line of JSON: for whoever is in another process.
    pub fn recording(port: u16, record: File) -> io::Result<Self> {
        Self::serve(port, Desk { record: Some(record), ..Desk::default() })
    }

    fn serve(port: u16, desk: Desk) -> io::Result<Self> {
        let desk = Arc::new(Mutex::new(desk));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&desk));
        Ok(Self { loopback: Loopback::serve("forge", port, app)?, desk })
    }

    /// The address of GitHub's API; add `/api/v4` for GitLab's, `/api/v1` for Forgejo's.
    #[must_use]
    pub fn url(&self) -> String {
        self.loopback.url()
    }

    /// From now on, this happens.
    pub fn strike(&self, strike: Strike) {
        locked(&self.desk).strikes.push(strike);
    }

    /// What was opened.
    #[must_use]
    pub fn pulls(&self) -> Vec<Pull> {
        locked(&self.desk).pulls.clone()
    }

    /// Closes one, as people do.
    pub fn close(&self, number: u64) {
        for pull in locked(&self.desk).pulls.iter_mut().filter(|pull| pull.number == number) {
            pull.open = false;
        }
    }

    /// What was asked so far: the earliest requests, oldest first.
    #[must_use]
    pub fn received(&self) -> Vec<Received> {
        locked(&self.desk).received.clone()
    }

    /// Waits until the server ends, which is when the process does.
    pub fn wait(self) {
        self.loopback.wait();
    }
}

fn locked(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn answer(
    State(desk): State<Arc<Mutex<Desk>>>,
    request: axum::extract::Request,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_BODY_BYTES).await else {
        return whole(413, &json!({ "message": "too large" }));
    };
    let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let fault = note(&mut locked(&desk), &head, &body);
    match fault {
        Some(Fault::Status(status)) => {
            return whole(status, &json!({ "message": format!("a fault: {status}") }));
        }
        Some(Fault::Limited) => return limited(),
        Some(Fault::Silence) => std::future::pending::<()>().await,
        Some(Fault::LostAnswer | Fault::HeldAnswer) | None => {}
    }
    let answered = if is_authorized(&head) {
        decide(&mut locked(&desk), &head, &body)
    } else {
        (401, json!({ "message": "Bad credentials" }))
    };
    if fault == Some(Fault::HeldAnswer) {
        std::future::pending::<()>().await;
    }
    if fault == Some(Fault::LostAnswer) { lost() } else { whole(answered.0, &answered.1) }
}

/// Writes the request down, and says what strikes it.
fn note(desk: &mut Desk, head: &Parts, body: &Value) -> Option<Fault> {
    let (method, target) = (head.method.to_string(), head.uri.to_string());
    let path = head.uri.path();
    let strike = desk
        .strikes
        .iter_mut()
        .find(|strike| strike.times > 0 && strike.method == method && path.ends_with(strike.path));
    let fault = strike.map(|strike| {
        strike.times -= 1;
        strike.fault
    });
    if desk.received.len() < REMEMBERED {
        desk.received.push(Received { method, target, body: body.clone() });
    }
    fault
}

fn is_authorized(head: &Parts) -> bool {
    let wanted = format!("Bearer {TOKEN}");
    head.headers
        .get(header::AUTHORIZATION)
        .is_some_and(|given| given.as_bytes() == wanted.as_bytes())
}

/// Where a request is for.
struct Route<'a> {
    dialect: Dialect,
    repository: String,
    rest: Vec<&'a str>,
}

fn route(path: &str) -> Option<Route<'_>> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    match parts.as_slice() {
        ["repos", owner, name, rest @ ..] => Some(Route {
            dialect: Dialect::GitHub,
            repository: format!("{owner}/{name}"),
            rest: rest.to_vec(),
        }),
        ["api", "v1", "repos", owner, name, rest @ ..] => Some(Route {
            dialect: Dialect::Forgejo,
            repository: format!("{owner}/{name}"),
            rest: rest.to_vec(),
        }),
        ["api", "v4", "projects", project, rest @ ..] => Some(Route {
            dialect: Dialect::GitLab,
            repository: project.replace("%2F", "/"),
            rest: rest.to_vec(),
        }),
        _ => None,
    }
}

fn decide(desk: &mut Desk, head: &Parts, body: &Value) -> (u16, Value) {
    let query = head.uri.query().unwrap_or_default();
    if head.uri.path() == "/api/v4/users" {
        let known = query.contains(&format!("username={REVIEWER}"));
        return (200, if known { json!([{ "id": 7 }]) } else { json!([]) });
    }
    let Some(route) = route(head.uri.path()) else { return not_found() };
    let host =
        head.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let url = format!("http://{host}");
    match (head.method.as_str(), route.rest.as_slice()) {
        ("GET", []) => (200, json!({ "full_name": route.repository })),
        ("GET", ["pulls" | "merge_requests"]) => (200, listed(desk, &route, query, &url)),
        ("POST", ["pulls" | "merge_requests"]) => open(desk, &route, body, &url),
        ("GET", ["labels"]) => (200, json!([{ "id": 3, "name": LABEL }])),
        ("POST", [_, number, what]) => adorn(desk, number, what, body),
        _ => not_found(),
    }
}

fn not_found() -> (u16, Value) {
    (404, json!({ "message": "Not Found" }))
}

fn listed(desk: &Desk, route: &Route<'_>, query: &str, url: &str) -> Value {
    let wanted = query.split('&').find_map(|part| {
        let (key, value) = part.split_once('=')?;
        let branch = value.replace("%2F", "/");
        match key {
            "head" => {
                Some(branch.split_once(':').map_or(branch.clone(), |(_, name)| name.to_owned()))
            }
            "source_branch" => Some(branch),
            _ => None,
        }
    });
    let of_branch = |pull: &&Pull| {
        pull.repository == route.repository && wanted.as_ref().is_none_or(|head| pull.head == *head)
    };
    desk.pulls.iter().filter(of_branch).map(|pull| pull.written(route.dialect, url)).collect()
}

fn open(desk: &mut Desk, route: &Route<'_>, body: &Value, url: &str) -> (u16, Value) {
    let number = desk.pulls.len() as u64 + 1;
    let pull = Pull::read(route.dialect, number, &route.repository, body);
    let same = |one: &Pull| {
        one.open
            && (&one.repository, &one.head, &one.base) == (&pull.repository, &pull.head, &pull.base)
    };
    let status = if route.dialect == Dialect::GitHub { 422 } else { 409 };
    if desk.pulls.iter().any(same) {
        let said = format!("A pull request already exists for {}.", pull.head);
        return (
            status,
            json!({ "message": "Validation Failed", "errors": [{ "message": said }] }),
        );
    }
    if pull.title.is_empty() || pull.head.is_empty() || pull.base.is_empty() {
        let missing = json!([{ "resource": "PullRequest", "field": "base", "code": "invalid" }]);
        return (422, json!({ "message": "Validation Failed", "errors": missing }));
    }
    let written = pull.written(route.dialect, url);
    desk.take_in(pull);
    (201, written)
}

fn adorn(desk: &mut Desk, number: &str, what: &str, body: &Value) -> (u16, Value) {
    let Some(pull) = desk.pulls.iter_mut().find(|pull| pull.number.to_string() == number) else {
        return not_found();
    };
    let names = |key: &str| -> Vec<String> {
        let items = body[key].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|item| item.as_str().map_or_else(|| LABEL.to_owned(), str::to_owned))
            .collect()
    };
    let note = body["body"].as_str().unwrap_or_default();
    let (known, list, asked) = match what {
        "labels" => (LABEL, &mut pull.labels, names("labels")),
        "requested_reviewers" => (REVIEWER, &mut pull.reviewers, names("reviewers")),
        "notes" => (
            REVIEWER,
            &mut pull.reviewers,
            note.split('@').skip(1).map(|name| name.trim().to_owned()).collect(),
        ),
        _ => return not_found(),
    };
    if let Some(unknown) = asked.iter().find(|name| *name != known) {
        return (422, json!({ "message": format!("`{unknown}` is not known here") }));
    }
    list.extend(asked);
    list.dedup();
    (201, json!({}))
}

fn whole(status: u16, document: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

fn limited() -> Response<Body> {
    let mut response = whole(403, &json!({ "message": "API rate limit exceeded" }));
    let headers = response.headers_mut();
    headers.insert("x-ratelimit-remaining", header::HeaderValue::from_static("0"));
    headers.insert("retry-after", header::HeaderValue::from_static("0"));
    response
}

/// The connection ends before the answer does.
fn lost() -> Response<Body> {
    let cut = stream::iter([Err::<Vec<u8>, io::Error>(io::ErrorKind::ConnectionReset.into())]);
    let mut response = Response::new(Body::from_stream(cut));
    response.headers_mut().insert(header::CONTENT_LENGTH, header::HeaderValue::from_static("1000"));
    response
}
