//! Where a run's commands are executed.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use async_trait::async_trait;

/// Where a run's commands are executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The folder that no command's working directory leaves.
    pub path: PathBuf,
    /// What every command finds in its environment there.
    pub env: BTreeMap<String, String>,
}

/// Knows where runs work.
#[async_trait]
pub trait Grounds: Send + Sync + 'static {
    /// Where this one does.
    ///
    /// # Errors
    /// It has no place, or it can't be found out: a failure of the command that was to be executed there.
    async fn of(&self, run: RunId) -> Result<Ground, Failure>;
}

/// All runs work in one folder.
#[derive(Debug, Clone)]
pub struct OneGround(pub PathBuf);

#[async_trait]
impl Grounds for OneGround {
    async fn of(&self, _: RunId) -> Result<Ground, Failure> {
        Ok(Ground { path: self.0.clone(), env: BTreeMap::new() })
    }
}

impl Ground {
    /// A folder inside, by its real path: neither `..` nor a symbolic link leads out.
    pub(super) fn inside(&self, folder: Option<&str>) -> Result<PathBuf, Failure> {
        let refused = |message: String| Failure::new(FailureKind::NonRetryable, message);
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|error| refused(format!("{} can't be used: {error}", path.display())))
        };
        let ground = real(&self.path)?;
        let wanted =
            folder.map_or_else(|| Ok(ground.clone()), |folder| real(&ground.join(folder)))?;
        if wanted.starts_with(&ground) {
            return Ok(wanted);
        }
        Err(refused(format!(
            "`{}` leads out of the workspace; name a folder inside of it",
            folder.unwrap_or_default()
        )))
    }
}
