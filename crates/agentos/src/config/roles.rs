//! `[roles]`: which agent plays which role of a workflow.
//!
//! A name with an agent holds for every workflow, a table for the workflow of its name:
//!
//! ```toml
//! [roles]
//! implementer = "claude"
//! full-sdlc.reviewer = "gemini"
//! ```

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[roles]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Roles {
    said: Setting<BTreeMap<String, Said>>,
}

/// An agent for a role everywhere, or the roles of one workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a role is given to an agent: implementer = \"claude\"")]
enum Said {
    Agent(String),
    Workflow(BTreeMap<String, String>),
}

impl Roles {
    /// Who plays the role of a workflow, if anybody has said so.
    pub(crate) fn agent(&self, workflow: &str, role: &str) -> Option<&str> {
        let said = &self.said.value;
        let of_workflow = match said.get(workflow) {
            Some(Said::Workflow(roles)) => roles.get(role),
            _ => None,
        };
        let everywhere = match said.get(role) {
            Some(Said::Agent(agent)) => Some(agent),
            _ => None,
        };
        of_workflow.or(everywhere).map(String::as_str)
    }

    /// One row for all of them, if there are any.
    pub(super) fn rows(&self) -> Vec<Row> {
        if self.said.value.is_empty() {
            return Vec::new();
        }
        let value = toml::Value::try_from(&self.said.value);
        let value = value.unwrap_or(toml::Value::String("?".to_owned()));
        vec![Row { key: "roles", value: value.to_string(), origin: self.said.origin.clone() }]
    }
}

/// `[roles]` as it is written.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Written(BTreeMap<String, Said>);

/// `[roles]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    said: Option<Setting<BTreeMap<String, Said>>>,
}

impl Layer {
    pub(super) fn of_file(written: Option<Spanned<Written>>, file: &File) -> Self {
        Self { said: written.map(|written| file.setting(written, |Written(said)| said)) }
    }

    /// Roles that only the source below speaks of hold too.
    pub(super) fn over(self, below: Self) -> Self {
        let said = match (self.said, below.said) {
            (Some(mut above), Some(below)) => {
                for (name, said) in below.value {
                    add(&mut above.value, name, said);
                }
                Some(above)
            }
            (above, below) => above.or(below),
        };
        Self { said }
    }

    pub(super) fn or_default(self) -> Roles {
        Roles { said: self.said.unwrap_or(Setting::default(BTreeMap::new())) }
    }
}

/// Adds what is not said yet.
fn add(above: &mut BTreeMap<String, Said>, name: String, below: Said) {
    match (above.get_mut(&name), below) {
        (None, below) => {
            above.insert(name, below);
        }
        (Some(Said::Workflow(above)), Said::Workflow(below)) => {
            for (role, agent) in below {
                above.entry(role).or_insert(agent);
            }
        }
        (Some(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(text: &str) -> Layer {
        let Written(said) = toml::from_str(text).expect("roles");
        Layer { said: Some(Setting::default(said)) }
    }

    #[test]
    fn what_is_said_of_one_workflow_wins_over_what_is_said_of_all() {
        let above = layer("reviewer = \"claude\"\nfull-sdlc.reviewer = \"gemini\"");
        let below =
            layer("reviewer = \"codex\"\nplanner = \"codex\"\nfull-sdlc.planner = \"mine\"");
        let roles = above.over(below).or_default();
        assert_eq!(roles.agent("issue", "reviewer"), Some("claude"));
        assert_eq!(roles.agent("full-sdlc", "reviewer"), Some("gemini"));
        assert_eq!(roles.agent("full-sdlc", "planner"), Some("mine"));
        assert_eq!(roles.agent("issue", "planner"), Some("codex"));
        assert_eq!(roles.agent("issue", "author"), None);
    }
}
