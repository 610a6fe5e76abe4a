//! Who commits. jj makes commits of nobody if nothing is configured; those are refused.

use agentos_process::tool::Tool;

use super::super::Result;
use super::super::error::VersionControlError;
use super::super::request::Person;
use super::{JjRepository, UNRECORDED};

impl JjRepository {
    /// The one who is configured in jj, else in git.
    fn configured(&self) -> Result<Option<(String, String)>> {
        let (name, email) = (self.setting("user.name")?, self.setting("user.email")?);
        match (name, email) {
            (Some(name), Some(email)) => Ok(Some((name, email))),
            _ => self.store.committer(),
        }
    }

    fn setting(&self, name: &str) -> Result<Option<String>> {
        let question = self.tool([UNRECORDED, "config", "get", name]);
        let answer = self.ask("config", &question)?;
        let value = String::from_utf8_lossy(&answer.output).trim().to_owned();
        Ok(Some(value).filter(|value| answer.is_success() && !value.is_empty()))
    }

    /// Who commits: whoever is configured, else the author.
    pub(super) fn committer(&self, author: Option<&Person>) -> Result<(String, String)> {
        let author = author.map(|Person { name, email }| (name.clone(), email.clone()));
        self.configured()?.or(author).ok_or(VersionControlError::NoIdentity)
    }
}

/// The same program in the name of somebody.
pub(super) fn in_name_of(tool: Tool, (name, email): &(String, String)) -> Tool {
    tool.set("JJ_USER", name).set("JJ_EMAIL", email)
}
