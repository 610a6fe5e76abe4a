//! Revisions that users name become full ids here. They are written as for git, so that a workflow need not know where it
//! works: `HEAD~2`, `main`, the beginning of an id. A bookmark counts as jj knows it, told to git or not; jj's change ids
//! are understood too.

use super::super::Result;
use super::super::bounds::PATH_BYTES;
use super::super::git::revision::shown;
use super::super::request::input;
use super::JjRepository;
use crate::jj::quoted;

impl JjRepository {
    /// The commit that a user names.
    pub(super) fn revision(&self, named: &str) -> Result<String> {
        let is_odd = named.is_empty()
            || named.starts_with(['-', '^'])
            || ["..", "@{", ":"].iter().any(|part| named.contains(part))
            || named.contains(|letter: char| letter.is_control() || "\"\\".contains(letter))
            || named.len() > PATH_BYTES;
        if is_odd {
            return Err(input(format!("`{}` can't be a commit", shown(named))));
        }
        let (name, way) = named.split_at(named.find(['~', '^']).unwrap_or(named.len()));
        let start = self.start(name)?;
        self.store.revision(&format!("{}{way}", start.as_deref().unwrap_or(name)))
    }

    /// The commit that a name stands for, if it is jj who knows it.
    fn start(&self, name: &str) -> Result<Option<String>> {
        let unknown = || input(format!("there is no commit `{}` here", shown(name)));
        if name == "HEAD" || name == "@" {
            return self.standing()?.head().map(Some).ok_or_else(unknown);
        }
        match self.bookmark(name)?.as_slice() {
            [] => {}
            [one] => return Ok(Some(one.clone())),
            _ => return Err(input(format!("`{}` is in conflict: it names several", shown(name)))),
        }
        // The letters of change ids, of which none is a digit of an id.
        if name.len() >= 4 && name.bytes().all(|letter| (b'k'..=b'z').contains(&letter)) {
            let found = self.commits(&format!("present(change_id({name}))"));
            return Ok(found.unwrap_or_default().pop());
        }
        Ok(None)
    }

    /// What a bookmark names: one commit, or none, or several if it was moved to different places at once. The name was
    /// checked.
    pub(super) fn bookmark(&self, name: &str) -> Result<Vec<String>> {
        self.commits(&format!("bookmarks(exact:{})", quoted(name)))
    }
}
