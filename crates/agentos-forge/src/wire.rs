//! One request to a forge and its answer, with limits on both.

use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap};
use reqwest::redirect::Policy;
use reqwest::{Client, Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ForgeError;
use crate::forge::Access;

/// Most bytes of an answer.
const ANSWER_BYTES: usize = 8 << 20;

/// Most characters of what a forge says in a message.
const SAID_CHARS: usize = 600;

/// The longest that a forge is let have its way when it wants to be left alone.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// A connection to the API of one forge.
pub(crate) struct Wire {
    client: Client,
    api: String,
    token: String,
    forge: String,
    variables: &'static str,
}

impl Wire {
    pub(crate) fn new(access: &Access) -> Result<Self, ForgeError> {
        let forge = access.forge();
        let variables = access.kind.variables();
        let settings = |reason: String| ForgeError::Settings { forge: forge.clone(), reason };
        let Some(token) = access.token.clone() else {
            return Err(ForgeError::NoToken { forge, variables });
        };
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(settings(format!(
                "the token has characters that no token has; check {variables}"
            )));
        }
        let api = access.api.trim_end_matches('/').to_owned();
        if !api.starts_with("https://") && !api.starts_with("http://") {
            return Err(settings(format!("`{api}` is no address")));
        }
        // Whoever was first has chosen.
        let _chosen = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .user_agent(concat!("agentos/", env!("CARGO_PKG_VERSION")))
            .timeout(access.retry_policy.answer)
            // A request that opens something must not become another one on the way.
            .redirect(Policy::none())
            .build()
            .map_err(|error| settings(reason(&error)))?;
        Ok(Self { client, api, token, forge, variables })
    }

    pub(crate) async fn read<T: DeserializeOwned>(&self, route: &str) -> Result<T, ForgeError> {
        self.exchange(Method::GET, route, None).await
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        route: &str,
        body: &Value,
    ) -> Result<T, ForgeError> {
        self.exchange(Method::POST, route, Some(body)).await
    }

    async fn exchange<T: DeserializeOwned>(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<T, ForgeError> {
        let (status, headers, text) = self.answer(method, route, body).await?;
        if status.is_success() {
            return serde_json::from_slice(&text).map_err(|error| ForgeError::Unexpected {
                forge: self.forge.clone(),
                reason: error.to_string(),
            });
        }
        Err(self.refusal(status, &headers, &text, route))
    }

    async fn answer(
        &self,
        method: Method,
        route: &str,
        body: Option<&Value>,
    ) -> Result<(StatusCode, HeaderMap, Vec<u8>), ForgeError> {
        let request = self.client.request(method, format!("{}{route}", self.api));
        let request = request.bearer_auth(&self.token).header(ACCEPT, "application/json");
        let request = match body {
            Some(body) => request.header(CONTENT_TYPE, "application/json").body(body.to_string()),
            None => request,
        };
        let mut response = request.send().await.map_err(|error| self.unreachable(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let mut text = Vec::new();
        while let Some(part) = response.chunk().await.map_err(|error| self.unreachable(&error))? {
            if text.len() + part.len() > ANSWER_BYTES {
                let reason = format!("it is larger than {ANSWER_BYTES} bytes");
                return Err(ForgeError::Unexpected { forge: self.forge.clone(), reason });
            }
            text.extend_from_slice(&part);
        }
        Ok((status, headers, text))
    }

    fn unreachable(&self, error: &reqwest::Error) -> ForgeError {
        ForgeError::Unreachable { forge: self.forge.clone(), reason: reason(error) }
    }

    fn refusal(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        text: &[u8],
        route: &str,
    ) -> ForgeError {
        let (forge, said, code) = (self.forge.clone(), said(text), status.as_u16());
        let is_spent = headers.get("x-ratelimit-remaining").is_some_and(|left| left == "0");
        let wants_rest = is_spent || headers.contains_key("retry-after");
        match code {
            429 => ForgeError::TooMany { forge, status: code, said, after: pause(headers) },
            403 if wants_rest => {
                ForgeError::TooMany { forge, status: code, said, after: pause(headers) }
            }
            401 => ForgeError::Unauthorized { forge, said, variables: self.variables },
            403 => ForgeError::Forbidden { forge, said },
            404 => ForgeError::NotFound { forge, what: asked_for(route) },
            500.. => ForgeError::Failed { forge, status: code, said },
            _ => ForgeError::Invalid { forge, status: code, said },
        }
    }
}

/// What a route is about, for people.
fn asked_for(route: &str) -> String {
    route.split('?').next().unwrap_or(route).trim_start_matches('/').to_owned()
}

/// How long the forge wants to be left alone, within reason.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get("retry-after")?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds).min(LONGEST_PAUSE))
}

/// The innermost reason: the outer ones only say that something was sent, and where to.
fn reason(error: &reqwest::Error) -> String {
    let mut source: &dyn std::error::Error = error;
    while let Some(inner) = source.source() {
        source = inner;
    }
    source.to_string()
}

/// What a refusal says: its message, and what is wrong with each field.
fn said(text: &[u8]) -> String {
    let Ok(document) = serde_json::from_slice::<Value>(text) else {
        let text = String::from_utf8_lossy(text);
        let line = text.trim().lines().next().unwrap_or_default().to_owned();
        return bounded(if line.is_empty() || line.starts_with('<') {
            "it did not say why".to_owned()
        } else {
            line
        });
    };
    let message =
        document.get("message").or_else(|| document.get("error")).map(words).unwrap_or_default();
    let details = document.get("errors").map(words).unwrap_or_default();
    let both: Vec<String> =
        [message, details].into_iter().filter(|part| !part.is_empty()).collect();
    bounded(if both.is_empty() { "it did not say why".to_owned() } else { both.join(": ") })
}

/// The words of a value, however the forge has wrapped them.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(words).collect::<Vec<_>>().join("; "),
        Value::Object(fields) => match fields.get("message").and_then(Value::as_str) {
            Some(message) => message.to_owned(),
            None => {
                let named = fields.iter().map(|(name, value)| format!("{name} {}", words(value)));
                named.collect::<Vec<_>>().join(", ")
            }
        },
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn bounded(text: String) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SAID_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
