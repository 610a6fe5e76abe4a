//! The server: every request is a question to the stage.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, header};
use serde_json::Value;
use thiserror::Error;

use super::record::Request;
use super::scenario::{Scenario, ScenarioError};
use super::stage::{Answer, Incoming, Stage};
use super::stream;
use crate::loopback::Loopback;

/// The largest request that is read. Agents send their whole history, with their tools.
const MAX_BODY_BYTES: usize = 32 << 20;
const KEY_HEADERS: [&str; 3] = ["x-api-key", "authorization", "x-goog-api-key"];

/// A model server that runs until it is dropped.
#[derive(Debug)]
pub struct ModelServer {
    loopback: Loopback,
    stage: Arc<Stage>,
}

/// Why there is no server.
#[derive(Debug, Error)]
pub enum StartError {
    /// It has nothing to say.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// There is no place to listen at.
    #[error("could not listen on 127.0.0.1: {0}; name another port, or none")]
    Listen(#[from] std::io::Error),
}

impl ModelServer {
    /// Starts a server on a free port of 127.0.0.1.
    pub fn start(scenario: Scenario) -> Result<Self, StartError> {
        Self::start_at(scenario, 0)
    }

    /// Starts a server on a port of 127.0.0.1.
    pub fn start_at(scenario: Scenario, port: u16) -> Result<Self, StartError> {
        scenario.check()?;
        let stage = Arc::new(Stage::new(scenario));
        let app = Router::new().fallback(answer).with_state(Arc::clone(&stage));
        Ok(Self { loopback: Loopback::serve("model-server", port, app)?, stage })
    }

    /// Where clients find it: `http://127.0.0.1:PORT`.
    #[must_use]
    pub fn url(&self) -> String {
        self.loopback.url()
    }

    /// What was asked so far: the latest requests, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.stage.requests()
    }

    /// Waits until the server ends, which is when the process does.
    pub fn wait(self) {
        self.loopback.wait();
    }
}

async fn answer(
    State(stage): State<Arc<Stage>>,
    request: axum::extract::Request,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, MAX_BODY_BYTES).await else {
        return whole(413, &Value::String("this request is larger than 32 MiB".to_owned()));
    };
    let incoming = Incoming {
        method: head.method.to_string(),
        path: head.uri.path().to_owned(),
        query: head.uri.query().map(without_keys),
        has_key: has_key(&head.headers, head.uri.query()),
        is_upgrade: head.headers.contains_key(header::UPGRADE),
        body: serde_json::from_slice(&bytes).unwrap_or_default(),
        bytes: bytes.len(),
    };
    match stage.decide(incoming) {
        Answer::Whole(status, document) => whole(status, &document),
        Answer::Events(events, fault) => {
            let mut response = Response::new(stream::body(events, fault));
            let kind = header::HeaderValue::from_static("text/event-stream");
            response.headers_mut().insert(header::CONTENT_TYPE, kind);
            response
        }
        Answer::Silence => {
            stream::silence().await;
            whole(500, &Value::Null)
        }
    }
}

fn whole(status: u16, document: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = header::HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

fn has_key(headers: &HeaderMap, query: Option<&str>) -> bool {
    let in_headers =
        KEY_HEADERS.iter().any(|name| headers.get(*name).is_some_and(|key| !key.is_empty()));
    in_headers || query.is_some_and(|query| query.split('&').any(|part| part.starts_with("key=")))
}

/// Keys are not written down.
fn without_keys(query: &str) -> String {
    let kept: Vec<&str> = query.split('&').filter(|part| !part.starts_with("key=")).collect();
    kept.join("&")
}
