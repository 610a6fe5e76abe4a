//! What a validator says about a value, field by field.

use std::fmt;

use agentos_core::value::Value;
use jsonschema::error::ValidationErrorKind;
use jsonschema::{ValidationError, Validator, validator_for};

/// How many problems are told of at once.
pub(super) const PROBLEMS: usize = 20;

/// What is said of a property that no schema lists.
pub(super) const NOT_KNOWN: &str = "is not known";

/// The longest description of a problem, in bytes: it quotes what was given.
const MESSAGE_BYTES: usize = 300;

/// The longest name that is told, in bytes.
const NAME_BYTES: usize = 100;

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

impl InputProblem {
    /// A problem with a field of what is at this path and pointer.
    pub(super) fn below((path, pointer): (&str, &str), name: &str, message: &str) -> Self {
        let name = &name[..name.floor_char_boundary(NAME_BYTES)];
        Self {
            path: format!("{path}.{name}"),
            pointer: format!("{pointer}{}", pointer_part(name)),
            message: message.to_owned(),
        }
    }
}

impl fmt::Display for InputProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.message)
    }
}

/// Problems as one sentence.
pub(super) fn listed(problems: &[InputProblem]) -> String {
    problems.iter().map(InputProblem::to_string).collect::<Vec<_>>().join("; ")
}

/// What does not fit a schema, with paths that begin with `root`.
///
/// # Errors
/// What is wrong with the schema.
pub(super) fn violations(
    schema: &Value,
    value: &Value,
    root: &str,
) -> Result<Vec<InputProblem>, String> {
    let validator = validator_for(schema).map_err(|error| error.to_string())?;
    Ok(find_problems(&validator, value, root))
}

/// The same, of what a validator finds.
pub(super) fn find_problems(validator: &Validator, value: &Value, root: &str) -> Vec<InputProblem> {
    let errors = validator.iter_errors(value);
    errors.flat_map(|error| problems(&error, root)).take(PROBLEMS).collect()
}

/// A name as a part of a JSON pointer.
pub(super) fn pointer_part(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// A field that is missing or unknown is named itself, and not the object around it.
fn problems(error: &ValidationError<'_>, root: &str) -> Vec<InputProblem> {
    let pointer = error.instance_path().as_str().to_owned();
    let path = path(root, &pointer);
    let below = |name: &str, message: &str| InputProblem::below((&path, &pointer), name, message);
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            vec![below(property.as_str().unwrap_or_default(), "is missing")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => {
            unexpected.iter().map(|name| below(name, NOT_KNOWN)).collect()
        }
        _ => {
            let message = format!("is wrong: {}", cut(error.to_string()));
            vec![InputProblem { path, pointer, message }]
        }
    }
}

/// `/files/2/name` as a workflow's author would write it.
pub(super) fn path(root: &str, pointer: &str) -> String {
    let mut path = root.to_owned();
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
