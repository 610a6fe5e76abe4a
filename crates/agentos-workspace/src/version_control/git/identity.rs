//! Who commits.
//!
//! git makes up a name and an address of the machine's if it has to. A history full of those is of no use to anybody, so
//! that is refused; whoever has nothing configured names an author, who then also counts as the one who commits.

use agentos_process::tool::Tool;

use super::super::Result;
use super::super::error::VersionControlError;
use super::super::request::Person;
use super::GitRepository;

impl GitRepository {
    /// The same program, with those in its environment that make the commit.
    pub(super) fn with_identity(&self, tool: Tool, author: Option<&Person>) -> Result<Tool> {
        let tool = match author {
            Some(Person { name, email }) => {
                tool.set("GIT_AUTHOR_NAME", name).set("GIT_AUTHOR_EMAIL", email)
            }
            None => tool,
        };
        if self.is_known("GIT_COMMITTER_IDENT")? {
            let is_complete = author.is_some() || self.is_known("GIT_AUTHOR_IDENT")?;
            return if is_complete { Ok(tool) } else { Err(VersionControlError::NoIdentity) };
        }
        let Person { name, email } = author.ok_or(VersionControlError::NoIdentity)?;
        Ok(tool.set("GIT_COMMITTER_NAME", name).set("GIT_COMMITTER_EMAIL", email))
    }

    fn is_known(&self, who: &str) -> Result<bool> {
        let question = self.question(["-c", "user.useConfigOnly=true", "var", who]);
        Ok(self.ask("var", &question)?.is_success())
    }
}
