//! A place in the queue, or a slot: held until it is dropped, or its process ends.

use std::fs::{self, File};
use std::sync::Arc;

use super::folder::Folder;
use super::watch::Watch;

/// See the module.
#[derive(Debug)]
pub(crate) struct Ticket {
    folder: Arc<Folder>,
    watch: Arc<Watch>,
    file: File,
    name: String,
}

impl Ticket {
    pub(super) const fn new(
        folder: Arc<Folder>,
        watch: Arc<Watch>,
        file: File,
        name: String,
    ) -> Self {
        Self { folder, watch, file, name }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// It waits, and wants to be told.
    pub(super) fn wait(&self) {
        self.watch.begin(&self.name);
    }

    /// Whether it is in. Then it wants to be told no more.
    pub(crate) fn is_in(&self) -> bool {
        let is_in = Folder::is_in(&self.file);
        if is_in {
            self.watch.end(&self.name);
        }
        is_in
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.watch.end(&self.name);
        // If that fails, the lock tells the same a moment later.
        let _removed = fs::remove_file(self.folder.ticket_path(&self.name));
    }
}
