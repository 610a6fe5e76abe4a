//! What all worktrees of a repository share can be changed from any of them: configuration, hooks, branches, the stash.
//!
//! It is looked at when somebody begins to work in a worktree, after everything that was executed there, and when all is
//! over. What has changed meanwhile is told,
//! whoever did it: others work in the repository too. What makes the repository unusable and nobody wants is put right:
//! `core.bare` and `core.worktree`, which programs set that run git with a `GIT_DIR` they have inherited.
//!
//! What AgentOS does itself is no news: the branches of workspaces, which other runs move, branches that the workflow has
//! asked for ([`own_branch`]), and what branches follow, which every first push sets.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
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

/// How many changed settings are told by name.
const NAMED_SETTINGS: usize = 50;

const FILE: &str = "shared.json";

/// The branches that the workflow works on by its own wish, one a line.
const OWN: &str = "branches";

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
    /// The same setting by setting: hashes of their values, which may be secret. Earlier versions did not keep them.
    #[serde(default)]
    keys: Option<BTreeMap<String, String>>,
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
        let Settings { all, keys, vital } = match config == before.config {
            true => Settings {
                all: before.settings.clone(),
                keys: before.keys.clone(),
                vital: before.vital.clone(),
            },
            false => settings(surroundings, repository)?,
        };
        Ok(Self {
            config,
            settings: all,
            keys,
            vital,
            hooks: hash(hooks(&repository.join("hooks"))),
            refs: refs(surroundings, repository)?,
        })
    }

    /// What is different afterwards, but for the branches that were worked on there and those of other workspaces: one line
    /// each.
    #[must_use]
    pub fn changes(&self, after: &Self, own: &[String]) -> Vec<String> {
        let vital = VITAL.iter();
        let vital =
            vital.filter_map(|key| changed(key, self.vital.get(*key), after.vital.get(*key)));
        let mut told: Vec<String> = vital.collect();
        told.extend(self.changed_settings(after, told.is_empty()));
        if self.hooks != after.hooks {
            told.push("the hooks of the repository have changed".to_owned());
        }
        told.extend(self.changed_refs(after, own));
        told
    }

    /// The settings that have changed, but for those that are told with their values.
    fn changed_settings(&self, after: &Self, is_first: bool) -> Option<String> {
        let (Some(old), Some(new)) = (&self.keys, &after.keys) else {
            let has_changed = self.settings != after.settings && is_first;
            return has_changed
                .then(|| "the configuration of the repository has changed".to_owned());
        };
        let all = old.keys().chain(new.keys());
        let mut changed: Vec<&str> = all
            .filter(|key| old.get(*key) != new.get(*key) && !VITAL.contains(&key.as_str()))
            .map(String::as_str)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        let named = named(&changed, NAMED_SETTINGS)?;
        Some(format!("changed in the configuration of the repository: {named}"))
    }

    fn changed_refs(&self, after: &Self, own: &[String]) -> Option<String> {
        let is_own = |name: &str| {
            name.strip_prefix("refs/heads/").is_some_and(|name| own.iter().any(|own| own == name))
        };
        let workspaces = format!("refs/heads/{BRANCHES}");
        let names: Vec<&String> = self.refs.keys().chain(after.refs.keys()).collect();
        let mut changed: Vec<&str> = names
            .into_iter()
            .filter(|name| self.refs.get(*name) != after.refs.get(*name))
            .filter(|name| !is_own(name) && !name.starts_with(&workspaces))
            .map(String::as_str)
            .collect();
        changed.sort_unstable();
        changed.dedup();
        Some(format!("changed outside of its branch: {}", named(&changed, NAMED)?))
    }
}

/// The first of these names, and how many more there are; nothing if there are none.
fn named(names: &[&str], most: usize) -> Option<String> {
    let mut text = names.iter().take(most).copied().collect::<Vec<_>>().join(", ");
    let more = names.len().saturating_sub(most);
    if more > 0 {
        let _written = write!(text, " and {more} more");
    }
    (!names.is_empty()).then_some(text)
}

/// Notes that the workflow has asked for a branch in this workspace: what becomes of it is its own work.
///
/// # Errors
/// [`std::io::Error`]
pub fn own_branch(workspace: &Path, branch: &str) -> std::io::Result<()> {
    let Some(folder) = identity::private_of(workspace).map(|private| folder_of(&private)) else {
        return Ok(());
    };
    // Only where it is looked at in the end.
    if branch.contains('\n') || !folder.join(FILE).exists() {
        return Ok(());
    }
    let mut file = fs::OpenOptions::new().append(true).create(true).open(folder.join(OWN))?;
    file.write_all(format!("{branch}\n").as_bytes())
}

/// The branches that are a workspace's own.
fn own_branches(workspace: &Workspace, private: &Path) -> Vec<String> {
    let asked = fs::read_to_string(folder_of(private).join(OWN)).unwrap_or_default();
    let asked = asked.lines().map(str::to_owned);
    workspace.branch.iter().cloned().chain(asked).collect()
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
    let Ok(Settings { vital, .. }) = settings(surroundings, &workspace.repository) else {
        return Vec::new();
    };
    let mut told: Vec<String> = VITAL[..2]
        .iter()
        .filter_map(|key| changed(key, known.vital.get(*key), vital.get(*key)))
        .collect();
    told.extend(heal(surroundings, &workspace.repository, &known.vital, &vital));
    let hash = hash([fs::read(workspace.repository.join("config")).unwrap_or_default()]);
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
    let Some(private) = shared(workspace) else { return Vec::new() };
    let path = path_in(&private);
    let before: Option<SharedState> = files::load_json(&path).ok().flatten();
    let Some(before) = before else { return Vec::new() };
    let after = SharedState::take_after(surroundings, &workspace.repository, &before);
    let Ok(after) = after else { return Vec::new() };
    let own = own_branches(workspace, &private);
    let _gone = (fs::remove_file(path), fs::remove_file(folder_of(&private).join(OWN)));
    let mut told = before.changes(&after, &own);
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

/// What a repository's configuration says.
struct Settings {
    /// A hash of all settings but for what branches follow.
    all: String,
    /// Hashes of the values of each of them.
    keys: Option<BTreeMap<String, String>>,
    /// Those that decide whether the repository can be used: the last one of a name counts.
    vital: BTreeMap<String, String>,
}

fn settings(surroundings: &Surroundings, repository: &Path) -> Result<Settings, CallError> {
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
    let vital = all.iter().filter(|(key, _)| VITAL.contains(key));
    let vital = vital.map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let others: Vec<&(&str, &str)> = all.iter().filter(|(key, _)| !is_upstream(key)).collect();
    let mut values: BTreeMap<&str, Vec<Vec<u8>>> = BTreeMap::new();
    for (key, value) in &others {
        values.entry(*key).or_default().push((*value).into());
    }
    let keys = values.into_iter().map(|(key, values)| (key.to_owned(), hash(values)));
    let keys = Some(keys.collect());
    let all = hash(others.iter().flat_map(|(key, value)| [(*key).into(), (*value).into()]));
    Ok(Settings { all, keys, vital })
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
