//! Which files this process writes, so that whoever looks at them in the same process is in nobody's way.
//!
//! All connections of a process to one file share one map of its log's index, and it is as the first of them has opened
//! it: while somebody looks who may not write to the index, nobody else can. So whoever looks at a file in such a way does
//! it only while he asks, and whoever is about to write waits for that moment. From then on that file is looked at with an
//! index that may be written to; whoever writes does that anyway.

use std::path::Path;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use super::lock::FileIdentity;

static WRITTEN: RwLock<Vec<FileIdentity>> = RwLock::new(Vec::new());

/// While it is there nobody in this process begins to write to a file that was not written before. Not to be taken twice.
pub(super) struct Looking(RwLockReadGuard<'static, Vec<FileIdentity>>);

impl Looking {
    pub(super) fn begin() -> Self {
        // What is in it is whole at any moment.
        Self(WRITTEN.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether this process writes to the file, or did so.
    pub(super) fn is_written(&self, file: FileIdentity) -> bool {
        self.0.contains(&file)
    }
}

/// Says that this process is about to write to the file. It has to be open, and not yet read.
pub(super) fn about_to_write(path: &Path) {
    let Ok(Some(file)) = FileIdentity::of_path(path) else { return };
    if !Looking::begin().is_written(file) {
        WRITTEN.write().unwrap_or_else(PoisonError::into_inner).push(file);
    }
}
