//! A store in a folder of its own, as the conformance suite and the other tests see it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use agentos_core::id::OwnerId;
use agentos_store::conformance::Fixture;
use agentos_store::sqlite::{Options, Owner, SqliteStore};
use agentos_store::store::Store;
use async_trait::async_trait;
use tempfile::TempDir;
use uuid::Uuid;

/// An identity for a history.
pub(crate) const HISTORY: Uuid = Uuid::from_u128(0x5eed);

pub(crate) fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::quiet(HISTORY)).expect("the store opens")
}

/// A file in a folder that goes away in the end. Every `open` is what another process would see.
pub(crate) struct SqliteFixture {
    folder: TempDir,
    alive: Mutex<BTreeMap<OwnerId, Owner>>,
    owners: AtomicU64,
}

impl SqliteFixture {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("there is room for a folder");
        Self { folder, alive: Mutex::default(), owners: AtomicU64::new(1) }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("issue_workflow.db")
    }
}

#[async_trait]
impl Fixture for SqliteFixture {
    async fn open(&self) -> Arc<dyn Store> {
        Arc::new(open(&self.path()))
    }

    async fn new_owner(&self) -> OwnerId {
        let id = OwnerId(Uuid::from_u128(self.owners.fetch_add(1, Ordering::Relaxed).into()));
        let owner = open(&self.path()).enlist(id).expect("an owner is enlisted");
        self.alive.lock().expect("nothing panics in here").insert(id, owner);
        id
    }

    async fn kill_owner(&self, owner: OwnerId) {
        self.alive.lock().expect("nothing panics in here").remove(&owner);
    }
}
