//! Inputs against their schema, before a run starts.
//!
//! A run whose input is wrong would fail in the middle of its work, or do the wrong thing; whoever starts it is told at
//! once instead, field by field.

use std::fmt;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, validator_for};
use serde_json::json;
use thiserror::Error;

/// How many problems are told of at once.
const PROBLEMS: usize = 20;

/// The longest description of a problem, in bytes: it quotes what was given.
const MESSAGE_BYTES: usize = 300;

/// One thing that is wrong with an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputProblem {
    /// Where: `input`, or a field below it such as `input.files[2].name`.
    pub path: String,
    /// The same as a JSON pointer into the input: `/files/2/name`.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.message)
    }
}

/// Why an input is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum InputError {
    /// It does not fit the schema.
    #[error("the input is not what the workflow takes: {}", listed(.0))]
    Invalid(Vec<InputProblem>),
    /// The schema itself is wrong: its author has to mend it.
    #[error("the workflow's input schema can't be used: {0}")]
    Schema(String),
}

fn listed(problems: &[InputProblem]) -> String {
    problems.iter().map(InputProblem::to_string).collect::<Vec<_>>().join("; ")
}

impl InputError {
    /// As the failure of whoever asked for the run. Asking again would not help.
    #[must_use]
    pub fn into_failure(self) -> Failure {
        let problems: &[InputProblem] = match &self {
            Self::Invalid(problems) => problems,
            Self::Schema(_) => &[],
        };
        let fields: Vec<Value> = problems
            .iter()
            .map(|problem| json!({ "path": problem.path, "message": problem.message }))
            .collect();
        let detail = json!({ "reason": "invalid_input", "problems": fields });
        Failure {
            detail: Some(detail),
            ..Failure::new(FailureKind::NonRetryable, self.to_string())
        }
    }
}

/// Checks an input against a JSON schema. Nothing is fetched for it: references lead within the schema.
///
/// # Errors
/// [`InputError`] says which fields are wrong and how, or what is wrong with the schema.
pub fn check_input(schema: &Value, input: &Value) -> Result<(), InputError> {
    let validator = validator_for(schema).map_err(|error| InputError::Schema(error.to_string()))?;
    let mut problems: Vec<InputProblem> =
        validator.iter_errors(input).flat_map(|error| problems(&error)).take(PROBLEMS).collect();
    // In an order of ours, not the validator's.
    problems.sort_by(|one, other| one.path.cmp(&other.path));
    if problems.is_empty() { Ok(()) } else { Err(InputError::Invalid(problems)) }
}

/// A field that is missing or unknown is named itself, and not the object around it.
fn problems(error: &ValidationError<'_>) -> Vec<InputProblem> {
    let pointer = error.instance_path().as_str().to_owned();
    let path = path(&pointer);
    let below = |name: &str, message: &str| InputProblem {
        path: format!("{path}.{name}"),
        pointer: format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1")),
        message: message.to_owned(),
    };
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![below(property.as_str().unwrap_or_default(), "is missing")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| below(name, "is not known")).collect()
        }
        _ => {
            let message = format!("is wrong: {}", cut(error.to_string()));
            vec![InputProblem { path, pointer, message }]
        }
    }
}

/// `/files/2/name` as a workflow's author would write it.
fn path(pointer: &str) -> String {
    let mut path = "input".to_owned();
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        if name.bytes().all(|byte| byte.is_ascii_digit()) {
            path.push_str(&format!("[{name}]"));
        } else {
            path.push('.');
            path.push_str(&name);
        }
    }
    path
}

fn cut(mut text: String) -> String {
    if text.len() > MESSAGE_BYTES {
        text.truncate(text.floor_char_boundary(MESSAGE_BYTES));
        text.push('…');
    }
    text
}
