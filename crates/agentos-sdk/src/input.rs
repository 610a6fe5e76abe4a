//! Inputs against their schema, before a run starts.
//!
//! Every way to start a run (command line, REST, MCP, `ctx.invoke`, a fork with another input) takes its input from
//! [`accept_input`], so all of them apply the same defaults and refuse the same mistakes. A wrong input is refused field
//! by field before anything is created.

mod defaults;
mod names;
mod problems;
mod wrong_defaults;

use agentos_core::bounds;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::{self, Value, ValueError};
use serde_json::json;
use thiserror::Error;

pub use problems::InputProblem;
use problems::{NOT_KNOWN, PROBLEMS, listed, pointer_part, violations};
pub use wrong_defaults::{WrongDefault, wrong_defaults};

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

/// Completes an input with the defaults of its schema, and checks the result. At every depth, a schema that lists properties
/// without a word about others takes only those. Nothing is fetched: references lead within the schema.
///
/// # Errors
/// [`InputError`] says which fields are wrong and how, or what is wrong with the schema.
pub fn accept_input(schema: Option<&Value>, mut input: Value) -> Result<Value, InputError> {
    // An input that is too large is not worth a look, and its fields are not worth quoting.
    check_size(&input)?;
    let Some(schema) = schema else { return Ok(input) };
    let added = defaults::complete(schema, &mut input)?;
    check_size(&input)?;
    let fitting = violations(schema, &input, "input").map_err(InputError::Schema)?;
    let mut found = with_unknown_names(fitting, (schema, schema), &input, "input");
    for problem in &mut found {
        if added.iter().any(|default| is_within(&problem.pointer, default)) {
            problem.message.push_str(" (the default in the workflow's schema is wrong)");
        }
    }
    if found.is_empty() { Ok(input) } else { Err(InputError::Invalid(found)) }
}

/// What the validator has found and names that no schema lists, in an order of ours, and each field once.
fn with_unknown_names(
    mut found: Vec<InputProblem>,
    (root, schema): (&Value, &Value),
    value: &Value,
    name: &str,
) -> Vec<InputProblem> {
    let unknown = names::unknown((root, schema), value, name);
    // The validator finds some of them too, and has nothing to suggest.
    found.retain(|one| {
        one.message != NOT_KNOWN || unknown.iter().all(|other| other.path != one.path)
    });
    found.extend(unknown);
    found.sort_by(|one, other| one.path.cmp(&other.path));
    found.dedup();
    found.truncate(PROBLEMS);
    found
}

fn is_within(pointer: &str, outer: &str) -> bool {
    pointer.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Takes out of an input what its schema does not list, at every depth: the input of an older run, whose workflow listed it. Says
/// the paths.
pub fn remove_unknown(schema: Option<&Value>, input: &mut Value) -> Vec<String> {
    let mut removed = Vec::new();
    let Some(schema) = schema else { return removed };
    loop {
        // As many as are told at once.
        let unknown = names::unknown((schema, schema), input, "");
        let before = removed.len();
        for InputProblem { path, pointer, .. } in unknown {
            let (object, name) = pointer.rsplit_once('/').unwrap_or_default();
            let Some(fields) = input.pointer_mut(object).and_then(Value::as_object_mut) else {
                continue;
            };
            let count = fields.len();
            fields.retain(|field, _| pointer_part(field) != format!("/{name}"));
            if fields.len() < count {
                removed.push(path.trim_start_matches('.').to_owned());
            }
        }
        if removed.len() == before {
            return removed;
        }
    }
}

/// Why an agent's answer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum AnswerError {
    /// It does not fit the schema.
    #[error("the answer does not fit the schema: {}", listed(.0))]
    Invalid(Vec<InputProblem>),
    /// The schema itself is wrong.
    #[error("{0}")]
    Schema(String),
}

/// Checks what an agent has answered against the schema that it was given. Nothing is added to an answer.
///
/// # Errors
/// [`AnswerError`] says what is wrong.
pub fn check_answer(schema: &Value, answer: &Value) -> Result<(), AnswerError> {
    let mut found = violations(schema, answer, "answer").map_err(AnswerError::Schema)?;
    found.sort_by(|one, other| one.path.cmp(&other.path));
    if found.is_empty() { Ok(()) } else { Err(AnswerError::Invalid(found)) }
}

/// Refuses an input that no log takes, and names its largest field.
fn check_size(input: &Value) -> Result<(), InputError> {
    let message = match value::check(input) {
        Ok(()) => return Ok(()),
        Err(ValueError::TooDeep) => {
            let problem = InputProblem {
                path: "input".to_owned(),
                pointer: String::new(),
                message: format!("nests deeper than {} levels", bounds::VALUE_DEPTH),
            };
            return Err(InputError::Invalid(vec![problem]));
        }
        Err(ValueError::TooLarge) => format!(
            "is too large: all inputs of a run together may have {} bytes ({} MB); give large data as a file \
             (`\"format\": \"file\"` in the schema)",
            bounds::VALUE_BYTES,
            bounds::VALUE_BYTES >> 20
        ),
    };
    let largest = input.as_object().and_then(|fields| {
        fields.iter().max_by_key(|(name, value)| name.len() + value.to_string().len())
    });
    let problem = match largest {
        Some((name, _)) => InputProblem::below(("input", ""), name, &message),
        None => InputProblem { path: "input".to_owned(), pointer: String::new(), message },
    };
    Err(InputError::Invalid(vec![problem]))
}
