//! Branches: bookmarks, and which of them the work belongs to.

use std::path::PathBuf;

use super::super::Result;
use super::super::answer::Branch;
use super::super::error::VersionControlError;
use super::super::request::NewBranch;
use super::standing::Standing;
use super::{JjRepository, UNRECORDED};
use crate::jj::{load_branch, quoted, write_branch};

impl JjRepository {
    /// The bookmark that the work belongs to; none if somebody has gone elsewhere with jj itself.
    pub(super) fn checked_out(&self) -> Result<Option<String>> {
        let Some(written) = load_branch(&self.root)? else { return self.only_bookmark() };
        let is_here = format!("bookmarks(exact:{}) & ::@", quoted(&written));
        if !self.commits(&is_here)?.is_empty() {
            return Ok(Some(written));
        }
        // Before the first commit there is nothing that a bookmark could be at, and with it one has to be made.
        let is_new =
            self.bookmark(&written)?.is_empty() && self.commits("@-- ~ root()")?.is_empty();
        Ok(is_new.then_some(written))
    }

    /// Where nothing was ever written down: the only bookmark at the latest commit.
    fn only_bookmark(&self) -> Result<Option<String>> {
        let template = r#"local_bookmarks.map(|bookmark| bookmark.name() ++ "\n").join("")"#;
        let question = [UNRECORDED, "log", "--no-graph", "-r", "@-", "-T", template];
        let names = self.answer("log", &self.tool(question))?;
        let names = String::from_utf8_lossy(&names);
        let mut names = names.lines();
        Ok(names.next().filter(|_| names.next().is_none()).map(str::to_owned))
    }

    pub(super) fn ensure(&self, wanted: &NewBranch) -> Result<Branch> {
        let name = self.store.branch_name(&wanted.branch)?;
        let _alone = self.alone()?;
        let answer = |created, switched| {
            let (branch, head) = (name.to_owned(), self.standing()?.head());
            Ok(Branch { branch, head, created, switched })
        };
        if self.checked_out()?.as_deref() == Some(name) {
            return answer(false, false);
        }
        let tips = self.bookmark(name)?;
        let is_there = !tips.is_empty();
        self.refuse_others(name, tips.len())?;
        let standing = self.record()?;
        let from = wanted.from.as_deref().filter(|_| !is_there);
        let from = from.map(|from| self.revision(from)).transpose()?;
        let target = tips.into_iter().next().or(from).or_else(|| standing.head());
        let is_elsewhere = target != standing.head() || standing.parents.len() > 1;
        let there = target.as_deref().filter(|_| is_elsewhere);
        if let Some(there) = there {
            self.refuse_loss(name, &standing, there)?;
        }
        if let Some(target) = target.as_deref().filter(|_| !is_there) {
            let words = ["bookmark", "create", "-r", target, "--", &quoted(name)];
            self.note("bookmark create", &words)?;
        }
        match there {
            Some(there) if standing.is_empty => self.change("new", &["new", there])?,
            Some(there) => self.change("rebase", &["rebase", "-r", "@", "--onto", there])?,
            None => {}
        }
        write_branch(&self.root, name)?;
        self.export()?;
        answer(!is_there, true)
    }

    /// Refuses a branch that others work on, and one that git would have no room for.
    fn refuse_others(&self, name: &str, tips: usize) -> Result<()> {
        let no = |said: String| VersionControlError::Refused { call: "jj bookmark".into(), said };
        if tips > 1 {
            return Err(no(format!("the bookmark `{name}` is in conflict; resolve it first")));
        }
        if let Some(root) = self.who_has(name)? {
            let said = format!("{} works on it", root.display());
            return Err(VersionControlError::Elsewhere { branch: name.to_owned(), said });
        }
        let question = [UNRECORDED, "bookmark", "list", "-T", r#"if(remote, "", name ++ "\n")"#];
        let names = self.answer("bookmark list", &self.tool(question))?;
        let names = String::from_utf8_lossy(&names);
        let is_below = |one: &str, other: &str| {
            one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
        };
        match names.lines().find(|other| is_below(name, other) || is_below(other, name)) {
            Some(other) => {
                Err(no(format!("there is a bookmark `{other}`, and git can't have both")))
            }
            None => Ok(()),
        }
    }

    /// The other workspace or worktree whose work belongs to this branch.
    fn who_has(&self, name: &str) -> Result<Option<PathBuf>> {
        let question = [UNRECORDED, "workspace", "list", "-T", r#"root ++ "\n""#];
        let roots = self.answer("workspace list", &self.tool(question))?;
        let roots = String::from_utf8_lossy(&roots);
        let others = roots.lines().map(PathBuf::from).filter(|root| root != &self.root);
        let has_it = |root: &PathBuf| load_branch(root).ok().flatten().as_deref() == Some(name);
        match others.into_iter().find(has_it) {
            Some(root) => Ok(Some(root)),
            None => self.store.worktree_of(name),
        }
    }

    /// As git does: what was changed comes along unless the other branch has changed the same files.
    fn refuse_loss(&self, branch: &str, standing: &Standing, there: &str) -> Result<()> {
        standing.refuse_conflicts()?;
        let before = standing.before(&self.store)?;
        let changed = self.store.names_between(&before, &standing.files)?;
        if changed.is_empty() {
            return Ok(());
        }
        let theirs = self.store.names_between(&before, there)?;
        let is_one = |one: &str, other: &str| {
            one.strip_prefix(other).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let touches =
            |path: &&String| theirs.iter().any(|their| is_one(path, their) || is_one(their, path));
        match changed.iter().find(touches) {
            Some(path) => {
                let (branch, said) = (branch.to_owned(), format!("{path} differs there too"));
                Err(VersionControlError::WouldLose { branch, said })
            }
            None => Ok(()),
        }
    }
}
