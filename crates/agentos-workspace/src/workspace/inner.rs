//! Worktrees inside of a workspace (`git worktree add ./x`): their files lie in it, and what git knows of them lies in the
//! repository, beside what it knows of the workspace. Both are kept and both come back.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::backup::archive::{self, WORKTREES};
use super::backup::manifest::Name;
use super::plumbing::{Stand, path};
use super::survey::Survey;
use super::{Kind, Workspace};
use crate::identity::private_of;

/// How many names are tried for a private folder.
const NAMES: u32 = 1000;

/// A worktree inside of a workspace, of the same repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inner {
    /// Where it is.
    pub(super) root: PathBuf,
    /// What git knows of it.
    pub(super) private: PathBuf,
}

/// One in a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct KeptInner {
    /// Where it is, from the root of the workspace.
    path: Name,
    /// What its private folder is called, in the repository and in the archive.
    private: String,
}

impl Inner {
    /// Those in a workspace.
    pub(super) fn of(workspace: &Workspace, survey: &Survey) -> Vec<Self> {
        let folder = private_folders(workspace);
        let inside = survey.nested.iter().filter_map(|nested| {
            let root = workspace.path.join(&nested.path);
            let is_link = root.join(".git").symlink_metadata().is_ok_and(|found| found.is_file());
            let private = private_of(&root)?.canonicalize().ok()?;
            let is_here = is_link && private.parent() == Some(&folder);
            is_here.then_some(Self { root, private })
        });
        inside.collect()
    }

    /// Those of a clone that lie elsewhere: their files stay, and what git knows of them goes with the clone.
    pub(super) fn outside(workspace: &Workspace) -> Vec<Self> {
        if workspace.kind != Kind::Clone {
            return Vec::new();
        }
        let known = fs::read_dir(private_folders(workspace)).into_iter().flatten().flatten();
        let outside = known.filter_map(|entry| {
            let private = entry.path();
            let link = fs::read(private.join("gitdir")).ok()?;
            // It may be written from where it lies.
            let root = private.join(path(link.trim_ascii_end())).parent()?.to_owned();
            let root = root.canonicalize().unwrap_or(root);
            (!root.starts_with(&workspace.path)).then_some(Self { root, private })
        });
        outside.collect()
    }

    /// Where git is asked about it. Its files may be gone.
    pub(super) fn stand(&self) -> Stand<'_> {
        match self.root.join(".git").exists() {
            true => Stand::checkout(&self.root),
            false => Stand::repository(&self.private),
        }
    }

    /// What its private folder is called in the archive. A clone's is in the clone's own.
    pub(super) fn part(&self) -> String {
        format!("{WORKTREES}/{}", self.name())
    }

    pub(super) fn kept(&self, workspace: &Workspace) -> KeptInner {
        let path = self.root.strip_prefix(&workspace.path).unwrap_or(&self.root);
        KeptInner { path: Name::of(path), private: self.name() }
    }

    fn name(&self) -> String {
        self.private.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// Lets git know them again. Their files are in place.
pub(super) fn restore(workspace: &Workspace, archive: &Path, kept: &[KeptInner]) -> io::Result<()> {
    if workspace.kind == Kind::Clone {
        return Ok(());
    }
    let folder = private_folders(workspace);
    for inner in kept {
        let root = workspace.path.join(inner.path.path());
        let link = root.join(".git");
        let names = (0..NAMES).map(|number| match number {
            0 => inner.private.clone(),
            number => format!("{}{number}", inner.private),
        });
        let mut free = names.map(|name| folder.join(name));
        let Some(private) = free.find(|private| !private.exists() || is_its(private, &link)) else {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        };
        if !private.exists() {
            let part = format!("{WORKTREES}/{}", inner.private);
            fs::create_dir_all(&private)?;
            archive::unpack(archive, &part, &private, |_| true)?;
            fs::write(private.join("gitdir"), lined(&link))?;
        }
        let known = private_of(&root).and_then(|known| known.canonicalize().ok());
        if known.as_deref() != Some(&private) {
            let mut text = std::ffi::OsString::from("gitdir: ");
            text.push(&private);
            fs::write(&link, lined(Path::new(&text)))?;
        }
    }
    Ok(())
}

/// Whether a private folder is that of the worktree with this link.
pub(super) fn is_its(private: &Path, link: &Path) -> bool {
    fs::read(private.join("gitdir"))
        .is_ok_and(|text| text.trim_ascii_end() == link.as_os_str().as_encoded_bytes())
}

fn lined(path: &Path) -> Vec<u8> {
    [path.as_os_str().as_encoded_bytes(), b"\n"].concat()
}

/// Where git keeps what it knows of worktrees.
fn private_folders(workspace: &Workspace) -> PathBuf {
    match workspace.kind {
        Kind::Clone => workspace.path.join(".git/worktrees"),
        Kind::Worktree | Kind::Jj => workspace.repository.join("worktrees"),
    }
}
