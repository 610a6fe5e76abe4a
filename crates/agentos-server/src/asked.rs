//! What a request says: parameters and bodies, understood strictly, and complained about by name.
//!
//! Names may be written as in JavaScript or as in SQL (`workflowId`, `workflow_id`). A parameter that nobody knows is a
//! mistake of whoever wrote it, and silence about it would show them the wrong list.

use std::str::FromStr;

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// The largest body that is ever taken, in bytes; the listener is stricter as a rule.
const BODY: usize = 64 << 20;

/// The longest value of a parameter, in bytes.
const LONGEST: usize = 4_096;

/// The parameters behind the question mark.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pairs: Vec<(String, String)>,
}

impl<S: Send + Sync> FromRequestParts<S> for Asked {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs: Vec<(String, String)> = serde_urlencoded::from_str(query)
            .map_err(|error| Problem::bad_request(format!("the query can't be read: {error}")))?;
        if let Some((name, _)) = pairs.iter().find(|(_, value)| value.len() > LONGEST) {
            return Err(Problem::parameter(name, format!("is longer than {LONGEST} bytes")));
        }
        Ok(Self { pairs })
    }
}

impl Asked {
    /// Refuses parameters that none of these is.
    pub(crate) fn only(&self, known: &[&str]) -> Result<(), Problem> {
        let is_known = |name: &str| known.iter().any(|known| is_spelling(known, name));
        match self.pairs.iter().find(|(name, _)| !is_known(name)) {
            None => Ok(()),
            Some((name, _)) if known.is_empty() => {
                Err(Problem::parameter(name, "is not known; nothing is taken here"))
            }
            Some((name, _)) => Err(Problem::parameter(name, "is not known")
                .hint(format!("there are {}", known.join(", ")))),
        }
    }

    /// All values of a parameter; also several in one, with commas.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let given = self.pairs.iter().filter(move |(given, _)| is_spelling(name, given));
        given.flat_map(|(_, value)| value.split(',')).filter(|value| !value.is_empty())
    }

    /// The value of a parameter that is given once.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Problem> {
        let mut given = self.pairs.iter().filter(|(given, _)| is_spelling(name, given));
        let first = given.next().map(|(_, value)| value.as_str());
        match given.next() {
            None => Ok(first.filter(|value| !value.is_empty())),
            Some(_) => Err(Problem::parameter(name, "is given more than once")),
        }
    }

    /// The value of a parameter, as what it has to be.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, what: &str) -> Result<Option<T>, Problem> {
        let read = |value: &str| {
            value.parse().map_err(|_| Problem::parameter(name, format!("has to be {what}")))
        };
        self.one(name)?.map(read).transpose()
    }

    /// A number in a range.
    pub(crate) fn number(
        &self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, Problem> {
        let what = format!("a number from {} to {}", range.start(), range.end());
        let number: Option<u64> = self.parsed(name, &what)?;
        match number {
            Some(number) if !range.contains(&number) => {
                Err(Problem::parameter(name, format!("has to be {what}")))
            }
            number => Ok(number),
        }
    }

    /// Yes or no.
    pub(crate) fn flag(&self, name: &str) -> Result<Option<bool>, Problem> {
        match self.one(name)? {
            None => Ok(None),
            Some("true" | "1") => Ok(Some(true)),
            Some("false" | "0") => Ok(Some(false)),
            Some(_) => Err(Problem::parameter(name, "has to be `true` or `false`")),
        }
    }
}

/// Whether somebody means this name: `workflowId`, `workflow_id`.
fn is_spelling(name: &str, given: &str) -> bool {
    if name == given {
        return true;
    }
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake == given
}

/// A body in JSON. Where nothing is sent, that is an empty object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Given<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Given<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &S) -> Result<Self, Problem> {
        let is_json = is_json(request.headers());
        let bytes = axum::body::to_bytes(request.into_body(), BODY).await.map_err(unread)?;
        if bytes.is_empty() {
            return understood(b"{}").map(Self);
        }
        if !is_json {
            let status = StatusCode::UNSUPPORTED_MEDIA_TYPE;
            return Err(Problem::new(status, "the body has to be JSON")
                .hint("send it with `Content-Type: application/json`"));
        }
        // Nothing is nothing, however it is written.
        let bytes: &[u8] = if bytes.trim_ascii() == b"null" { b"{}" } else { &bytes };
        // A list could be read as fields in their order, and nobody means that.
        if bytes.trim_ascii_start().first() == Some(&b'[') {
            let status = StatusCode::UNPROCESSABLE_ENTITY;
            return Err(Problem::new(status, "the body has to be an object, and is a list"));
        }
        understood(bytes).map(Self)
    }
}

fn unread(error: axum::Error) -> Problem {
    let causes = std::iter::successors(std::error::Error::source(&error), |cause| cause.source());
    let is_too_long =
        causes.into_iter().any(<dyn std::error::Error>::is::<http_body_util::LengthLimitError>);
    match is_too_long {
        true => {
            Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "the body is longer than is taken here")
                .hint("write large data into a file of the project and give its path")
        }
        false => Problem::bad_request(format!("the body can't be read: {error}")),
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
    kind.eq_ignore_ascii_case("application/json")
        || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn understood<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let reader = &mut serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut *reader).map_err(|error| {
        let inner = error.inner();
        if inner.is_syntax() || inner.is_eof() {
            return Problem::bad_request(format!("the body is no JSON: {inner}"));
        }
        let pointer = pointer(error.path());
        // The place in the text says nothing to whoever made it with a program.
        let said = inner.to_string();
        let said = said.split(" at line ").next().unwrap_or_default().to_owned();
        Problem::field(&pointer, format!("is wrong: {said}"))
    })?;
    reader.end().map_err(|error| Problem::bad_request(format!("the body is no JSON: {error}")))?;
    Ok(value)
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let part = |segment: &Segment| match segment {
        Segment::Seq { index } => format!("/{index}"),
        Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
        Segment::Enum { variant } => format!("/{variant}"),
        Segment::Unknown => String::new(),
    };
    path.iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[test]
    fn names_may_be_spelled_both_ways() {
        assert!(
            is_spelling("workflowId", "workflowId") && is_spelling("workflowId", "workflow_id")
        );
        assert!(!is_spelling("workflowId", "workflowid"));
    }

    #[test]
    fn a_field_that_is_wrong_is_named_by_its_pointer() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            #[expect(dead_code, reason = "only read from JSON")]
            number: u32,
        }
        #[derive(Debug, Deserialize)]
        struct Outer {
            #[expect(dead_code, reason = "only read from JSON")]
            list: Vec<Inner>,
        }
        let wrong = understood::<Outer>(br#"{"list": [{"number": 1}, {"number": "x"}]}"#);
        let problem = wrong.unwrap_err();
        assert_eq!(problem.status, 422);
        assert_eq!(problem.errors[0].pointer.as_deref(), Some("/list/1/number"));
        assert_eq!(understood::<Outer>(b"{").unwrap_err().status, 400);
        assert_eq!(understood::<Outer>(b"{\"list\": []} x").unwrap_err().status, 400);
    }
}
