//! Branches: which is checked out, and seeing to it that it is the right one.

use super::super::Result;
use super::super::answer::Branch;
use super::super::bounds::PATH_BYTES;
use super::super::error::VersionControlError;
use super::super::request::{NewBranch, input};
use super::super::said::last_words;
use super::revision::shown;
use super::{GitRepository, refused};

pub(super) const HEADS: &str = "refs/heads/";

impl GitRepository {
    /// The branch that is checked out, also one without a commit; none if it is a commit.
    pub(super) fn checked_out(&self) -> Result<Option<String>> {
        let full = self.line("symbolic-ref", &["symbolic-ref", "--quiet", "HEAD"])?;
        Ok(full.map(|full| full.strip_prefix(HEADS).unwrap_or(&full).to_owned()))
    }

    pub(super) fn ensure(&self, wanted: &NewBranch) -> Result<Branch> {
        let name = self.branch_name(&wanted.branch)?;
        let _alone = self.alone()?;
        let answer = |created, switched| {
            let (branch, head) = (name.to_owned(), self.head()?);
            Ok(Branch { branch, head, created, switched })
        };
        if self.checked_out()?.as_deref() == Some(name) {
            return answer(false, false);
        }
        let full = format!("{HEADS}{name}");
        let is_there =
            self.line("show-ref", &["show-ref", "--verify", "--quiet", &full])?.is_some();
        let mut switch = vec!["switch", "--quiet", "--no-guess"];
        let from = wanted.from.as_deref().filter(|_| !is_there);
        let from = from.map(|from| self.revision(from)).transpose()?;
        if !is_there {
            switch.extend(["--no-track", "--create"]);
        }
        switch.push(name);
        switch.extend(from.as_deref());
        let said =
            self.change("switch", &self.tool(switch).timeout(wanted.timeout()), Some(name))?;
        if said.is_success() {
            return answer(!is_there, true);
        }
        let (branch, words) = (name.to_owned(), last_words(&said));
        if self.checked_out()?.as_deref() == Some(name) {
            // git passes on how this hook ended, although there was nothing left to refuse.
            let hook = "post-checkout".to_owned();
            return Err(VersionControlError::Hook { hook, said: words });
        }
        if words.contains("already used by worktree") || words.contains("already checked out at") {
            return Err(VersionControlError::Elsewhere { branch, said: words });
        }
        if words.contains("would be overwritten") {
            return Err(VersionControlError::WouldLose { branch, said: words });
        }
        Err(refused("switch", &said))
    }

    /// A name that git takes for a branch's and for nothing else.
    pub(in crate::version_control) fn branch_name<'a>(&self, name: &'a str) -> Result<&'a str> {
        let bad = || input(format!("`{}` can't be the name of a branch", shown(name)));
        // git allows `@`, which then means something else everywhere.
        let is_odd = name.is_empty() || name == "@" || name.starts_with('-') || name.contains('\0');
        if is_odd || name.len() > PATH_BYTES {
            return Err(bad());
        }
        let answer =
            self.ask("check-ref-format", &self.question(["check-ref-format", "--branch", name]))?;
        // git knows words for branches, such as `@{-1}`; these are no names.
        let is_itself = answer.output.strip_suffix(b"\n") == Some(name.as_bytes());
        if answer.is_success() && is_itself { Ok(name) } else { Err(bad()) }
    }
}
