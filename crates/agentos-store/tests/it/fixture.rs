//! The simulated store as the conformance suite sees it, whole or behind something that breaks it.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use agentos_core::id::OwnerId;
use agentos_store::conformance::Fixture;
use agentos_store::simulated::SimulatedStore;
use agentos_store::store::Store;
use async_trait::async_trait;
use uuid::Uuid;

/// The answer of a future that never waits: simulations have no executor.
pub(crate) fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the simulated store never waits"),
    }
}

type Wrap = Box<dyn Fn(SimulatedStore) -> Arc<dyn Store> + Send + Sync>;

/// A simulated store; every process sees it through what `wrap` makes of it.
pub(crate) struct SimulatedFixture {
    store: SimulatedStore,
    wrap: Wrap,
    owners: AtomicU64,
}

impl SimulatedFixture {
    pub(crate) fn new(store: SimulatedStore) -> Self {
        Self::wrapped(store, |store| Arc::new(store))
    }

    pub(crate) fn wrapped(
        store: SimulatedStore,
        wrap: impl Fn(SimulatedStore) -> Arc<dyn Store> + Send + Sync + 'static,
    ) -> Self {
        Self { store, wrap: Box::new(wrap), owners: AtomicU64::new(1) }
    }
}

#[async_trait]
impl Fixture for SimulatedFixture {
    async fn open(&self) -> Arc<dyn Store> {
        (self.wrap)(self.store.clone())
    }

    async fn new_owner(&self) -> OwnerId {
        OwnerId(Uuid::from_u128(self.owners.fetch_add(1, Ordering::Relaxed).into()))
    }

    async fn kill_owner(&self, owner: OwnerId) {
        self.store.owner_died(owner);
    }
}
