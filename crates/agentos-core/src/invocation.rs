//! What an invocation asks for besides the workflow: its input, and where the child run works.
//!
//! As a rule the arguments of an invocation are the input itself. Only where more is said are they wrapped; nobody's input
//! looks like that by accident.

use serde_json::{Map, Value};

const INPUT: &str = "$input";
const WORKSPACE: &str = "$workspace";

/// What is said beside the input.
const OWN: &str = "own";

/// What an invocation asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Invoked {
    /// The child's input.
    pub input: Value,
    /// Whether the child gets a workspace of its own, rather than its parent's.
    pub has_own_workspace: bool,
}

impl Invoked {
    /// As the arguments of the operation.
    #[must_use]
    pub fn into_args(self) -> Value {
        if !self.has_own_workspace {
            return self.input;
        }
        let pairs = [(INPUT, self.input), (WORKSPACE, OWN.into())];
        Value::Object(pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// From the arguments of the operation.
    #[must_use]
    pub fn of_args(args: Value) -> Self {
        let is_wrapped = |map: &Map<String, Value>| {
            map.len() == 2
                && map.contains_key(INPUT)
                && map.get(WORKSPACE).is_some_and(|said| said == OWN)
        };
        match args {
            Value::Object(mut map) if is_wrapped(&map) => {
                let input = map.remove(INPUT).unwrap_or_default();
                Self { input, has_own_workspace: true }
            }
            input => Self { input, has_own_workspace: false },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_asked_for_comes_out_as_it_went_in() {
        for input in [json!(null), json!({ "a": 1 }), json!({ "$input": 1 })] {
            for has_own_workspace in [false, true] {
                let asked = Invoked { input: input.clone(), has_own_workspace };
                assert_eq!(Invoked::of_args(asked.clone().into_args()), asked);
            }
        }
    }
}
