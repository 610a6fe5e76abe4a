//! Rebasing onto a base, or not at all.
//!
//! jj rebases whatever it is asked to, and writes conflicts into commits. So it is tried first, in an operation that jj makes
//! and does not take over; only if nothing is in conflict there it is done.

use std::time::Duration;

use super::super::Result;
use super::super::git::remote::Deadline;
use super::super::remote::Base;
use super::super::remote::error::RemoteError;
use super::identity::in_name_of;
use super::{JjRepository, UNRECORDED, refused};
use crate::jj::quoted;

impl JjRepository {
    pub(super) fn rebase_onto(&self, base: &Base, timeout: Duration) -> Result<()> {
        let _alone = self.alone()?;
        let until = Deadline::after(timeout);
        let standing = self.record()?;
        standing.refuse_conflicts()?;
        let no = |reason: String| Err(RemoteError::NotNow { reason }.into());
        if self.checked_out()?.as_deref() != Some(&base.head) {
            return no(format!("`{}` is not what is checked out", base.head));
        }
        if !standing.is_empty {
            return no("some changed files are not committed; commit them first".to_owned());
        }
        self.fetch_branch(&base.remote.name, &base.base, until)?;
        let words = ["rebase", "--branch", "@", "--onto", &base.base_commit];
        let who = self.committer(None)?;
        let files = self.conflicts_of(&words, &who, &base.base_commit)?;
        if !files.is_empty() {
            return Err(RemoteError::Conflicts { base: base.base.clone(), files }.into());
        }
        let tool = in_name_of(self.tool(words), &who).timeout(until.left("jj rebase")?);
        self.altered("rebase", &tool)?;
        self.export()
    }

    /// The files that would be in conflict afterwards. Nothing is changed.
    fn conflicts_of(
        &self,
        words: &[&str],
        who: &(String, String),
        onto: &str,
    ) -> Result<Vec<String>> {
        let trial = [UNRECORDED, "--no-integrate-operation"].iter().chain(words).copied();
        let answer = self.ask("rebase", &in_name_of(self.tool(trial), who))?;
        let said = answer.complaint_text();
        let odd = || refused("jj rebase", &answer);
        if !answer.is_success() {
            return Err(odd());
        }
        if said.contains("Nothing changed") {
            return Ok(Vec::new());
        }
        let operation = operation_in(&said).ok_or_else(odd)?;
        let at = format!("--at-operation={operation}");
        let which = format!("conflicts() & {}..@", quoted(onto));
        let template = r#"conflicted_files.map(|file| file.path() ++ "\0").join("")"#;
        let question = [&at, "log", "--no-graph", "-r", &which, "-T", template];
        let output = self.answer("log", &self.tool(question))?;
        let output = String::from_utf8_lossy(&output);
        let mut files: Vec<String> = output.split_terminator('\0').map(str::to_owned).collect();
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }
}

/// The operation that jj has made and not taken over, by what it says about that.
fn operation_in(said: &str) -> Option<&str> {
    let (_, rest) = said.split_once("--no-integrate-operation was requested: ")?;
    let id = rest.split_whitespace().next()?;
    id.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(id)
}
