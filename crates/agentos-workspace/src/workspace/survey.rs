//! What is in a workspace: every file that would be lost with it, and where it would be kept.
//!
//! A walk over the folder that follows no link. git says what it was told to overlook; a repository inside the workspace is
//! asked for itself. Nothing is changed.

pub mod reproducible;
mod status;

use std::collections::HashSet;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::plumbing::{Plumbing, Stand};
use super::porcelain::CallError;
use super::{Kind, Workspace};
use crate::metadata;
use crate::state::{DATABASE, FOLDER};
use reproducible::Reproducible;
pub(crate) use status::Status;

/// Most entries that a workspace may have for us to look at them.
const MOST: usize = 5_000_000;

/// How often a workspace is looked at while files in it vanish.
const ATTEMPTS: usize = 30;

/// Why it is not known what is in a workspace.
#[derive(Debug, Error)]
pub enum SurveyError {
    /// git can't be asked.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A file or folder can't be looked at.
    #[error("{} can't be looked at, so it is not known what would be lost: {source}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// There is too much.
    #[error("{} has more than {MOST} files, so it is not known what would be lost", path.display())]
    TooMany {
        /// Where.
        path: PathBuf,
    },
    /// It is no checkout of its own.
    #[error("git does not take {} for a checkout, so it is not known what would be lost", path.display())]
    NoCheckout {
        /// Where.
        path: PathBuf,
    },
}

impl SurveyError {
    fn is_of_what_vanished(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Where something is kept that can't be made again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// As an object of the repository.
    Object,
    /// In the archive beside it: nobody pushes that by accident.
    Archive,
}

/// What something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A file.
    File,
    /// A link.
    Link,
    /// A folder: noted if it is empty or its mode is not the usual one.
    Folder,
}

/// Something in a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where, from the root of the workspace.
    pub(crate) path: PathBuf,
    pub(crate) form: Form,
    pub(crate) fate: Fate,
    pub(crate) bytes: u64,
    pub(crate) mode: u32,
    /// Whether git was told to overlook it.
    pub(crate) is_ignored: bool,
    /// When it was last changed, in seconds and nanoseconds: who has it otherwise has another one.
    pub(crate) changed: (i64, i64),
}

/// Something that is not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) path: PathBuf,
    pub(crate) count: u64,
    pub(crate) bytes: u64,
}

/// A repository inside the workspace: a submodule, or one that somebody has made there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Nested {
    pub(crate) path: PathBuf,
    /// What git says of it; none if it can't be asked.
    pub(crate) status: Option<Status>,
}

/// Everything in a workspace.
#[derive(Debug, Clone, Default)]
pub(crate) struct Survey {
    /// What git says of the workspace itself.
    pub(crate) status: Status,
    pub(crate) entries: Vec<Entry>,
    pub(crate) left: Vec<LeftOut>,
    pub(crate) nested: Vec<Nested>,
}

/// How to treat what is found in a folder.
#[derive(Clone)]
struct Scope<'a> {
    /// What is overlooked, by path from the root of the workspace.
    ignored: &'a HashSet<PathBuf>,
    /// Where that is kept which is not overlooked.
    fate: Fate,
    is_ignored: bool,
}

impl Survey {
    /// Looks at everything in a workspace; `stand` is where git is asked about it.
    ///
    /// A process may be at work in it. What was listed and is gone may have another name now, which was not listed, so
    /// everything is looked at again.
    pub(crate) fn load(
        plumbing: Plumbing<'_>,
        stand: Stand<'_>,
        workspace: &Workspace,
        reproducible: &Reproducible,
    ) -> Result<Self, SurveyError> {
        for _ in 1..ATTEMPTS {
            match Self::load_once(plumbing, stand, workspace, reproducible) {
                Err(error) if error.is_of_what_vanished() && workspace.path.is_dir() => {}
                found => return found,
            }
        }
        Self::load_once(plumbing, stand, workspace, reproducible)
    }

    fn load_once(
        plumbing: Plumbing<'_>,
        stand: Stand<'_>,
        workspace: &Workspace,
        reproducible: &Reproducible,
    ) -> Result<Self, SurveyError> {
        let root = &workspace.path;
        let status = Status::load(plumbing, stand, root)?
            .ok_or_else(|| SurveyError::NoCheckout { path: root.clone() })?;
        let mut walk = Walk {
            plumbing,
            root,
            reproducible,
            private: if workspace.kind == Kind::Jj { ".jj" } else { ".git" },
            found: Self::default(),
        };
        let scope = Scope { ignored: &status.ignored, fate: Fate::Object, is_ignored: false };
        walk.folder(Path::new(""), &scope)?;
        Ok(Self { status, ..walk.found })
    }

    /// What is kept in this way.
    pub(crate) fn with(&self, fate: Fate) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.fate == fate)
    }
}

/// A walk over a workspace.
struct Walk<'a> {
    plumbing: Plumbing<'a>,
    root: &'a Path,
    reproducible: &'a Reproducible,
    /// The name at the root that is no part of the files.
    private: &'a str,
    found: Survey,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, scope: &Scope<'_>) -> Result<(), SurveyError> {
        let whole = self.root.join(folder);
        let failed = |source| SurveyError::Io { path: whole.clone(), source };
        let mut names = Vec::new();
        for entry in fs::read_dir(&whole).map_err(failed)? {
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort();
        let is_empty = names.is_empty();
        for name in names {
            if !(folder.as_os_str().is_empty() && name == self.private) {
                self.entry(&folder.join(name), scope)?;
            }
        }
        let about = fs::symlink_metadata(&whole).map_err(failed)?;
        let is_root = folder.as_os_str().is_empty();
        if !is_root && (is_empty || about.mode() & 0o7777 != 0o755) {
            self.note(folder, Form::Folder, &about, scope);
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, scope: &Scope<'_>) -> Result<(), SurveyError> {
        if self.found.entries.len() > MOST {
            return Err(SurveyError::TooMany { path: self.root.to_owned() });
        }
        let whole = self.root.join(path);
        let about = fs::symlink_metadata(&whole)
            .map_err(|source| SurveyError::Io { path: whole.clone(), source })?;
        let name = path.file_name().unwrap_or_default();
        let mut scope = scope.clone();
        if name == ".git" {
            // A repository's own files, of which nothing may be left out.
            let none = HashSet::new();
            let scope = Scope { ignored: &none, fate: Fate::Archive, is_ignored: scope.is_ignored };
            return self.any(path, &about, &scope);
        }
        if scope.ignored.contains(path) {
            scope.is_ignored = true;
            scope.fate = Fate::Archive;
        }
        if scope.is_ignored && self.reproducible.includes(name, about.is_dir()) {
            return self.leave_out(path, &about);
        }
        if !is_name_for_git(path, &about) {
            scope.fate = Fate::Archive;
        }
        if about.is_dir() && whole.join(".git").symlink_metadata().is_ok() {
            return self.repository(path, &scope);
        }
        self.any(path, &about, &scope)
    }

    fn any(&mut self, path: &Path, about: &Metadata, scope: &Scope<'_>) -> Result<(), SurveyError> {
        if about.is_dir() {
            return self.folder(path, scope);
        }
        // Pipes and sockets hold nothing.
        if about.is_file() || about.is_symlink() {
            let form = if about.is_file() { Form::File } else { Form::Link };
            self.note(path, form, about, scope);
        }
        Ok(())
    }

    fn note(&mut self, path: &Path, form: Form, about: &Metadata, scope: &Scope<'_>) {
        let (bytes, mode) = (about.len(), about.mode() & 0o7777);
        let bytes = if form == Form::Folder { 0 } else { bytes };
        let (path, fate, is_ignored) = (path.to_owned(), scope.fate, scope.is_ignored);
        let changed = (about.ctime(), about.ctime_nsec());
        self.found.entries.push(Entry { path, form, fate, bytes, mode, is_ignored, changed });
    }

    /// A repository inside the workspace: it says itself what is overlooked in it.
    fn repository(&mut self, path: &Path, scope: &Scope<'_>) -> Result<(), SurveyError> {
        let whole = self.root.join(path);
        let status = Status::load(self.plumbing, Stand::checkout(&whole), &whole).ok().flatten();
        let ignored: HashSet<PathBuf> = status
            .iter()
            .flat_map(|status| status.ignored.iter().map(|ignored| path.join(ignored)))
            .collect();
        // What can't be asked about is kept whole.
        let fate = if status.is_some() { scope.fate } else { Fate::Archive };
        self.found.nested.push(Nested { path: path.to_owned(), status });
        self.folder(path, &Scope { ignored: &ignored, fate, is_ignored: false })
    }

    /// Something that can be made again; a repository in it can't, nor what looks made by hand.
    fn leave_out(&mut self, path: &Path, about: &Metadata) -> Result<(), SurveyError> {
        let mut left = LeftOut { path: path.to_owned(), count: 0, bytes: 0 };
        let none = HashSet::new();
        let scope = Scope { ignored: &none, fate: Fate::Archive, is_ignored: true };
        let is_said = self.reproducible.is_said(path.file_name().unwrap_or_default());
        let mut folders = Vec::new();
        if about.is_dir() {
            folders.push((path.to_owned(), is_said));
        } else {
            (left.count, left.bytes) = (1, about.len());
        }
        while let Some((folder, is_known)) = folders.pop() {
            let whole = self.root.join(&folder);
            let failed = |source| SurveyError::Io { path: whole.clone(), source };
            if whole.join(".git").symlink_metadata().is_ok() {
                self.repository(&folder, &scope)?;
                continue;
            }
            let is_known = is_known || reproducible::is_package(&whole, &folder);
            for entry in fs::read_dir(&whole).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let about = entry.metadata().map_err(failed)?;
                let path = folder.join(entry.file_name());
                if about.is_dir() {
                    folders.push((path, is_known));
                } else if !is_known && about.is_file() && reproducible::is_by_hand(&path) {
                    self.note(&path, Form::File, &about, &scope);
                } else {
                    left.count += 1;
                    left.bytes += about.len();
                }
            }
        }
        self.found.left.push(left);
        Ok(())
    }
}

/// Whether git would take a file of this name.
fn is_name_for_git(path: &Path, about: &Metadata) -> bool {
    let name = path.file_name().unwrap_or_default();
    let is_link_of_submodules = about.is_symlink() && name.eq_ignore_ascii_case(".gitmodules");
    !name.eq_ignore_ascii_case(".git") && !is_link_of_submodules
}

/// Whether something was put there with the workspace, and is nobody's work.
pub(crate) fn is_ours(entry: &Entry) -> bool {
    let inside = entry.path.strip_prefix(FOLDER).ok();
    match inside {
        Some(rest) if rest == Path::new(DATABASE) => entry.form == Form::Link,
        Some(rest) => rest == Path::new(".gitignore") || rest.as_os_str().is_empty(),
        None => {
            let unfinished = Path::new(metadata::FILE).with_extension("new");
            entry.path == Path::new(metadata::FILE) || entry.path == unfinished
        }
    }
}
