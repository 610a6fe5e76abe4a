//! The part of a backup that is git's: the files as a tree, the index as a tree, and every commit that only the workspace
//! knows, all held by one commit.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::{BackupError, io_error};
use crate::workspace::plumbing::{EXACTLY, Plumbing, Stand, parts, path};
use crate::workspace::porcelain::{CallError, line};
use crate::workspace::survey::{Entry, Form};

/// Most parents of one commit; more are held by commits in between.
const PARENTS: usize = 200;

/// Longest part of a file that is looked through for ids of commits, in bytes.
const SCANNED_BYTES: u64 = 64 << 20;

/// What is left out of a git directory when looking for ids: what has none, and what is a repository of its own. Further
/// down these may be names of branches.
const NOT_SCANNED: [&str; 6] = ["objects", "modules", "hooks", "agentos", "lfs", "index"];

/// Writes the files as objects; the tree that they are.
pub(super) fn store_files(
    plumbing: Plumbing<'_>,
    repository: &Path,
    root: &Path,
    (entries, scratch): (&[&Entry], &Path),
) -> Result<String, BackupError> {
    let files: Vec<&Entry> =
        entries.iter().copied().filter(|entry| entry.form == Form::File).collect();
    let links: Vec<&Entry> =
        entries.iter().copied().filter(|entry| entry.form == Form::Link).collect();
    let mut texts = Vec::new();
    for (number, link) in links.iter().enumerate() {
        let whole = root.join(&link.path);
        let target = fs::read_link(&whole).map_err(io_error(&whole))?;
        let text = scratch.join(format!("link-{number}"));
        fs::write(&text, target.as_os_str().as_bytes()).map_err(io_error(&text))?;
        texts.push(text);
    }
    let mut ids = hash(plumbing, repository, files.iter().map(|entry| root.join(&entry.path)))?;
    ids.extend(hash(plumbing, repository, texts.into_iter())?);
    let all: Vec<&Entry> = files.into_iter().chain(links).collect();
    if ids.len() != all.len() {
        return Err(BackupError::Restless { path: root.to_owned() });
    }
    let listed = all.iter().zip(&ids).map(|(entry, id)| {
        let mode = match (entry.form, entry.mode & 0o100) {
            (Form::Link, _) => "120000",
            (_, 0) => "100644",
            _ => "100755",
        };
        (mode, id.as_str(), entry.path.clone())
    });
    write_tree(plumbing, Stand::repository(repository), &scratch.join("files.index"), listed)
}

fn hash(
    plumbing: Plumbing<'_>,
    repository: &Path,
    files: impl Iterator<Item = PathBuf>,
) -> Result<Vec<String>, CallError> {
    let how = ["hash-object", "-w", "--no-filters", "--"];
    let files = files.map(|file| [OsString::from(file)]);
    let said = plumbing.call_with_many(Stand::repository(repository), &how, files)?;
    Ok(line(&said).lines().map(str::to_owned).collect())
}

/// Writes a tree of these modes, ids and paths.
fn write_tree<'a>(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    index: &Path,
    listed: impl Iterator<Item = (&'a str, &'a str, PathBuf)>,
) -> Result<String, BackupError> {
    let stand = stand.with_index(index);
    let how = [&EXACTLY[..], &["update-index", "--add"]].concat();
    let words = listed.map(|(mode, id, path)| {
        let mut value = OsString::from(format!("{mode},{id},"));
        value.push(path);
        ["--cacheinfo".into(), value]
    });
    plumbing.call_with_many(stand, &how, words)?;
    Ok(plumbing.word(stand, ["write-tree", "--missing-ok"])?)
}

/// The index of a checkout as a tree; none if it has no index.
pub(in crate::workspace) fn store_index(
    plumbing: Plumbing<'_>,
    checkout: Stand<'_>,
    private: &Path,
    scratch: &Path,
) -> Result<Option<String>, BackupError> {
    let index = private.join("index");
    if !index.exists() {
        return Ok(None);
    }
    let copy = scratch.join("copy.index");
    fs::copy(&index, &copy).map_err(io_error(&index))?;
    if let Some(tree) = plumbing.ask(checkout.with_index(&copy), ["write-tree", "--missing-ok"])? {
        return Ok(Some(line(&tree)));
    }
    // Unmerged: what each side has is kept under its number.
    let listed = plumbing.call(checkout, ["ls-files", "--stage", "-z"])?;
    let listed: Vec<(String, PathBuf)> = parts(&listed)
        .filter_map(|part| {
            let at = part.iter().position(|byte| *byte == b'\t')?;
            let about = String::from_utf8_lossy(&part[..at]).into_owned();
            Some((about, path(&part[at + 1..])))
        })
        .collect();
    let sides = listed.iter().filter_map(|(about, path)| {
        let mut words = about.split(' ');
        let (mode, id, stage) = (words.next()?, words.next()?, words.next()?);
        // A submodule's commit is in the submodule.
        (mode != "160000").then(|| (mode, id, Path::new(stage).join(path)))
    });
    Ok(Some(write_tree(plumbing, checkout, &scratch.join("sides.index"), sides)?))
}

/// A commit of this tree that holds these commits.
pub(in crate::workspace) fn hold(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    tree: &str,
    mut commits: Vec<String>,
) -> Result<String, CallError> {
    while commits.len() > PARENTS {
        let mut held = Vec::new();
        for some in commits.chunks(PARENTS) {
            held.push(commit(plumbing, stand, tree, (some, "agentos: commits"))?);
        }
        commits = held;
    }
    commit(plumbing, stand, tree, (&commits, "agentos: what only the workspace knew"))
}

/// Writes a commit.
pub(in crate::workspace) fn commit(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    tree: &str,
    (parents, message): (&[String], &str),
) -> Result<String, CallError> {
    let mut words = vec!["commit-tree", tree, "-m", message];
    for parent in parents {
        words.extend(["-p", parent]);
    }
    plumbing.word(stand, words)
}

/// The commits that are named anywhere in these files and folders, each only if no other one leads to it.
pub(super) fn named_commits(
    plumbing: Plumbing<'_>,
    stand: Stand<'_>,
    places: &[PathBuf],
    more: impl IntoIterator<Item = String>,
) -> Result<Vec<String>, BackupError> {
    let mut ids: BTreeSet<String> = more.into_iter().collect();
    for place in places {
        scan(place, &mut ids)?;
    }
    let how = ["rev-list", "--no-walk=unsorted", "--ignore-missing"];
    let ids = ids.into_iter().map(|id| [OsString::from(id)]);
    let said = plumbing.call_with_many(stand, &how, ids)?;
    let commits: BTreeSet<String> = line(&said).lines().map(str::to_owned).collect();
    if commits.len() > 1 && commits.len() <= PARENTS * 5 {
        let words = ["merge-base", "--independent"].map(str::to_owned).into_iter();
        let said = plumbing.call(stand, words.chain(commits))?;
        return Ok(line(&said).lines().map(str::to_owned).collect());
    }
    Ok(commits.into_iter().collect())
}

/// Collects what looks like the id of an object.
fn scan(place: &Path, ids: &mut BTreeSet<String>) -> Result<(), BackupError> {
    let top = place;
    let mut places = vec![place.to_owned()];
    while let Some(place) = places.pop() {
        let is_top = place == top;
        let Ok(about) = fs::symlink_metadata(&place) else { continue };
        if about.is_dir() {
            for entry in fs::read_dir(&place).map_err(io_error(&place))? {
                let entry = entry.map_err(io_error(&place))?;
                let is_left_out =
                    is_top && NOT_SCANNED.iter().any(|name| entry.file_name() == *name);
                if !is_left_out {
                    places.push(entry.path());
                }
            }
        } else if about.is_file() {
            let mut bytes = Vec::new();
            let file = fs::File::open(&place).map_err(io_error(&place))?;
            file.take(SCANNED_BYTES).read_to_end(&mut bytes).map_err(io_error(&place))?;
            let words = bytes.split(|byte| !byte.is_ascii_hexdigit());
            let words = words.filter(|word| word.len() == 40 || word.len() == 64);
            let words = words.filter(|word| word.iter().any(|byte| *byte != b'0'));
            ids.extend(words.map(|word| String::from_utf8_lossy(word).into_owned()));
        }
    }
    Ok(())
}
