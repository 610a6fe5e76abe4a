//! What a run calls itself and its places, put out of sight.
//!
//! A workflow may hand its own id or the path of its workspace to a command. A fork has others; it asks for the same
//! thing all the same. So these count as placeholders wherever arguments are compared.

use crate::value::Value;

/// Texts that stand for the run itself: each with its placeholder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names(Vec<(String, &'static str)>);

impl Names {
    /// Adds a text: `name` is how the run is called, `placeholder` what that stands for.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, placeholder: &'static str) -> Self {
        let name = name.into();
        if !name.is_empty() {
            self.0.push((name, placeholder));
            // The longest first: a path may begin with another one.
            self.0.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        }
        self
    }

    /// The value with every such text replaced by its placeholder.
    #[must_use]
    pub fn hidden_in(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.hidden_in_text(text)),
            Value::Array(items) => items.iter().map(|item| self.hidden_in(item)).collect(),
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, item)| (self.hidden_in_text(key), self.hidden_in(item)));
                Value::Object(fields.collect())
            }
            other => other.clone(),
        }
    }

    fn hidden_in_text(&self, text: &str) -> String {
        self.0
            .iter()
            .fold(text.to_owned(), |text, (name, placeholder)| text.replace(name, placeholder))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_fork_asks_for_the_same_thing_under_other_names() {
        let old = Names::default().with("/w/fix-abc", "{workspace}").with("fix-abc", "{run}");
        let new = Names::default().with("fix-xyz", "{run}").with("/w/fix-xyz", "{workspace}");
        let asked = |workspace: &str, run: &str| json!({ "cwd": workspace, "args": [format!("--run={run}"), 7] });
        assert_eq!(
            old.hidden_in(&asked("/w/fix-abc", "fix-abc")),
            new.hidden_in(&asked("/w/fix-xyz", "fix-xyz"))
        );
        assert_ne!(
            old.hidden_in(&asked("/w/fix-abc", "fix-abc")),
            new.hidden_in(&asked("/w/other", "fix-xyz"))
        );
        assert_eq!(Names::default().with("", "{nothing}").hidden_in(&json!("a")), json!("a"));
    }
}
