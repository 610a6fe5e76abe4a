//! Who a checkout is: the id of its project and of its worktree, made once.
//!
//! Both are kept in the checkout's private folder (its git directory, or `.jj`), where neither `git clean` nor a commit
//! nor a clone reaches them, and which goes when the worktree is removed. The root is written beside them, because the
//! private folder may be copied along with everything else (`cp -r`): where the recorded root is another one that still
//! says the same id, this one is a copy and becomes a project of its own. Where it says so no longer, the checkout was
//! moved and stays who it is.

use std::fs::{self, File};
use std::hash::Hasher as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128 as _, SipHasher13};
use thiserror::Error;
use uuid::{Builder, Uuid};

use crate::checkout::Checkout;
use crate::files::{self, FileError};

/// The worktree of those that a repository was made with.
pub const MAIN: &str = "main";

/// The folder for our files in a checkout's private folder.
const FOLDER: &str = "agentos";

/// The only form that there is so far.
const VERSION: u32 = 1;

/// Who a checkout is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// The project.
    pub project: Uuid,
    /// `main`, or the id of the worktree or workspace.
    pub worktree: String,
}

/// Why it is not known who a checkout is.
#[derive(Debug, Error)]
pub enum IdentityError {
    /// A file or folder can't be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A newer program wrote it.
    #[error("{} has version {version} and this program knows version {VERSION}; use the newer program", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u32,
    },
    /// A copy of a linked worktree: both have one git directory.
    #[error(
        "{} is a copy of the worktree {} and shares its git directory; make worktrees with `git worktree add`",
        root.display(),
        original.display()
    )]
    SharedGitDirectory {
        /// The copy.
        root: PathBuf,
        /// The other one.
        original: PathBuf,
    },
}

/// As it is on disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Record {
    version: u32,
    project: Uuid,
    worktree: String,
    /// Where the checkout was when this was written.
    root: PathText,
}

/// A path as text. One that is no text is not found again, and then counts as moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
struct PathText(String);

impl PathText {
    fn of(path: &Path) -> Self {
        Self(path.to_string_lossy().into_owned())
    }
}

/// How a record relates to the checkout that it was found in.
enum Fit {
    Same,
    Moved,
    Copied,
}

impl Identity {
    /// Who somebody is that stands in no checkout: the folder is the project.
    #[must_use]
    pub fn of_folder(folder: &Path) -> Self {
        let mut hasher = SipHasher13::new();
        hasher.write(folder.as_os_str().as_encoded_bytes());
        let project = Builder::from_custom_bytes(hasher.finish128().as_bytes()).into_uuid();
        Self { project, worktree: MAIN.to_owned() }
    }

    /// Who the checkout is; none if nobody has asked for it to be somebody yet. Makes nothing.
    ///
    /// # Errors
    /// [`IdentityError`]
    pub fn load(checkout: &Checkout) -> Result<Option<Self>, IdentityError> {
        let Some(record) = load_record(&checkout.private)? else { return Ok(None) };
        Ok(match record.fit(checkout)? {
            Fit::Same | Fit::Moved => Some(record.into()),
            Fit::Copied => None,
        })
    }

    /// Who the checkout is, from now on if not before. Many may ask at once and hear the same.
    ///
    /// # Errors
    /// [`IdentityError`]
    pub fn make(checkout: &Checkout) -> Result<Self, IdentityError> {
        if let Some(record) = load_record(&checkout.private)?
            && matches!(record.fit(checkout)?, Fit::Same)
        {
            // What was made once needs no permission to write.
            return Ok(record.into());
        }
        let _lock = lock(&checkout.private)?;
        let found = load_record(&checkout.private)?;
        let fit = found.as_ref().map(|record| record.fit(checkout)).transpose()?;
        let record = match (found, fit) {
            (Some(record), Some(Fit::Same)) => return Ok(record.into()),
            (Some(record), Some(Fit::Moved)) => {
                Record { root: PathText::of(&checkout.root), ..record }
            }
            _ => Record::new(checkout),
        };
        files::write_json(&path_of(&checkout.private), &record)?;
        Ok(record.into())
    }
}

impl Identity {
    /// Makes the checkout the project that a database already knows at its path: its git directory was made anew, and its
    /// history was not.
    ///
    /// # Errors
    /// [`IdentityError`]
    pub fn adopt(checkout: &Checkout, project: Uuid) -> Result<Self, IdentityError> {
        let known = Self::make(checkout)?;
        if known.project == project {
            return Ok(known);
        }
        let _lock = lock(&checkout.private)?;
        let record = Record { project, worktree: known.worktree, ..Record::new(checkout) };
        files::write_json(&path_of(&checkout.private), &record)?;
        Ok(record.into())
    }
}

impl From<Record> for Identity {
    fn from(record: Record) -> Self {
        Self { project: record.project, worktree: record.worktree }
    }
}

impl Record {
    fn new(checkout: &Checkout) -> Self {
        let worktree = if checkout.is_main { MAIN.to_owned() } else { Uuid::new_v4().to_string() };
        let root = PathText::of(&checkout.root);
        Self { version: VERSION, project: Uuid::new_v4(), worktree, root }
    }

    fn fit(&self, checkout: &Checkout) -> Result<Fit, IdentityError> {
        if self.root == PathText::of(&checkout.root) {
            return Ok(Fit::Same);
        }
        let original = Path::new(&self.root.0);
        if is_one_folder(original, &checkout.root) {
            // Another name for it, by a mount.
            return Ok(Fit::Same);
        }
        let Some(private) = private_of(original) else { return Ok(Fit::Moved) };
        if is_one_folder(&private, &checkout.private) {
            let (root, original) = (checkout.root.clone(), original.to_owned());
            return Err(IdentityError::SharedGitDirectory { root, original });
        }
        let other = load_record(&private).ok().flatten();
        Ok(match other {
            Some(other) if other.project == self.project => Fit::Copied,
            _ => Fit::Moved,
        })
    }
}

/// The folder for our files in a checkout's private folder.
pub(crate) fn folder_of(private: &Path) -> PathBuf {
    private.join(FOLDER)
}

/// Makes that folder and takes its lock, until the file is dropped or the process is gone.
pub(crate) fn lock(private: &Path) -> Result<File, FileError> {
    let folder = folder_of(private);
    files::make_folder(&folder)?;
    let path = folder.join("lock");
    let file = File::create(&path).map_err(FileError::io(&path, "can't be made"))?;
    file.lock().map_err(FileError::io(&path, "can't be locked"))?;
    Ok(file)
}

fn path_of(private: &Path) -> PathBuf {
    folder_of(private).join("checkout.json")
}

fn load_record(private: &Path) -> Result<Option<Record>, IdentityError> {
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let path = path_of(private);
    match files::load_json::<Versioned>(&path)? {
        None => Ok(None),
        Some(Versioned { version }) if version > VERSION => {
            Err(IdentityError::Newer { path, version })
        }
        Some(_) => Ok(files::load_json(&path)?),
    }
}

/// The private folder of the checkout at this root, without asking git: what can't be seen there is not there.
pub(crate) fn private_of(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    if git.is_dir() {
        return Some(git);
    }
    if let Ok(text) = fs::read_to_string(&git) {
        let link = text.strip_prefix("gitdir: ")?.trim_end();
        return Some(root.join(link)).filter(|private| private.is_dir());
    }
    Some(root.join(".jj")).filter(|private| private.is_dir())
}

fn is_one_folder(one: &Path, other: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) else { return false };
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}
