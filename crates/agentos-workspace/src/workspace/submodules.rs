//! The links between a submodule and its git directory, which lies in the private folder of its worktree. Each names the
//! other by a relative path, so they are lost when the repository is at another place.

use std::fs;
use std::path::{Component, Path, PathBuf};

use super::porcelain::{CallError, Porcelain, line};

/// How deep submodules are looked for.
const DEPTH: usize = 16;

/// A private folder that has another place now.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moved<'a> {
    /// Where it was.
    pub(super) former: &'a Path,
    /// Where it is.
    pub(super) private: &'a Path,
}

impl Moved<'_> {
    /// The links of the submodules that are checked out, as the git directories in the private folder say.
    pub(super) fn links(self, porcelain: Porcelain<'_>) -> Result<Vec<PathBuf>, CallError> {
        let mut links = Vec::new();
        for git_dir in git_dirs(&self.private.join("modules")) {
            let file = git_dir.join("config");
            let name = file.to_string_lossy();
            let asked = ["config", "--file", &*name, "--get", "core.worktree"];
            let answer = porcelain.try_git(self.private, asked)?;
            let Ok(inside) = git_dir.strip_prefix(self.private) else { continue };
            if answer.is_success() {
                let root = self.former.join(inside).join(line(&answer.output));
                links.push(plain(&root).join(".git"));
            }
        }
        Ok(links)
    }

    /// Lets a submodule and its git directory name each other where they are now. What is no such link stays.
    pub(super) fn mend(self, porcelain: Porcelain<'_>, link: &Path) -> Result<(), CallError> {
        let is_file = fs::symlink_metadata(link).is_ok_and(|found| found.is_file());
        let text = fs::read_to_string(link).ok().filter(|_| is_file).unwrap_or_default();
        let (Some(root), Some(target)) = (link.parent(), text.strip_prefix("gitdir: ")) else {
            return Ok(());
        };
        let target = plain(&root.join(target.trim_end()));
        let Ok(inside) = target.strip_prefix(self.former) else { return Ok(()) };
        let git_dir = self.private.join(inside);
        let file = git_dir.join("config");
        if !file.is_file() || fs::write(link, format!("gitdir: {}\n", git_dir.display())).is_err() {
            return Ok(());
        }
        let (name, root) = (file.to_string_lossy(), root.to_string_lossy());
        porcelain.git(self.private, ["config", "--file", &*name, "core.worktree", &*root])?;
        Ok(())
    }
}

/// The git directories below a folder.
fn git_dirs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![(folder.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        if folder.join("HEAD").is_file() && folder.join("objects").is_dir() {
            folders.push((folder.join("modules"), depth + 1));
            found.push(folder);
            continue;
        }
        let inside = fs::read_dir(&folder).into_iter().flatten().flatten();
        let inside = inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        if depth < DEPTH {
            folders.extend(inside.map(|entry| (entry.path(), depth + 1)));
        }
    }
    found
}

/// A path without steps back, as it reads: what it names may not be there.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}
