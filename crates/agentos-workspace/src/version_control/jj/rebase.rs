//! Rebasing onto a base, or not at all.
//!
//! jj rebases whatever it is asked to, and writes conflicts into commits. So it is tried first, in an operation that jj makes
//! and does not take over; only if nothing is in conflict there it is done.

use std::time::Duration;

use super::super::Result;
use super::super::git::remote::Deadline;
use super::super::remote::Base;
use super::super::remote::error::RemoteError;
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
        let files = self.conflicts_of(&words, &base.base_commit)?;
        if !files.is_empty() {
            return Err(RemoteError::Conflicts { base: base.base.clone(), files }.into());
        }
        self.change("rebase", &words)?;
        self.export()
    }

    /// The files that would be in conflict afterwards. Nothing is changed.
    fn conflicts_of(&self, words: &[&str], onto: &str) -> Result<Vec<String>> {
        let trial = [UNRECORDED, "--no-integrate-operation"].iter().chain(words).copied();
        let answer = self.ask("rebase", &self.tool(trial))?;
        let said = answer.complaint_text();
        let odd = || refused("jj rebase", &answer);
        if !answer.is_success() {
            return Err(odd());
        }
        if said.contains("Nothing changed") {
            return Ok(Vec::new());
        }
        let (_, operation) = said.rsplit_once(": ").ok_or_else(odd)?;
        let is_id = !operation.is_empty() && operation.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_id {
            return Err(odd());
        }
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
