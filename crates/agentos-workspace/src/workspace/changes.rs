//! What in a checkout is not committed.

use std::path::Path;

use super::porcelain::{CallError, Porcelain};
use crate::surroundings::Surroundings;

/// How many files in a checkout have changes that are not committed, or are new; 0 where git keeps none.
///
/// # Errors
/// [`CallError`]
pub fn count(surroundings: &Surroundings, root: &Path) -> Result<usize, CallError> {
    if !root.join(".git").exists() {
        return Ok(0);
    }
    let porcelain = Porcelain { surroundings, lock: None };
    let output = porcelain.git(root, ["status", "--porcelain", "-z", "--no-renames"])?;
    Ok(output.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count())
}
