//! Revisions that users name become full ids here, and nowhere else: no other call of git ever sees their text.

use super::super::Result;
use super::super::bounds::PATH_BYTES;
use super::super::request::input;
use super::GitRepository;

impl GitRepository {
    /// The commit that a user names.
    pub(in crate::version_control) fn revision(&self, named: &str) -> Result<String> {
        let unknown = || input(format!("there is no commit `{}` here", shown(named)));
        // `^` at its beginning turns a revision into its opposite, and `..` makes two of one.
        let is_odd = named.is_empty()
            || named.starts_with(['-', '^'])
            || named.contains("..")
            || named.contains(char::is_control)
            || named.len() > PATH_BYTES;
        if is_odd {
            return Err(input(format!("`{}` can't be a commit", shown(named))));
        }
        let wanted = format!("{named}^{{commit}}");
        let question = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let answer = self.ask("rev-parse", &self.question(question))?;
        let id = String::from_utf8_lossy(&answer.output).trim().to_owned();
        if !answer.is_success() || !is_id(&id) {
            return Err(unknown());
        }
        Ok(id)
    }

    /// The commit that is checked out; none before the first.
    pub(super) fn head(&self) -> Result<Option<String>> {
        self.line("rev-parse", &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])
    }

    /// The tree without files, to compare with where there is no commit.
    pub(in crate::version_control) fn empty_tree(&self) -> Result<String> {
        let line = self.line("hash-object", &["hash-object", "-t", "tree", "/dev/null"])?;
        Ok(line.unwrap_or_default())
    }

    /// Where two histories parted.
    pub(in crate::version_control) fn merge_base(&self, one: &str, other: &str) -> Result<String> {
        let parted = self.line("merge-base", &["merge-base", one, other])?;
        parted.ok_or_else(|| input(format!("{one} and {other} have no commit in common")))
    }
}

fn is_id(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// No more of what was named than people need to know what it was.
pub(in crate::version_control) fn shown(named: &str) -> String {
    named.chars().take(80).flat_map(char::escape_debug).collect()
}
