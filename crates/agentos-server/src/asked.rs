//! What a request says: parameters and bodies, understood strictly, and complained about by name.
//!
//! Names may be written as in JavaScript or as in SQL (`workflowId`, `workflow_id`). A parameter that nobody knows is a
//! mistake of whoever wrote it, and silence about it would show them the wrong list.

mod body;
mod named;
mod rules;

use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::problem::Problem;
pub(crate) use body::Given;
pub(crate) use named::{Named, TheRun};

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

/// No parameters: whoever gives one is told that nothing is taken.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Nothing;

impl<S: Send + Sync> FromRequestParts<S> for Nothing {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Asked::from_request_parts(parts, state).await?.only(&[]).map(|()| Self)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_be_spelled_both_ways() {
        assert!(
            is_spelling("workflowId", "workflowId") && is_spelling("workflowId", "workflow_id")
        );
        assert!(!is_spelling("workflowId", "workflowid"));
    }
}
