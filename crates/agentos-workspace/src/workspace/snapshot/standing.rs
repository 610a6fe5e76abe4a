//! What git knows of a workspace besides its files: what is checked out, the index, and what is half done.
//!
//! The index is kept as the file that it is: so intentions, conflicts and files that git was told not to look at come back
//! too. What it names is held by a tree.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::SnapshotError;
use super::bounds::{PRIVATE_BYTES, PRIVATE_FILES};
use super::chain::loose;
use super::darkroom::{Darkroom, io_error};
use super::notes::Moment;
use crate::workspace::plumbing::{EXACTLY, Plumbing, Stand, parts, path};
use crate::workspace::porcelain::line;

/// What git writes into a private folder while something is half done, and what is of one checkout alone.
const PRIVATE: [&str; 26] = [
    "AUTO_MERGE",
    "BISECT_ANCESTORS_OK",
    "BISECT_EXPECTED_REV",
    "BISECT_FIRST_PARENT",
    "BISECT_LOG",
    "BISECT_NAMES",
    "BISECT_RUN",
    "BISECT_START",
    "BISECT_TERMS",
    "CHERRY_PICK_HEAD",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "MERGE_MODE",
    "MERGE_MSG",
    "MERGE_RR",
    "ORIG_HEAD",
    "REBASE_HEAD",
    "REVERT_HEAD",
    "SQUASH_MSG",
    "config.worktree",
    "info/sparse-checkout",
    "rebase-apply",
    "rebase-merge",
    "refs/bisect",
    "refs/rewritten",
    "sequencer",
];

/// What git keeps locks for while it works. Nobody does, so these were left behind.
const LOCKS: [&str; 3] = ["index.lock", "HEAD.lock", "config.worktree.lock"];

/// What is checked out: the commit, and the branch as a whole ref.
pub(super) type Head = (Option<String>, Option<String>);

/// What is checked out in a workspace.
pub(super) fn head(room: &Darkroom<'_>) -> Result<Head, SnapshotError> {
    let text = fs::read_to_string(room.found.private.join("HEAD")).unwrap_or_default();
    let text = text.trim_end();
    match text.strip_prefix("ref: ") {
        Some(branch) if let Some(id) = loose(&room.found.repository, branch) => {
            return Ok((Some(id), Some(branch.to_owned())));
        }
        None if let Some(id) = loose(&room.found.private, "HEAD") => return Ok((Some(id), None)),
        _ => {}
    }
    let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
    let branch = plumbing.ask(stand, ["symbolic-ref", "--quiet", "HEAD"])?;
    let head = plumbing.ask(stand, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    Ok((head.map(|head| line(&head)), branch.map(|branch| line(&branch))))
}

/// When a file was written; none if there is no such file.
pub(super) fn moment(path: &Path) -> Option<Moment> {
    let about = fs::symlink_metadata(path).ok()?;
    Some((about.mtime(), u32::try_from(about.mtime_nsec()).unwrap_or(0)))
}

/// Says that a file was written at another moment.
pub(super) fn set_moment(path: &Path, (seconds, nanos): Moment) -> Result<(), SnapshotError> {
    let since = Duration::new(u64::try_from(seconds).unwrap_or(0), nanos);
    let set = || fs::File::open(path)?.set_modified(SystemTime::UNIX_EPOCH + since);
    set().map_err(io_error(path))
}

/// Copies the index as it was written at this moment.
pub(super) fn copy_index(room: &Darkroom<'_>, written: Moment) -> Result<PathBuf, SnapshotError> {
    let index = room.found.private.join("index");
    let copy = room.folder.join("index.copy");
    fs::copy(&index, &copy).map_err(io_error(&index))?;
    if moment(&index) != Some(written) {
        return Err(SnapshotError::Restless { path: index });
    }
    if shared_indexes(&room.found.private) {
        // A part of it is in another file.
        let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
        plumbing.call(stand.with_index(&copy), ["update-index", "--no-split-index"])?;
    }
    Ok(copy)
}

fn shared_indexes(private: &Path) -> bool {
    let mut inside = fs::read_dir(private).into_iter().flatten().flatten();
    inside.any(|entry| entry.file_name().as_encoded_bytes().starts_with(b"sharedindex."))
}

/// A tree that holds everything that a copied index names.
pub(super) fn index_tree(room: &Darkroom<'_>, index: &Path) -> Result<String, SnapshotError> {
    let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
    let scratch = room.folder.join("index.scratch");
    fs::copy(index, &scratch).map_err(io_error(&scratch))?;
    let stand = stand.with_index(&scratch);
    let how = ["-c", "core.fsync=committed", "write-tree", "--missing-ok"];
    if let Some(tree) = plumbing.ask(stand, how)? {
        return Ok(line(&tree));
    }
    // Unmerged: what each side has is kept under its number.
    let said = plumbing.call(stand, ["ls-files", "--stage", "-z"])?;
    fs::remove_file(&scratch).map_err(io_error(&scratch))?;
    let sides = parts(&said).filter_map(|part| {
        let at = part.iter().position(|byte| *byte == b'\t')?;
        let about = String::from_utf8_lossy(&part[..at]).into_owned();
        let mut words = about.split(' ');
        let (mode, id, stage) = (words.next()?, words.next()?, words.next()?);
        let mut value = std::ffi::OsString::from(format!("{mode},{id},{stage}/"));
        value.push(path(&part[at + 1..]));
        // A submodule's commit is in the submodule.
        (mode != "160000").then(|| ["--cacheinfo".into(), value])
    });
    let how = [&EXACTLY[..], &["update-index", "--add"]].concat();
    plumbing.call_with_many(stand, &how, sides)?;
    Ok(plumbing.word(stand, ["-c", "core.fsync=committed", "write-tree", "--missing-ok"])?)
}

/// Files of the private folder that belong to a snapshot, by path in it.
pub(super) fn private_files(private: &Path) -> Result<Vec<PathBuf>, SnapshotError> {
    let mut found = Vec::new();
    let mut places: Vec<PathBuf> = PRIVATE.iter().map(PathBuf::from).collect();
    while let Some(place) = places.pop() {
        let whole = private.join(&place);
        let Ok(about) = fs::symlink_metadata(&whole) else { continue };
        if about.is_dir() {
            for entry in fs::read_dir(&whole).map_err(io_error(&whole))? {
                places.push(place.join(entry.map_err(io_error(&whole))?.file_name()));
            }
        } else if about.is_file() {
            if about.len() > PRIVATE_BYTES || found.len() >= PRIVATE_FILES {
                return Err(SnapshotError::Unkeepable { path: whole });
            }
            found.push(place);
        }
    }
    found.sort();
    Ok(found)
}

/// The commits that are named in what is half done.
pub(super) fn named_commits(
    room: &Darkroom<'_>,
    files: &[(PathBuf, Vec<u8>)],
) -> Result<BTreeSet<String>, SnapshotError> {
    let ids: BTreeSet<String> = files
        .iter()
        .flat_map(|(_, bytes)| bytes.split(|byte| !byte.is_ascii_hexdigit()))
        .filter(|word| matches!(word.len(), 40 | 64) && word.iter().any(|byte| *byte != b'0'))
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    if ids.is_empty() {
        return Ok(ids);
    }
    let stand = Stand::checkout(&room.workspace.path);
    let how = ["rev-list", "--no-walk=unsorted", "--ignore-missing"];
    let ids = ids.into_iter().map(|id| [id.into()]);
    let said = Plumbing(room.porcelain).call_with_many(stand, &how, ids)?;
    Ok(line(&said).lines().map(str::to_owned).collect())
}

/// Puts back what was half done, and takes away what was not.
pub(super) fn put_private(
    private: &Path,
    files: &[(PathBuf, Vec<u8>)],
) -> Result<(), SnapshotError> {
    for lock in LOCKS {
        let _none = fs::remove_file(private.join(lock));
    }
    for there in private_files(private)? {
        if !files.iter().any(|(name, _)| *name == there) {
            let whole = private.join(&there);
            fs::remove_file(&whole).map_err(io_error(&whole))?;
        }
    }
    for name in PRIVATE {
        // git takes an empty folder for something half done.
        remove_empty(&private.join(name));
    }
    for (name, bytes) in files {
        let whole = private.join(name);
        let put = || -> std::io::Result<()> {
            fs::create_dir_all(whole.parent().unwrap_or(private))?;
            if fs::read(&whole).ok().as_ref() != Some(bytes) {
                fs::write(&whole, bytes)?;
            }
            Ok(())
        };
        put().map_err(io_error(&whole))?;
    }
    Ok(())
}

fn remove_empty(folder: &Path) {
    let Ok(inside) = fs::read_dir(folder) else { return };
    for entry in inside.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_empty(&entry.path());
        }
    }
    let _not_empty = fs::remove_dir(folder);
}

/// Puts back the index, with the moment at which it was written.
pub(super) fn put_index(
    private: &Path,
    index: Option<(Vec<u8>, Moment)>,
) -> Result<(), SnapshotError> {
    let path = private.join("index");
    let Some((bytes, written)) = index else {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(io_error(&path)(error))
            }
            _ => Ok(()),
        };
    };
    let unfinished = private.join("agentos/snapshot/index.back");
    fs::write(&unfinished, bytes).map_err(io_error(&unfinished))?;
    set_moment(&unfinished, written)?;
    fs::rename(&unfinished, &path).map_err(io_error(&path))
}

/// Checks out what was, without touching a file.
pub(super) fn put_head(
    room: &Darkroom<'_>,
    (head, branch): (Option<&str>, Option<&str>),
) -> Result<(), SnapshotError> {
    let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
    let why = ["-m", "agentos: returned to a snapshot"];
    match (head, branch) {
        (Some(head), Some(branch)) => {
            let now = self::head(room)?;
            if now == (Some(head.to_owned()), Some(branch.to_owned())) {
                return Ok(());
            }
            plumbing.call(stand, ["update-ref", why[0], why[1], "--", branch, head])?;
            plumbing.call(stand, ["symbolic-ref", why[0], why[1], "HEAD", branch])?;
        }
        (Some(head), None) => {
            let how = ["update-ref", "--no-deref", why[0], why[1], "--", "HEAD", head];
            plumbing.call(stand, how)?;
        }
        (None, Some(branch)) => {
            plumbing.call(stand, ["update-ref", "-d", "--", branch])?;
            plumbing.call(stand, ["symbolic-ref", why[0], why[1], "HEAD", branch])?;
        }
        (None, None) => {}
    }
    Ok(())
}

/// Refuses if somebody else has the branch checked out.
pub(super) fn check_branch(room: &Darkroom<'_>, branch: Option<&str>) -> Result<(), SnapshotError> {
    let Some(branch) = branch else { return Ok(()) };
    let (plumbing, stand) = (Plumbing(room.porcelain), Stand::checkout(&room.workspace.path));
    let said = plumbing.call(stand, ["for-each-ref", "--format=%(worktreepath)", branch])?;
    let user = PathBuf::from(line(&said));
    if user.as_os_str().is_empty() || user == room.workspace.path {
        return Ok(());
    }
    Err(SnapshotError::BranchInUse { branch: branch.to_owned(), path: user })
}
