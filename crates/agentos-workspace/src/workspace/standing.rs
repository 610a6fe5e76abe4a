//! What a workspace has checked out, for whoever is told where the work in it is: its branch may not be where that is.

use std::path::Path;

use super::porcelain::{Porcelain, line};
use crate::surroundings::Surroundings;

/// Where work is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// On this branch.
    On(String),
    /// On no branch or bookmark, at this commit.
    Nowhere(String),
}

/// What the checkout at this path has checked out; none if that is not known.
#[must_use]
pub fn of(surroundings: &Surroundings, path: &Path) -> Option<Standing> {
    let porcelain = Porcelain { surroundings, lock: None };
    if path.join(".jj").is_dir() {
        let how = ["--ignore-working-copy", "log", "--no-graph", "-T", "commit_id.short()", "-r"];
        let asked = how.into_iter().chain(["@- ~ ::(bookmarks() | remote_bookmarks())"]);
        let said = line(&porcelain.jj(path, asked).ok()?);
        return (!said.is_empty()).then_some(Standing::Nowhere(said));
    }
    let ask = |words: &[&str]| {
        let answer = porcelain.try_git(path, words).ok()?;
        answer.is_success().then(|| line(&answer.output))
    };
    match ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]) {
        Some(branch) => Some(Standing::On(branch)),
        None => {
            ask(&["rev-parse", "--short", "--verify", "--quiet", "HEAD"]).map(Standing::Nowhere)
        }
    }
}
