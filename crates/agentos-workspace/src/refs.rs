//! What branches are at, read from git's own files.
//!
//! A question to git takes milliseconds, and whoever makes a workspace has several while others wait for the repository's
//! lock. Where git keeps refs in plain files these are as good: their format is fixed. Whatever is not plain (refs in a
//! table, symbolic ones, a list that is too long) is left to git.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// Longest list of packed refs that is read, in bytes.
const PACKED_BYTES: u64 = 4 << 20;

/// What the files say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Told {
    /// It is at this commit.
    At(String),
    /// There is no such ref.
    Nowhere,
    /// Only git can tell.
    AskGit,
}

/// What a ref of a repository is at, by its whole name.
pub(crate) fn load_ref(repository: &Path, name: &str) -> Told {
    let is_plain = name.starts_with("refs/heads/") && !name.contains("..");
    if !is_plain || repository.join("reftable").exists() {
        return Told::AskGit;
    }
    match fs::read_to_string(repository.join(name)) {
        Ok(text) => at(text.trim_end()),
        Err(error) if is_absent(&error) => load_packed(repository, name),
        Err(_) => Told::AskGit,
    }
}

/// What is checked out, by a worktree's own git directory and that of its repository.
pub(crate) fn load_head(private: &Path, repository: &Path) -> Told {
    let Ok(text) = fs::read_to_string(private.join("HEAD")) else { return Told::AskGit };
    match text.strip_prefix("ref: ") {
        Some(name) => load_ref(repository, name.trim_end()),
        None => at(text.trim_end()),
    }
}

fn at(text: &str) -> Told {
    let is_id = [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_id { Told::At(text.to_owned()) } else { Told::AskGit }
}

/// A folder of refs may have the name of one, and a ref that of a folder.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

fn load_packed(repository: &Path, name: &str) -> Told {
    let path = repository.join("packed-refs");
    match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Told::Nowhere,
        Ok(found) if found.len() <= PACKED_BYTES => {}
        _ => return Told::AskGit,
    }
    let Ok(text) = fs::read_to_string(&path) else { return Told::AskGit };
    let mut refs = text.lines().filter_map(|line| line.split_once(' '));
    refs.find(|(_, known)| *known == name).map_or(Told::Nowhere, |(id, _)| at(id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_files_are_read_and_everything_else_is_left_to_git() {
        let folder = tempfile::tempdir().unwrap();
        let (root, id) = (folder.path(), "8232c59f1816cc930c78aef73797d73ae2b5082b");
        let told = |name: &str| load_ref(root, &format!("refs/heads/{name}"));
        fs::create_dir_all(root.join("refs/heads/agentos")).unwrap();
        fs::write(root.join("refs/heads/agentos/a"), format!("{id}\n")).unwrap();
        fs::write(root.join("refs/heads/alias"), "ref: refs/heads/agentos/a\n").unwrap();
        fs::write(root.join("HEAD"), "ref: refs/heads/agentos/a\n").unwrap();
        assert_eq!(told("agentos/a"), Told::At(id.into()));
        assert_eq!(load_head(root, root), Told::At(id.into()));
        assert_eq!((told("agentos"), told("agentos/a/b")), (Told::Nowhere, Told::Nowhere));
        assert_eq!((told("alias"), told("../x")), (Told::AskGit, Told::AskGit));
        let packed = format!("# pack-refs with: peeled\n{id} refs/heads/old\n^{id}\n");
        fs::write(root.join("packed-refs"), packed).unwrap();
        assert_eq!((told("old"), told("new")), (Told::At(id.into()), Told::Nowhere));
        fs::write(root.join("HEAD"), id).unwrap();
        assert_eq!(load_head(root, root), Told::At(id.into()));
        fs::create_dir(root.join("reftable")).unwrap();
        assert_eq!(told("old"), Told::AskGit);
    }
}
