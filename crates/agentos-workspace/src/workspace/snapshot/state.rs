//! The commit that holds what is no file: notes, the index, what was half done, git directories inside the workspace, and
//! every commit that these name. It is made anew only if something of it has changed.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::SnapshotError;
use super::darkroom::{Darkroom, io_error, zero_ended};
use super::look::Walked;
use super::notes::{self, Moment, Nested, Notes, Standing};
use super::{jujutsu, nested, standing};
use crate::workspace::Kind;
use crate::workspace::plumbing::{EXACTLY, Plumbing, Stand, parts, path};
use crate::workspace::porcelain::{Porcelain, line};

/// What the last snapshot of a workspace was made of: only a copy of what the chain has.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Last {
    pub(super) run: String,
    pub(super) commit: String,
    pub(super) tree: String,
    pub(super) state: String,
    /// What the state was made from, as a hash.
    pub(super) key: String,
    /// When the workspace's index was written.
    pub(super) index: Option<Moment>,
}

impl Last {
    fn path(room: &Darkroom<'_>) -> PathBuf {
        room.folder.join("last.json")
    }

    /// Reads it; what can't be read is as good as none.
    pub(super) fn load(room: &Darkroom<'_>) -> Self {
        let text = fs::read(Self::path(room)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// The next snapshot is made without it.
    pub(super) fn forget(room: &Darkroom<'_>) {
        let _none = fs::remove_file(Self::path(room));
    }

    pub(super) fn write(&self, room: &Darkroom<'_>) -> Result<(), SnapshotError> {
        let path = Self::path(room);
        let text = serde_json::to_vec(self).unwrap_or_default();
        let unfinished = path.with_extension("new");
        let written = fs::write(&unfinished, text).and_then(|()| fs::rename(&unfinished, &path));
        written.map_err(io_error(&path))
    }
}

/// Everything that is to be held.
struct Parts {
    notes: Notes,
    index: Option<PathBuf>,
    private: Vec<(PathBuf, Vec<u8>)>,
    nested: Vec<(Nested, Option<String>)>,
}

/// Holds what is no file; the commit that does, and the key of it.
pub(super) fn keep(
    room: &Darkroom<'_>,
    (standing, walked): (Standing, &Walked),
    last: &Last,
) -> Result<(String, String), SnapshotError> {
    let nested = nested::keep(room, &walked.nested)?;
    let private = load_private(room)?;
    let (modes, folders) = walked.noted();
    let about = fs::metadata(&room.workspace.path).map_err(io_error(&room.workspace.path))?;
    let notes = Notes {
        version: notes::VERSION,
        kind: room.workspace.kind,
        standing,
        mode: about.mode() & 0o7777,
        modes,
        folders,
        nested: nested.iter().map(|(nested, _)| nested.clone()).collect(),
    };
    let mut parts = Parts { notes, index: None, private, nested };
    let key = parts.key(room)?;
    if !last.key.is_empty() && last.key == key {
        return Ok((last.state.clone(), key));
    }
    if let Standing::Git { index: Some(written), .. } = parts.notes.standing {
        parts.index = Some(standing::copy_index(room, written)?);
    }
    let held = hold(room, &parts)?;
    let tree = write(room, &parts)?;
    let message = "agentos: what is no file";
    Ok((room.word(["commit-tree", &tree, "-p", &held, "-m", message])?, key))
}

fn load_private(room: &Darkroom<'_>) -> Result<Vec<(PathBuf, Vec<u8>)>, SnapshotError> {
    let private = &room.found.private;
    if room.workspace.kind == Kind::Jj {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for name in standing::private_files(private)? {
        let whole = private.join(&name);
        files.push((name, fs::read(&whole).map_err(io_error(&whole))?));
    }
    Ok(files)
}

impl Parts {
    /// What all of it is, as a hash. The index counts by what its file is: another one has another number or time.
    fn key(&self, room: &Darkroom<'_>) -> Result<String, SnapshotError> {
        let mut hasher = Sha256::new();
        let notes = serde_json::to_vec(&self.notes).unwrap_or_default();
        hasher.update(&notes);
        if let Ok(about) = fs::symlink_metadata(room.found.private.join("index")) {
            let (ino, size) = (about.ino(), about.len());
            let times = (about.ctime(), about.ctime_nsec());
            hasher.update(format!("{ino} {size} {times:?}"));
        }
        for (name, bytes) in &self.private {
            hasher.update(name.as_os_str().as_bytes());
            hasher.update(bytes.len().to_le_bytes());
            hasher.update(bytes);
        }
        for (_, tree) in &self.nested {
            hasher.update(tree.as_deref().unwrap_or("-"));
        }
        Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

/// A commit, in the repository, that holds the index and every commit that is named.
fn hold(room: &Darkroom<'_>, kept: &Parts) -> Result<String, SnapshotError> {
    let plumbing = Plumbing(room.porcelain);
    let repository = Stand::repository(&room.workspace.repository);
    let (stand, mut commits) = match &kept.notes.standing {
        Standing::Jj { parents, commit, bookmark, .. } => {
            let named = parents.iter().chain([commit]).chain(bookmark);
            (repository, named.cloned().collect())
        }
        Standing::Git { head, .. } => {
            let mut commits = standing::named_commits(room, &kept.private)?;
            commits.extend(head.clone());
            (Stand::checkout(&room.workspace.path), commits)
        }
    };
    // jj's name for the beginning of everything is no commit of git's.
    commits.retain(|id| id.bytes().any(|byte| byte != b'0'));
    let tree = match &kept.index {
        Some(index) => standing::index_tree(room, index)?,
        None => plumbing.word(stand, ["hash-object", "-t", "tree", "-w", "/dev/null"])?,
    };
    let how = ["-c", "core.fsync=committed", "commit-tree", &tree, "-m"];
    let how = how.into_iter().chain(["agentos: the index, and what is named"]);
    let parents = commits.iter().flat_map(|id| ["-p", id]);
    let held = plumbing.word(stand, how.chain(parents))?;
    if room.workspace.kind == Kind::Clone {
        let from = room.workspace.path.to_string_lossy();
        let how = ["-c", "core.fsync=committed", "-c", "protocol.version=2", "fetch", "--quiet"];
        let how = how.into_iter().chain(["--no-tags", "--no-write-fetch-head"]);
        let how = how.chain(["--no-recurse-submodules", "--", &*from, &held]);
        plumbing.call(repository, how)?;
    }
    Ok(held)
}

/// Writes the tree of what is no file.
fn write(room: &Darkroom<'_>, kept: &Parts) -> Result<String, SnapshotError> {
    let document = room.folder.join(notes::FILE);
    let text = serde_json::to_vec(&kept.notes).unwrap_or_default();
    fs::write(&document, text).map_err(io_error(&document))?;
    let mut names = vec![(notes::FILE.to_owned(), document)];
    if let Some(index) = &kept.index {
        names.push((notes::INDEX.to_owned(), index.clone()));
    }
    for (name, _) in &kept.private {
        let flat = flat(name);
        names.push((format!("{}{flat}", notes::PRIVATE), room.found.private.join(name)));
    }
    let stored = zero_ended(names.iter().map(|(_, file)| file.as_path()));
    let stored: Vec<u8> =
        stored.into_iter().map(|byte| if byte == 0 { b'\n' } else { byte }).collect();
    let said = room.call_with(["hash-object", "-w", "--no-filters", "--stdin-paths"], &stored)?;
    let mut list = String::new();
    for ((name, _), id) in names.iter().zip(line(&said).lines()) {
        list.push_str(&format!("100644 blob {id}\t{name}\0"));
    }
    for (number, (_, tree)) in kept.nested.iter().enumerate() {
        if let Some(tree) = tree {
            list.push_str(&format!("040000 tree {tree}\t{}{number}\0", notes::NESTED));
        }
    }
    Ok(line(&room.call_with(["mktree", "-z"], list.as_bytes())?))
}

/// A path without slashes.
fn flat(name: &Path) -> String {
    name.to_string_lossy().replace('%', "%25").replace('/', "%2F")
}

fn unflat(name: &str) -> PathBuf {
    PathBuf::from(name.replace("%2F", "/").replace("%25", "%"))
}

/// What is no file, read again.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) notes: Notes,
    pub(super) private: Vec<(PathBuf, Vec<u8>)>,
    pub(super) index: Option<Vec<u8>>,
    pub(super) nested: Vec<(Nested, Option<String>)>,
}

impl Kept {
    /// Reads what a snapshot holds besides files.
    pub(super) fn load(
        porcelain: Porcelain<'_>,
        repository: &Path,
        commit: &str,
    ) -> Result<Self, SnapshotError> {
        let (plumbing, stand) = (Plumbing(porcelain), Stand::repository(repository));
        let damaged =
            |why: &str| SnapshotError::Damaged { commit: commit.to_owned(), why: why.to_owned() };
        let state = format!("{commit}^2^{{tree}}");
        let how = [&EXACTLY[..], &["ls-tree", "-z", &state]].concat();
        let said = plumbing.ask(stand, how)?.ok_or_else(|| damaged("it is not there"))?;
        let blob = |id: &str| plumbing.call(stand, ["cat-file", "blob", id]);
        let (mut document, mut index, mut private, mut trees) =
            (None, None, Vec::new(), Vec::new());
        for part in parts(&said) {
            let text = path(part).to_string_lossy().into_owned();
            let Some((about, name)) = text.split_once('\t') else { continue };
            let id = about.rsplit(' ').next().unwrap_or_default();
            if name == notes::FILE {
                document = Some(blob(id)?);
            } else if name == notes::INDEX {
                index = Some(blob(id)?);
            } else if let Some(name) = name.strip_prefix(notes::PRIVATE) {
                private.push((unflat(name), blob(id)?));
            } else if let Some(number) = name.strip_prefix(notes::NESTED) {
                trees.push((number.parse::<usize>().unwrap_or(usize::MAX), id.to_owned()));
            }
        }
        let document = document.ok_or_else(|| damaged("it has no notes"))?;
        let notes: Notes =
            serde_json::from_slice(&document).map_err(|error| damaged(&error.to_string()))?;
        if notes.version > notes::VERSION {
            return Err(damaged("a newer program wrote it"));
        }
        let tree = |number: usize| {
            trees.iter().find(|(known, _)| *known == number).map(|(_, id)| id.clone())
        };
        let nested = notes.nested.iter().cloned().enumerate();
        let nested = nested.map(|(number, nested)| (nested, tree(number))).collect();
        Ok(Self { notes, private, index, nested })
    }
}

/// How a workspace stands.
pub(super) fn standing_of(room: &Darkroom<'_>) -> Result<Standing, SnapshotError> {
    if room.workspace.kind == Kind::Jj {
        return jujutsu::standing(room);
    }
    let (head, branch) = standing::head(room)?;
    let index = standing::moment(&room.found.private.join("index"));
    Ok(Standing::Git { head, branch, index })
}
