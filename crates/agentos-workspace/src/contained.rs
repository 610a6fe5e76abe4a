//! The files of a run, and nothing else: what a workflow may read and write, whatever path it names.
//!
//! A path comes from workflow code, so from an agent's answer or from a stranger's issue. It is never looked up by name
//! from the root of the machine. Each is resolved from a handle of the workspace (or of the run's input files, which are
//! only read), part by part, and what was found is then opened by the handle of the folder that it is in, without
//! following anything. So neither `..`, nor an absolute path, nor a symbolic link leads out, also not one that somebody
//! puts there in between. Links that stay inside are followed.
//!
//! - **Only files are opened.** Pipes, sockets and devices are refused by what they are, before they are opened.
//! - **Writing is a rename.** Whoever reads sees the old file or the new one. Another hard link to the old one keeps what
//!   it had: nothing is written through to a file outside.
//! - **`.git`, `.jj` and `.agentos` are not changed.** A hook or a setting in there would be a way out. Nor are the folders
//!   of runs, and the inputs, if the run works in the project itself. No search goes into them, and a folder around them
//!   is not removed. They can be read.
//! - **A hard link can't be told from the file itself** and is read as one: whoever made it could have copied the file.
//!
//! This is a guard for the calls of `ctx.files`; commands of a workflow are not confined by it.

mod copy;
mod error;
mod guard;
mod list;
mod path;
mod read;
mod remove;
mod root;
mod walk;
mod write;

use std::path::Path;

pub use copy::Sink;
pub use error::ContainedError;
pub use read::Source;
pub use walk::{Tree, TreeFile};
pub use write::Writing;

use path::Asked;
use root::Root;

/// Longest path, in bytes. No file system takes a longer one.
pub const PATH_BYTES: usize = 4_096;

/// Largest file that is read as a value, in bytes: it becomes part of the run's log.
pub const READ_BYTES: u64 = 2 * 1024 * 1024;

/// Most that is written at once, in bytes.
pub const WRITE_BYTES: usize = 4 * 1024 * 1024;

/// Most paths in a listing.
pub const LIST_ENTRIES: usize = 10_000;

/// Most entries of folders that are looked at for one listing.
pub const WALK_ENTRIES: usize = 500_000;

/// How deep folders are searched, from the one that was named. Each on the way is open meanwhile.
pub const WALK_DEPTH: usize = 128;

/// The files of a run.
#[derive(Debug)]
pub struct Contained {
    workspace: Root,
    context: Option<Root>,
}

impl Contained {
    /// The files below these folders: the workspace, and the run's input files if it has any.
    ///
    /// # Errors
    /// The workspace can't be opened.
    pub fn open(workspace: &Path, context: Option<&Path>) -> Result<Self, ContainedError> {
        let context = context.filter(|context| context.is_dir()).map(Root::open).transpose()?;
        let mut workspace = Root::open(workspace)?;
        if let Some(context) = &context {
            workspace.protect(context.real());
        }
        Ok(Self { workspace, context })
    }

    /// Keeps a folder as it is that belongs to others, if it is in the workspace: it can be read and not changed, and a
    /// search does not go into it.
    #[must_use]
    pub fn protecting(mut self, folder: &Path) -> Self {
        self.workspace.protect(folder);
        self
    }

    /// Where a path leads, by its text alone.
    fn asked<'a>(&'a self, path: &'a str) -> Result<Asked<'a>, ContainedError> {
        Asked::parse(path, &self.workspace, self.context.as_ref())
    }

    /// The same, for whoever wants to change something there.
    fn asked_to_change<'a>(&'a self, path: &'a str) -> Result<Asked<'a>, ContainedError> {
        let asked = self.asked(path)?;
        if asked.is_context {
            return Err(ContainedError::ReadOnly { path: path.to_owned() });
        }
        Ok(asked)
    }

    /// Whether there is anything at a path. What a symbolic link leads to counts, if it stays inside.
    ///
    /// # Errors
    /// The path is refused, or the file system does not answer.
    pub fn exists(&self, path: &str) -> Result<bool, ContainedError> {
        match self.asked(path)?.resolve() {
            Ok(_) => Ok(true),
            // A link that leads in a circle leads to nothing either.
            Err(ContainedError::Missing { .. } | ContainedError::Kind { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
