//! Everything about a workspace that has to come back.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::repo::snapshot;
use agentos_workspace::workspace::backup::Keeping;
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::removal::{CleanError, Cleaned};
use agentos_workspace::workspace::verdict::{Finding, Verdict, What};
use agentos_workspace::workspace::{Kind, Workspace};

use crate::place::Place;

/// What is in a workspace, and what git or jj say of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    files: BTreeMap<PathBuf, (u32, String)>,
    said: BTreeMap<String, String>,
}

impl Whole {
    pub(crate) fn of(place: &Place, workspace: &Workspace) -> Self {
        let private = match place.kind {
            Kind::Jj => workspace.path.join(".jj"),
            _ => workspace.path.join(".git"),
        };
        let files = snapshot(&workspace.path)
            .into_iter()
            .filter(|(path, _)| !path.starts_with(&private))
            .map(|(path, (mode, content))| {
                let inside = path.strip_prefix(&workspace.path).unwrap().to_owned();
                (inside, (mode, String::from_utf8_lossy(&content).into_owned()))
            })
            .collect();
        Self { files, said: said(place, workspace) }
    }
}

/// Says only what differs.
pub(crate) fn assert_same(found: &Whole, wanted: &Whole, when: &str) {
    if found != wanted {
        let (found, wanted) = (format!("{found:#?}"), format!("{wanted:#?}"));
        let lost = wanted.lines().filter(|line| !found.contains(line));
        let new = found.lines().filter(|line| !wanted.contains(line));
        let (lost, new): (Vec<_>, Vec<_>) = (lost.collect(), new.collect());
        panic!("{when}: lost:\n{}\nnew:\n{}", lost.join("\n"), new.join("\n"));
    }
}

fn said(place: &Place, workspace: &Workspace) -> BTreeMap<String, String> {
    let mut said = BTreeMap::new();
    let path = &workspace.path;
    if place.kind == Kind::Jj {
        let how = ["log", "-r", "@", "--no-graph", "-T", "commit_id ++ change_id"];
        said.insert("working copy".to_owned(), place.jj(path, &how));
        said.insert("changes".to_owned(), place.jj(path, &["diff", "--summary"]));
        let how = r#"if(!remote, name ++ " " ++ normal_target.commit_id() ++ "\n")"#;
        said.insert("branches".to_owned(), place.jj(path, &["bookmark", "list", "-T", how]));
        let how =
            ["log", "-r", "all() ~ working_copies()", "--no-graph", "-T", "commit_id ++ \"\n\""];
        said.insert("commits".to_owned(), place.jj(path, &how));
        return said;
    }
    let questions: [&[&str]; 8] = [
        &["status", "--porcelain=v2", "--branch", "--untracked-files=all", "--ignored"],
        &["ls-files", "--stage", "-v"],
        &["symbolic-ref", "--quiet", "HEAD"],
        &["rev-parse", "HEAD"],
        &["reflog", "--format=%H %gs"],
        &["stash", "list", "--format=%H %gs"],
        &["for-each-ref", "--exclude=refs/agentos/**"],
        &["config", "--local", "--list"],
    ];
    for question in questions {
        said.insert(question.join(" "), try_git(place, path, question));
    }
    for inside in inner_repositories(path) {
        for question in &questions[..6] {
            let name = format!("{}: {}", inside.display(), question.join(" "));
            said.insert(name, try_git(place, &inside, question));
        }
    }
    let branch = workspace.branch.clone().unwrap();
    said.insert("log".to_owned(), try_git(place, path, &["reflog", "--format=%H %gs", &branch]));
    said
}

/// Repositories at most two folders deep.
fn inner_repositories(path: &Path) -> Vec<PathBuf> {
    let folders = |path: &Path| -> Vec<PathBuf> {
        let inside = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
        let folders = inside.filter(|entry| entry.file_type().unwrap().is_dir());
        folders.map(|entry| entry.path()).filter(|path| !path.ends_with(".git")).collect()
    };
    let first = folders(path);
    let second: Vec<PathBuf> = first.iter().flat_map(|folder| folders(folder)).collect();
    first.into_iter().chain(second).filter(|folder| folder.join(".git").exists()).collect()
}

/// What git says, whether it likes the question or not.
pub(crate) fn try_git(place: &Place, folder: &Path, arguments: &[&str]) -> String {
    let script = "git \"$@\" 2>&1; true";
    let words = ["-c", script, "git"].into_iter().chain(arguments.iter().copied());
    place.playground.run("sh", folder, words)
}

pub(crate) fn clean(place: &Place, id: &str, is_forced: bool) -> Result<Cleaned, CleanError> {
    let ground = place.ground();
    ground.yard(&NoPoints).clean(&id.parse().unwrap(), is_forced, &Keeping::default())
}

pub(crate) fn restore(place: &Place, id: &str) -> Workspace {
    place.ground().yard(&NoPoints).restore(&id.parse().unwrap(), None).unwrap().0
}

pub(crate) fn look(place: &Place, workspace: &Workspace) -> Verdict {
    place.ground().yard(&NoPoints).look(workspace, &Keeping::default()).unwrap()
}

pub(crate) fn finding(verdict: &Verdict, what: What) -> Option<&Finding> {
    verdict.findings.iter().find(|finding| finding.what == what)
}

/// Everything that could be deleted is.
pub(crate) fn sweep(place: &Place) {
    let swept = agentos_workspace::workspace::trash::sweep(&place.ground().root).unwrap();
    assert!(swept.left.is_empty(), "{:?}", swept.left);
}

pub(crate) fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    if path.is_dir() {
        fs::remove_dir_all(&path).unwrap();
    }
    fs::write(path, content).unwrap();
}
