//! What all worktrees of a repository share can be changed from any of them: configuration, hooks, branches, the stash.
//!
//! It is looked at when somebody begins to work in a worktree, after everything that was executed there, and when all is
//! over. What has changed meanwhile is told,
//! whoever did it: others work in the repository too. What makes the repository unusable and nobody wants is put right:
//! `core.bare` and `core.worktree`, which programs set that run git with a `GIT_DIR` they have inherited.
//!
//! What AgentOS does itself is no news: the branches of workspaces, which other runs move, and what branches follow, which
//! every first push sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::id::BRANCHES;
use super::porcelain::{CallError, Porcelain};
use super::{Kind, Workspace};
use crate::files::{self, FileError};
use crate::identity::{self, folder_of};
use crate::surroundings::Surroundings;

/// How many branches and tags are compared; in a repository with more, only the first of them.
const REFS: usize = 20_000;

/// How many changed ones are told by name.
const NAMED: usize = 5;

const FILE: &str = "shared.json";

/// What is looked at often, by itself: the other file may be long.
const BRIEF: &str = "config.json";

/// How the configuration was.
#[derive(Debug, Serialize, Deserialize)]
struct Brief {
    hash: String,
    vital: BTreeMap<String, String>,
}

/// What worktrees share, as of one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct SharedState {
    /// A hash of the file with the repository's configuration.
    config: String,
    /// A hash of what it says, but for what branches follow.
    #[serde(default)]
    settings: String,
    /// Those of its settings that decide whether the repository can be used at all.
    vital: BTreeMap<String, String>,
    /// A hash of its hooks.
    hooks: String,
    /// Branches, tags and the stash, with what they are at.
    refs: BTreeMap<String, String>,
}

const VITAL: [&str; 3] = ["core.bare", "core.worktree", "core.hookspath"];

impl SharedState {
    /// Looks at a repository, by its git directory.
    ///
    /// # Errors
    /// [`CallError`]
    pub fn take(surroundings: &Surroundings, repository: &Path) -> Result<Self, CallError> {
        Self::take_after(surroundings, repository, &Self::default())
    }

    /// The same, where it is known how things were: what has not changed need not be asked.
    fn take_after(
        surroundings: &Surroundings,
        repository: &Path,
        before: &Self,
    ) -> Result<Self, CallError> {
        let config = hash([fs::read(repository.join("config")).unwrap_or_default()]);
        let (settings, vital) = match config == before.config {
            true => (before.settings.clone(), before.vital.clone()),
            false => settings(surroundings, repository)?,
        };
        Ok(Self {
            config,
            settings,
            vital,
            hooks: hash(hooks(&repository.join("hooks"))),
            refs: refs(surroundings, repository)?,
        })
    }

    /// What is different afterwards, but for the branch of whoever worked there and those of other workspaces: one line each.
    #[must_use]
    pub fn changes(&self, after: &Self, own: Option<&str>) -> Vec<String> {
        let mut told = Vec::new();
        let mut is_config_told = false;
        for key in VITAL {
            let line = changed(key, self.vital.get(key), after.vital.get(key));
            is_config_told |= line.is_some();
            told.extend(line);
        }
        if self.settings != after.settings && !is_config_told {
            told.push("the configuration of the repository has changed".to_owned());
        }
        if self.hooks != after.hooks {
            told.push("the hooks of the repository have changed".to_owned());
        }
        told.extend(self.changed_refs(after, own));
        told
    }

    fn changed_refs(&self, after: &Self, own: Option<&str>) -> Option<String> {
        let own = own.map(|branch| format!("refs/heads/{branch}"));
        let workspaces = format!("refs/heads/{BRANCHES}");
        let names: Vec<&String> = self.refs.keys().chain(after.refs.keys()).collect();
        let mut changed: Vec<&str> = names
            .into_iter()
            .filter(|name| self.refs.get(*name) != after.refs.get(*name))
            .filter(|name| Some(*name) != own.as_ref() && !name.starts_with(&workspaces))
            .map(String::as_str)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        let more = changed.len().saturating_sub(NAMED);
        let mut text = changed.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
        if more > 0 {
            let _written = write!(text, " and {more} more");
        }
        (!changed.is_empty()).then(|| format!("changed outside of its branch: {text}"))
    }
}

/// Remembers how things are when somebody begins to work in a workspace.
pub(super) fn begin(surroundings: &Surroundings, workspace: &Workspace) -> Result<(), FileError> {
    let Some(private) = shared(workspace) else { return Ok(()) };
    let Ok(state) = SharedState::take(surroundings, &workspace.repository) else { return Ok(()) };
    files::make_folder(&folder_of(&private))?;
    let brief = Brief { hash: state.config.clone(), vital: state.vital.clone() };
    files::write_json(&folder_of(&private).join(BRIEF), &brief)?;
    files::write_json(&path_in(&private), &state)
}

/// Looks whether the repository can still be used, after something was executed in a workspace: what makes it unusable is
/// put right at once, because the next git would fail. One line for each such thing. As long as the configuration is what
/// it was, this costs reading a small file.
#[must_use]
pub fn check(surroundings: &Surroundings, workspace: &Workspace) -> Vec<String> {
    let Some(private) = shared(workspace) else { return Vec::new() };
    let path = folder_of(&private).join(BRIEF);
    let config = fs::read(workspace.repository.join("config")).unwrap_or_default();
    let known: Option<Brief> = files::load_json(&path).ok().flatten();
    let Some(known) = known.filter(|known| known.hash != hash([config])) else { return Vec::new() };
    let Ok((_, vital)) = settings(surroundings, &workspace.repository) else { return Vec::new() };
    let mut told: Vec<String> = VITAL[..2]
        .iter()
        .filter_map(|key| changed(key, known.vital.get(*key), vital.get(*key)))
        .collect();
    told.extend(heal(surroundings, &workspace.repository, &known.vital, &vital));
    let hash = hash([fs::read(workspace.repository.join("config")).unwrap_or_default()]);
    if !told.is_empty()
        && let Ok(Some(before)) = files::load_json::<SharedState>(&path_in(&private))
    {
        // What was put back is no change that has to be told of again.
        let _kept =
            files::write_json(&path_in(&private), &SharedState { config: hash.clone(), ..before });
    }
    let _kept = files::write_json(&path, &Brief { hash, vital: known.vital });
    told
}

/// Whether the repository's configuration is what it was when somebody began to work in a workspace.
pub(super) fn is_unchanged(workspace: &Workspace) -> bool {
    let path = shared(workspace).map(|private| folder_of(&private).join(BRIEF));
    let known: Option<Brief> = path.and_then(|path| files::load_json(&path).ok().flatten());
    let config = fs::read(workspace.repository.join("config")).unwrap_or_default();
    known.is_some_and(|known| known.hash == hash([config]))
}

/// What became of a setting.
fn changed(key: &str, old: Option<&String>, new: Option<&String>) -> Option<String> {
    let shown = |value: Option<&String>| value.map_or("not set", String::as_str).to_owned();
    (old != new).then(|| format!("{key} was {} and is {}", shown(old), shown(new)))
}

/// Tells what has changed since somebody began to work in a workspace, and puts right what nobody can want: one line each.
/// How it was is forgotten then.
#[must_use]
pub fn end(surroundings: &Surroundings, workspace: &Workspace) -> Vec<String> {
    let Some(path) = shared(workspace).map(|private| path_in(&private)) else { return Vec::new() };
    let before: Option<SharedState> = files::load_json(&path).ok().flatten();
    let Some(before) = before else { return Vec::new() };
    let after = SharedState::take_after(surroundings, &workspace.repository, &before);
    let Ok(after) = after else { return Vec::new() };
    let _gone = fs::remove_file(path);
    let mut told = before.changes(&after, workspace.branch.as_deref());
    told.extend(heal(surroundings, &workspace.repository, &before.vital, &after.vital));
    told
}

/// The private folder of a workspace that shares what it could damage.
fn shared(workspace: &Workspace) -> Option<PathBuf> {
    (workspace.kind == Kind::Worktree).then(|| identity::private_of(&workspace.path)).flatten()
}

/// Puts `core.bare` and `core.worktree` back to what they were.
fn heal(
    surroundings: &Surroundings,
    repository: &Path,
    before: &BTreeMap<String, String>,
    after: &BTreeMap<String, String>,
) -> Vec<String> {
    let mut told = Vec::new();
    let porcelain = Porcelain { surroundings, lock: None };
    let file = repository.join("config");
    for key in &VITAL[..2] {
        let (old, new) = (before.get(*key), after.get(*key));
        if old == new {
            continue;
        }
        let name = file.to_string_lossy();
        let done = match old {
            Some(value) => porcelain.git(repository, ["config", "--file", &*name, key, value]),
            None => porcelain.git(repository, ["config", "--file", &*name, "--unset-all", key]),
        };
        match done {
            Ok(_) => told.push(format!("{key} was put back")),
            Err(error) => told.push(format!("{key} could not be put back: {error}")),
        }
    }
    told
}

/// A hash of all settings but for what branches follow, and those that decide whether the repository can be used: the last
/// one of a name counts.
fn settings(
    surroundings: &Surroundings,
    repository: &Path,
) -> Result<(String, BTreeMap<String, String>), CallError> {
    let file = repository.join("config");
    let file = file.to_string_lossy();
    let porcelain = Porcelain { surroundings, lock: None };
    let asked = ["config", "--file", &*file, "-z", "--list"];
    let answer = porcelain.try_git(repository, asked)?;
    let text = String::from_utf8_lossy(&answer.output);
    let all: Vec<(&str, &str)> = text
        .split_terminator('\0')
        .map(|setting| setting.split_once('\n').unwrap_or((setting, "")))
        .collect();
    let others = all.iter().filter(|(key, _)| !is_upstream(key));
    let hash = hash(others.flat_map(|(key, value)| [(*key).into(), (*value).into()]));
    let vital = all.iter().filter(|(key, _)| VITAL.contains(key));
    Ok((hash, vital.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()))
}

/// Whether a setting says what a branch follows.
fn is_upstream(key: &str) -> bool {
    key.starts_with("branch.") && (key.ends_with(".remote") || key.ends_with(".merge"))
}

fn refs(
    surroundings: &Surroundings,
    repository: &Path,
) -> Result<BTreeMap<String, String>, CallError> {
    let git_dir = format!("--git-dir={}", repository.display());
    let count = format!("--count={REFS}");
    let porcelain = Porcelain { surroundings, lock: None };
    let asked = ["for-each-ref", &count, "--format=%(objectname) %(refname)"];
    let what = ["refs/heads", "refs/tags", "refs/stash"];
    let arguments = std::iter::once(git_dir.as_str()).chain(asked).chain(what);
    let output = porcelain.git(repository, arguments)?;
    let text = String::from_utf8_lossy(&output).into_owned();
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs.map(|(at, name)| (name.to_owned(), at.to_owned())).collect())
}

/// Names, modes and contents of the hooks.
fn hooks(folder: &Path) -> Vec<Vec<u8>> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    found.sort();
    let told = found.into_iter().filter(|path| path.is_file()).flat_map(|path| {
        let mode = path.metadata().map_or(0, |found| found.permissions().mode());
        let name = path.file_name().unwrap_or_default().as_encoded_bytes().to_vec();
        [name, mode.to_le_bytes().to_vec(), fs::read(&path).unwrap_or_default()]
    });
    told.collect()
}

fn hash(parts: impl IntoIterator<Item = Vec<u8>>) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_le_bytes());
        digest.update(&part);
    }
    let mut text = String::new();
    for byte in digest.finalize() {
        let _written = write!(text, "{byte:02x}");
    }
    text
}

fn path_in(private: &Path) -> PathBuf {
    folder_of(private).join(FILE)
}
