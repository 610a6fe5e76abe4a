//! What git says about a folder.
//!
//! git is asked, and not its files: only it knows what its configuration makes of them. One call answers everything that a
//! command line has to know before it can begin.
//!
//! **The folder decides, not `GIT_DIR`.** A hook runs with `GIT_DIR` set, often without `GIT_WORK_TREE`, and whatever it
//! starts inherits that. Taken as it is, it would name the hook's repository after a `cd` into another one, and in a
//! subfolder git would call that the root. So the variables that say *where* are not passed on; those that say *how*
//! (`GIT_CONFIG_…`, `GIT_CEILING_DIRECTORIES`) are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_process::shell_word::quoted_path;
use agentos_process::tool::{Answer, Tool, ToolError};
use thiserror::Error;

use crate::surroundings::Surroundings;

/// The variables that say where a repository is: git's own list of what belongs to one repository, without its
/// configuration.
pub const WHERE_VARIABLES: [&str; 12] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_PREFIX",
    "GIT_INTERNAL_SUPER_PREFIX",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_NAMESPACE",
];

/// A question to git takes milliseconds; a file system that hangs should not hold up a command for ever.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Why git gave no answer that helps.
#[derive(Debug, Error)]
pub enum GitError {
    /// There is no git.
    #[error(
        "{} is in a git repository, but git can't be asked about it: {source}",
        folder.display()
    )]
    Tool {
        /// The folder that was asked about.
        folder: PathBuf,
        /// Why.
        source: ToolError,
    },
    /// The repository belongs to another user, and git does not trust it.
    #[error(
        "git does not trust the repository at {}: it belongs to another user. If you trust it: \
         git config --global --add safe.directory {}",
        repository.display(),
        quoted_path(repository)
    )]
    DubiousOwnership {
        /// The path that git names.
        repository: PathBuf,
    },
    /// It looks like a repository and git does not take it for one.
    #[error("git can't use the repository that {} is in: {said}", folder.display())]
    Refused {
        /// The folder that was asked about.
        folder: PathBuf,
        /// What git said.
        said: String,
    },
    /// The answer can't be read, say because of a line break in a path.
    #[error("git's answer about {} can't be read; is there a line break in its path?", folder.display())]
    Unreadable {
        /// The folder that was asked about.
        folder: PathBuf,
    },
}

/// What git found from a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The root of the worktree, if the folder is in one.
    pub root: Option<PathBuf>,
    /// The git directory of that worktree.
    pub git_dir: PathBuf,
    /// The git directory of the repository.
    pub common_dir: PathBuf,
    /// Whether the repository has no worktree of its own.
    pub is_bare: bool,
}

/// A worktree that git knows of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedWorktree {
    /// Its root.
    pub root: PathBuf,
    /// Whether git says that its folder is gone.
    pub is_prunable: bool,
}

/// Looks from this folder. None if it is in no repository, as git sees it.
///
/// # Errors
/// [`GitError`]
pub fn look(surroundings: &Surroundings, folder: &Path) -> Result<Option<Found>, GitError> {
    let questions = [
        "rev-parse",
        "--path-format=absolute",
        "--is-inside-work-tree",
        "--is-bare-repository",
        "--git-dir",
        "--git-common-dir",
        // The last one, because there is none in a bare repository and git stops there.
        "--show-toplevel",
    ];
    let answer = ask(surroundings, folder, &questions)?;
    let lines: Vec<&[u8]> =
        answer.output.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    let unreadable = || GitError::Unreadable { folder: folder.to_owned() };
    match (answer.is_success(), lines.as_slice()) {
        (true, [inside, bare, git_dir, common_dir, root]) => Ok(Some(Found {
            root: (*inside == b"true").then(|| path(root)),
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            is_bare: *bare == b"true",
        })),
        (false, [b"false", bare, git_dir, common_dir]) => Ok(Some(Found {
            root: None,
            git_dir: path(git_dir),
            common_dir: path(common_dir),
            is_bare: *bare == b"true",
        })),
        (false, []) => not_found(surroundings, folder, &answer),
        _ => Err(unreadable()),
    }
}

/// Every worktree of the repository that this folder is in, the main one first. A bare repository is none.
///
/// `common_dir` is the repository's git directory. It is asked from the folder: git may be told not to work in a bare one
/// (`safe.bareRepository`).
///
/// # Errors
/// [`GitError`]
pub fn list_worktrees(
    surroundings: &Surroundings,
    folder: &Path,
    common_dir: &Path,
) -> Result<Vec<ListedWorktree>, GitError> {
    let answer = ask(surroundings, folder, &["worktree", "list", "--porcelain", "-z"])?;
    if !answer.is_success() {
        return Err(refused(folder, &answer));
    }
    let mut listed = Vec::new();
    for part in blocks(&answer.output) {
        let Some(root) = part.iter().find_map(|line| line.strip_prefix(b"worktree ")) else {
            return Err(GitError::Unreadable { folder: folder.to_owned() });
        };
        if part.contains(&b"bare".as_slice()) {
            continue;
        }
        let root = path(root);
        // Where the git directory lies elsewhere (submodules) git lists that in place of the worktree.
        let root = if root == common_dir {
            configured_root(surroundings, folder, common_dir)?
        } else {
            Some(root)
        };
        let is_prunable = part.iter().any(|line| line.starts_with(b"prunable"));
        listed.extend(root.map(|root| ListedWorktree { root, is_prunable }));
    }
    Ok(listed)
}

/// The commit that a folder's worktree has checked out; none before the first.
///
/// # Errors
/// [`GitError`]
pub fn head(surroundings: &Surroundings, folder: &Path) -> Result<Option<String>, GitError> {
    let answer = ask(surroundings, folder, &["rev-parse", "--verify", "--quiet", "HEAD^{commit}"])?;
    if answer.is_success() {
        return Ok(Some(String::from_utf8_lossy(&answer.output).trim().to_owned()));
    }
    if answer.complaint.is_empty() { Ok(None) } else { Err(refused(folder, &answer)) }
}

/// The repository that the one of this worktree is a submodule of.
///
/// # Errors
/// [`GitError`]
pub fn superproject(surroundings: &Surroundings, root: &Path) -> Result<Option<PathBuf>, GitError> {
    let answer = ask(surroundings, root, &["rev-parse", "--show-superproject-working-tree"])?;
    if !answer.is_success() {
        return Err(refused(root, &answer));
    }
    let line = answer.output.strip_suffix(b"\n").unwrap_or(&answer.output);
    Ok((!line.is_empty()).then(|| path(line)))
}

/// The worktree of a git directory that lies elsewhere.
fn configured_root(
    surroundings: &Surroundings,
    folder: &Path,
    git_dir: &Path,
) -> Result<Option<PathBuf>, GitError> {
    let config = git_dir.join("config");
    let question = ["config", "-z", "--file"].map(OsStr::new);
    let question = [&question[..], &[config.as_os_str(), OsStr::new("core.worktree")]].concat();
    let answer = ask(surroundings, folder, &question)?;
    let named = answer.output.strip_suffix(b"\0").filter(|named| !named.is_empty());
    Ok(named.and_then(|named| git_dir.join(path(named)).canonicalize().ok()))
}

fn ask<A: AsRef<OsStr>>(
    surroundings: &Surroundings,
    folder: &Path,
    arguments: &[A],
) -> Result<Answer, GitError> {
    let mut tool = Tool::new("git")
        .args(arguments.iter().map(|argument| OsString::from(argument.as_ref())))
        .in_folder(folder)
        .only_environment(surroundings.environment.clone())
        // Answers are read by a program.
        .set("LC_ALL", "C")
        .set("GIT_OPTIONAL_LOCKS", "0")
        .set("GIT_TERMINAL_PROMPT", "0")
        .timeout(TIMEOUT);
    for name in WHERE_VARIABLES {
        tool = tool.unset(name);
    }
    let answer = tool
        .run_until_answered()
        .map_err(|source| GitError::Tool { folder: folder.to_owned(), source })?;
    match dubious(&answer) {
        Some(repository) => Err(GitError::DubiousOwnership { repository }),
        None => Ok(answer),
    }
}

/// The repository that git does not trust, if that is what it says.
fn dubious(answer: &Answer) -> Option<PathBuf> {
    let text = answer.complaint_text();
    let (_, rest) = text.split_once("detected dubious ownership in repository at '")?;
    let (repository, _) = rest.split_once('\'')?;
    Some(PathBuf::from(repository))
}

/// git found nothing although something looks like a repository: it was told not to look there, or it is damaged.
fn not_found(
    surroundings: &Surroundings,
    folder: &Path,
    answer: &Answer,
) -> Result<Option<Found>, GitError> {
    let said = answer.complaint_text();
    let stopped = said.contains("up to mount point")
        || surroundings.variable("GIT_CEILING_DIRECTORIES").is_some();
    if said.contains("not a git repository (or any") && stopped {
        return Ok(None);
    }
    Err(refused(folder, answer))
}

fn refused(folder: &Path, answer: &Answer) -> GitError {
    GitError::Refused { folder: folder.to_owned(), said: answer.complaint_text() }
}

/// The blocks of lines of `--porcelain -z`: lines end with a zero byte, blocks with an empty line.
fn blocks(output: &[u8]) -> Vec<Vec<&[u8]>> {
    let lines: Vec<&[u8]> = output.split(|byte| *byte == 0).collect();
    let blocks = lines.split(|line| line.is_empty());
    blocks.filter(|block| !block.is_empty()).map(<[&[u8]]>::to_vec).collect()
}

fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(bytes))
}
