//! Listing: one folder, or whatever matches a pattern.

use super::error::ContainedError;
use super::walk::Look;
use super::{Contained, LIST_ENTRIES};

impl Contained {
    /// What is in a folder (folders end in `/`), or the paths of whatever matches a pattern (`*` within a name, `**` across
    /// folders, `?`, `[…]`, `{a,b}`); sorted, as they can be asked for. Links are listed and not followed; what is in
    /// `.git`, `.jj`, `.agentos` and the folders of runs is left out.
    ///
    /// # Errors
    /// The path or pattern is refused, there is no such folder, or there are more than [`LIST_ENTRIES`].
    pub fn list(&self, pattern: &str) -> Result<Vec<String>, ContainedError> {
        let asked = self.asked(pattern)?;
        let mut paths = Vec::new();
        match asked.look() {
            Ok(Look::Folder(mut search) | Look::Pattern(mut search)) => {
                if search.matcher.is_none() {
                    search.depth = 1;
                }
                search.walk(&asked, &mut |path, kind| {
                    let end = if kind.is_dir() { "/" } else { "" };
                    paths.push(asked.shown(&search.base.join(path)) + end);
                    match paths.len() {
                        count if count > LIST_ENTRIES => Err(asked.too_many("paths", LIST_ENTRIES)),
                        _ => Ok(()),
                    }
                })?;
            }
            Ok(Look::Other(kind)) => {
                let (path, is) = (pattern.to_owned(), super::read::kind(kind));
                return Err(ContainedError::Kind { path, is, wanted: "a folder or a pattern" });
            }
            // A pattern that nothing matches; a folder that is not there is a mistake.
            Err(ContainedError::Missing { .. }) if super::walk::is_pattern(pattern) => {}
            Err(error) => return Err(error),
        }
        paths.sort();
        Ok(paths)
    }
}
