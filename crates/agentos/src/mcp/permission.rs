//! What agents may do. Decided when the server starts: an agent that edits the configuration gains nothing by it.

use crate::error::{CommandError, Result};
use crate::guard;
use agentos_workspace::surroundings::Surroundings;

/// Something that has to be allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Permission {
    /// Starting workflows
    Run,
    /// Sending events to runs
    Signal,
    /// Answering the questions of runs
    Approve,
}

impl Permission {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Signal => "signal",
            Self::Approve => "approve",
        }
    }
}

impl From<Permission> for toml::Value {
    fn from(permission: Permission) -> Self {
        permission.as_str().into()
    }
}

/// What is allowed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Allowed(Vec<Permission>);

impl Allowed {
    pub(crate) fn new(permissions: &[Permission]) -> Self {
        Self(permissions.to_vec())
    }

    /// Refuses a tool that was not allowed, or never is, and says what a person has to do.
    pub(super) fn check(
        &self,
        tool: &str,
        needed: Permission,
        surroundings: &Surroundings,
    ) -> Result<()> {
        if needed == Permission::Approve {
            guard::refuse_own(surroundings)?;
        }
        if self.0.contains(&needed) {
            return Ok(());
        }
        let name = needed.as_str();
        let error = CommandError::refused(format!("`{tool}` is not allowed here"));
        Err(match needed {
            Permission::Approve => error.hint(
                "ask the person you work for: they answer with `agentos approve`, or start this server with \
                 `agentos mcp --allow approve`",
            ),
            Permission::Run | Permission::Signal => error.hint(format!(
                "ask the person you work for: they start this server with `agentos mcp --allow {name}`, or write \
                 `[mcp] allow = [\"{name}\"]` into .agent/config.toml and start it anew"
            )),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_allowed_is_refused_with_what_a_person_has_to_do() {
        let nowhere = Surroundings::default();
        let allowed = Allowed::new(&[Permission::Run]);
        assert_eq!(allowed.check("start_workflow", Permission::Run, &nowhere), Ok(()));
        let refused = allowed.check("signal", Permission::Signal, &nowhere).unwrap_err();
        assert!(refused.to_string().contains("`agentos mcp --allow signal`"), "{refused}");
        let refused = allowed.check("approve", Permission::Approve, &nowhere).unwrap_err();
        assert!(refused.to_string().contains("`agentos approve`"), "{refused}");
    }

    #[test]
    fn a_run_does_not_answer_its_own_questions_whatever_was_allowed() {
        let mut within = Surroundings::default();
        within.environment.insert("AGENTOS_OPERATION".into(), "0123".into());
        let allowed = Allowed::new(&[Permission::Approve, Permission::Signal]);
        let refused = allowed.check("approve", Permission::Approve, &within).unwrap_err();
        assert!(refused.message.contains("a run has started"), "{refused}");
        assert_eq!(allowed.check("signal", Permission::Signal, &within), Ok(()));
    }
}
