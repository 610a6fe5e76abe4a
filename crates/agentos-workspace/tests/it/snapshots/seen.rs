//! Everything about a workspace that has to be as it was, found out without the code that is tested.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::snapshot::{Label, Side, Snapshot};
use agentos_workspace::workspace::{Kind, Workspace};

use crate::keep::state::try_git;
use crate::place::{NOW, Place};

/// What git is told to overlook in these tests: no snapshot has it.
const OVERLOOKED: [&str; 5] = [".env", "app.sqlite", "local", "node_modules", "target"];

/// What is in a workspace, and what git or jj say of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    files: BTreeMap<PathBuf, (u32, String)>,
    said: BTreeMap<String, String>,
}

/// How much has to be the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum As {
    /// Everything.
    Itself,
    /// Everything but the branch, which is its own.
    Fork,
}

impl Seen {
    pub(crate) fn of(place: &Place, workspace: &Workspace, how: As) -> Self {
        let mut files = BTreeMap::new();
        let root = &workspace.path;
        let mode = fs::metadata(root).unwrap().mode();
        files.insert(PathBuf::new(), (mode, String::new()));
        walk(root, Path::new(""), &mut files);
        let mut said = BTreeMap::new();
        if workspace.kind == Kind::Jj {
            let how = r#"parents.map(|c| c.commit_id()).join(" ") ++ description"#;
            said.insert(
                "jj".to_owned(),
                place.jj(root, &["log", "-r", "@", "--no-graph", "-T", how]),
            );
            return Self { files, said };
        }
        ask(place, root, how, &mut said);
        let nested: Vec<PathBuf> =
            files.keys().filter(|path| path.ends_with(".git")).cloned().collect();
        for inside in nested {
            ask(place, &root.join(inside.parent().unwrap()), As::Itself, &mut said);
        }
        if how == As::Fork {
            // A submodule is told where it is.
            files.retain(|path, _| !path.ends_with(".git"));
            said = said.into_iter().map(|(key, text)| (inside(root, &key), text)).collect();
        }
        Self { files, said }
    }
}

fn inside(root: &Path, key: &str) -> String {
    key.replace(&*root.to_string_lossy(), "")
}

/// Says only what differs.
#[track_caller]
pub(crate) fn assert_same(found: &Seen, wanted: &Seen, when: &str) {
    if found != wanted {
        let (found, wanted) = (format!("{found:#?}"), format!("{wanted:#?}"));
        let lost = wanted.lines().filter(|line| !found.contains(line));
        let new = found.lines().filter(|line| !wanted.contains(line));
        let (lost, new): (Vec<_>, Vec<_>) = (lost.collect(), new.collect());
        panic!("{when}: lost:\n{}\nnew:\n{}", lost.join("\n"), new.join("\n"));
    }
}

fn ask(place: &Place, folder: &Path, how: As, said: &mut BTreeMap<String, String>) {
    let questions: [&[&str]; 6] = [
        &["ls-files", "--stage", "-v"],
        &["status", "--porcelain=v2", "--untracked-files=all"],
        &["rev-parse", "HEAD"],
        &["rev-parse", "MERGE_HEAD"],
        &["diff", "--name-only", "--diff-filter=U"],
        &["symbolic-ref", "--quiet", "HEAD"],
    ];
    let count = if how == As::Fork { 5 } else { 6 };
    for question in &questions[..count] {
        let key = format!("{}: {}", folder.display(), question.join(" "));
        said.insert(key, try_git(place, folder, question));
    }
}

/// Every file, link and folder but for our own and git's or jj's. Of a repository inside only is told that it is one.
fn walk(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, (u32, String)>) {
    for entry in fs::read_dir(root.join(folder)).unwrap() {
        let entry = entry.unwrap();
        let (name, about) = (folder.join(entry.file_name()), entry.metadata().unwrap());
        let is_ours = [".git", ".jj", ".agentos", ".agent-workflow.json"];
        if is_ours.iter().any(|ours| name == Path::new(ours)) {
            continue;
        }
        if OVERLOOKED.iter().any(|overlooked| name.ends_with(overlooked)) {
            continue;
        }
        let mode = about.mode();
        if name.ends_with(".git") {
            let content =
                if about.is_file() { fs::read(entry.path()).unwrap() } else { Vec::new() };
            files.insert(name, (0, text(&content)));
        } else if about.is_dir() {
            files.insert(name.clone(), (mode, String::new()));
            walk(root, &name, files);
        } else if about.is_symlink() {
            let target = fs::read_link(entry.path()).unwrap();
            files.insert(name, (0o120_000, target.to_string_lossy().into_owned()));
        } else {
            files.insert(name, (mode, text(&fs::read(entry.path()).unwrap())));
        }
    }
}

fn text(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

pub(crate) fn label(step: u32, side: Side) -> Label {
    Label { run: "run-1".into(), step, attempt: 1, side, position: u64::from(step), note: None }
}

pub(crate) fn take(place: &Place, workspace: &Workspace, step: u32) -> Snapshot {
    let ground = place.ground();
    ground.yard(&NoPoints).take_snapshot(workspace, &label(step, Side::Before), NOW).unwrap()
}

pub(crate) fn return_to(place: &Place, workspace: &Workspace, snapshot: &Snapshot) {
    place.ground().yard(&NoPoints).return_to(workspace, snapshot).unwrap();
}

/// Makes a workspace of its own from a snapshot.
pub(crate) fn fork(place: &Place, id: &str, snapshot: &Snapshot) -> Workspace {
    let ground = place.ground();
    ground.yard(&NoPoints).create_from(&place.wanted(id), snapshot).unwrap().workspace
}
