//! What git says about the files of a checkout.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::workspace::plumbing::{Plumbing, Stand, parts, path};
use crate::workspace::porcelain::{CallError, line};

/// What differs from what is committed, by path in the checkout.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Status {
    /// What the index has and the commit has not.
    pub(crate) staged: Vec<PathBuf>,
    /// What the files have and the index has not; conflicts too.
    pub(crate) unstaged: Vec<PathBuf>,
    /// What git has never seen.
    pub(crate) untracked: Vec<PathBuf>,
    /// What git was told to overlook: files, and folders with everything in them.
    pub(crate) ignored: HashSet<PathBuf>,
}

impl Status {
    /// Asks git about the checkout at this stand; none if it is none of its own.
    pub(crate) fn load(
        plumbing: Plumbing<'_>,
        stand: Stand<'_>,
        root: &Path,
    ) -> Result<Option<Self>, CallError> {
        let asked = ["rev-parse", "--path-format=absolute", "--show-toplevel"];
        let Some(found) = plumbing.ask(stand, asked)? else { return Ok(None) };
        let real = |path: &Path| path.canonicalize().ok();
        if real(Path::new(&line(&found))) != real(root) {
            // It belongs to the checkout around it.
            return Ok(None);
        }
        let asked = [
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--ignore-submodules=none",
            "--no-renames",
        ];
        let said = plumbing.call(stand, asked)?;
        let mut status = Self::parse(&said);
        status.unstaged.extend(hidden_changes(plumbing, stand, root)?);
        Ok(Some(status))
    }

    fn parse(said: &[u8]) -> Self {
        let mut status = Self::default();
        let mut lines = parts(said);
        while let Some(line) = lines.next() {
            let fields = |count: usize| line.splitn(count, |byte| *byte == b' ').last();
            let (kind, rest) = (line.first(), line.get(2..).unwrap_or_default());
            match kind {
                Some(b'?') => status.untracked.push(path(rest)),
                Some(b'!') => {
                    let name = rest.strip_suffix(b"/").unwrap_or(rest);
                    status.ignored.insert(path(name));
                }
                Some(b'1') => status.changed(rest, fields(9)),
                Some(b'2') => {
                    status.changed(rest, fields(10));
                    let _former_name = lines.next();
                }
                Some(b'u') => status.unstaged.extend(fields(11).map(path)),
                _ => {}
            }
        }
        status
    }

    fn changed(&mut self, rest: &[u8], name: Option<&[u8]>) {
        let Some(name) = name.map(path) else { return };
        let (index, files) = (rest.first(), rest.get(1));
        if index.is_some_and(|letter| *letter != b'.') {
            self.staged.push(name.clone());
        }
        if files.is_some_and(|letter| *letter != b'.') {
            self.unstaged.push(name);
        }
    }
}

/// Changes in files at which git was told not to look (`--assume-unchanged`, `--skip-worktree`).
fn hidden_changes(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    root: &Path,
) -> Result<Vec<PathBuf>, CallError> {
    let listed = plumbing.call(stand, ["ls-files", "-v", "-z"])?;
    let hidden: Vec<PathBuf> = parts(&listed)
        .filter(|line| line[0].is_ascii_lowercase() || line[0] == b'S')
        .filter_map(|line| line.get(2..).map(path))
        .filter(|name| root.join(name).symlink_metadata().is_ok_and(|found| found.is_file()))
        .collect();
    let mut changed = Vec::new();
    for name in hidden {
        let known = plumbing.ask(
            stand,
            [
                "ls-files".as_ref(),
                "--stage".as_ref(),
                "-z".as_ref(),
                "--".as_ref(),
                name.as_os_str(),
            ],
        )?;
        let file =
            plumbing.ask(stand, ["hash-object".as_ref(), "--".as_ref(), name.as_os_str()])?;
        let (known, file) = (known.unwrap_or_default(), file.map(|id| line(&id)));
        if file.is_none_or(|id| !String::from_utf8_lossy(&known).contains(&id)) {
            changed.push(name);
        }
    }
    Ok(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        let id = "0".repeat(40);
        let said = format!(
            "1 MM N... 100644 100644 100644 {id} {id} both\0\
             1 .D N... 100644 100644 000000 {id} {id} gone away\0\
             u UU N... 100644 100644 100644 100644 {id} {id} {id} torn\0\
             ? new\nline\0! built/\0! .env\0"
        );
        let status = Status::parse(said.as_bytes());
        assert_eq!(status.staged, [PathBuf::from("both")]);
        let unstaged = ["both", "gone away", "torn"].map(PathBuf::from);
        assert_eq!(status.unstaged, unstaged);
        assert_eq!(status.untracked, [PathBuf::from("new\nline")]);
        assert_eq!(status.ignored, ["built", ".env"].map(PathBuf::from).into());
    }
}
