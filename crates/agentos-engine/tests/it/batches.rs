//! A stale owner's commit beside a healthy one's, in one batch of the store.

use std::sync::Arc;
use std::time::Duration;

use agentos_core::codec::Chunk;
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::time::Timestamp;
use agentos_engine::engine::{Builder, Limits};
use agentos_store::backend::BackendError;
use agentos_store::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use agentos_store::commit::{CommitError, Committed, TurnCommit};
use agentos_store::due::{Due, Except, Outlook};
use agentos_store::inbox::{Received, SendError, Sent};
use agentos_store::list::{ListError, RunCursor, RunFilter, RunPage};
use agentos_store::log::ReadError;
use agentos_store::run::{CreateError, Created, Head, NewRun};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store;
use agentos_store::tail::{TailCursor, TailError, TailPage};
use agentos_testing::script::build::{seq, shell, wait};
use agentos_testing::wait::until;
use async_trait::async_trait;
use serde_json::json;
use tokio::sync::{Mutex, oneshot};
use uuid::Uuid;

use crate::support::{House, Life, Scripts};

type Answer = Result<Committed, CommitError>;

/// A commit that is kept back, and where its answer goes.
type Kept = (TurnCommit, oneshot::Sender<Answer>);

/// A store that, once it is told to, keeps commits back until there are two, and makes one batch of them.
struct Paired {
    inner: SqliteStore,
    waiting: Mutex<Option<Vec<Kept>>>,
}

impl Paired {
    async fn commit_paired(&self, turn: TurnCommit) -> Option<Answer> {
        let (sender, answer) = oneshot::channel();
        let batch = {
            let mut waiting = self.waiting.lock().await;
            let kept = waiting.as_mut()?;
            kept.push((turn, sender));
            if kept.len() == 2 { waiting.take() } else { None }
        };
        if let Some(batch) = batch {
            let (turns, senders): (Vec<_>, Vec<_>) = batch.into_iter().unzip();
            let answers = self.inner.commit(turns).await;
            for (sender, answer) in senders.into_iter().zip(answers) {
                sender.send(answer).expect("whoever commits waits");
            }
        }
        Some(answer.await.expect("the batch is answered"))
    }
}

#[async_trait]
impl Store for Paired {
    async fn commit(&self, batch: Vec<TurnCommit>) -> Vec<Answer> {
        let mut answers = Vec::new();
        for turn in batch {
            answers.push(match self.commit_paired(turn.clone()).await {
                Some(answer) => answer,
                None => self.inner.commit(vec![turn]).await.remove(0),
            });
        }
        answers
    }

    async fn create_run(&self, new: NewRun) -> Result<Created, CreateError> {
        self.inner.create_run(new).await
    }

    async fn claim(
        &self,
        run: RunId,
        owner: OwnerId,
        mode: ClaimMode,
    ) -> Result<Claim, ClaimError> {
        self.inner.claim(run, owner, mode).await
    }

    async fn release(&self, run: RunId, epoch: Epoch) -> Result<(), ReleaseError> {
        self.inner.release(run, epoch).await
    }

    async fn head(&self, run: RunId) -> Result<Head, ReadError> {
        self.inner.head(run).await
    }

    async fn load_log(&self, run: RunId, from: Seq, limit: usize) -> Result<Vec<Chunk>, ReadError> {
        self.inner.load_log(run, from, limit).await
    }

    async fn send(&self, run: RunId, message: Message, at: Timestamp) -> Result<Sent, SendError> {
        self.inner.send(run, message, at).await
    }

    async fn inbox(&self, run: RunId, limit: usize) -> Result<Vec<Received>, ReadError> {
        self.inner.inbox(run, limit).await
    }

    async fn due(
        &self,
        now: Timestamp,
        except: &Except,
        limit: usize,
    ) -> Result<Vec<Due>, BackendError> {
        self.inner.due(now, except, limit).await
    }

    async fn outlook(
        &self,
        owner: OwnerId,
        except: &Except,
        limit: usize,
    ) -> Result<Outlook, BackendError> {
        self.inner.outlook(owner, except, limit).await
    }

    async fn list_runs(
        &self,
        filter: RunFilter,
        after: Option<RunCursor>,
        limit: usize,
    ) -> Result<RunPage, ListError> {
        self.inner.list_runs(filter, after, limit).await
    }

    async fn tail(&self, after: TailCursor, limit: usize) -> Result<TailPage, TailError> {
        self.inner.tail(after, limit).await
    }
}

fn signal(key: &str) -> Message {
    let body = MessageBody::Signal { name: Name::new("go").expect("a name"), payload: json!(1) };
    Message { key: InboxKey(key.to_owned()), body }
}

/// Waits until the run's first turn is committed; the engine keeps the run.
async fn waits(house: &House, run: RunId) {
    let waits = async || house.kinds(run).await.contains(&"operation.ordered");
    until("the run waits", waits).await;
}

#[tokio::test]
async fn a_stale_commit_fails_alone_and_the_healthy_one_beside_it_is_taken() {
    let house = House::new(Scripts::of(seq([wait("go"), shell("x")])));
    let store = house.store();
    let owner = store.enlist(OwnerId(Uuid::from_u128(501))).expect("an owner");
    let paired = Arc::new(Paired { inner: store.clone(), waiting: Mutex::new(None) });
    let library: Arc<dyn agentos_engine::library::Library> = house.library();
    // It keeps its runs while they wait.
    let limits = Limits { linger: Duration::from_secs(3_600), workers: 2, ..Limits::default() };
    let shared: Arc<dyn Store> = Arc::<Paired>::clone(&paired);
    let engine = Builder::new(shared, owner.id(), library)
        .performers(house.performers())
        .limits(limits)
        .start()
        .expect("the engine starts");
    let life = Life { engine, store: store.clone(), owner };
    let (stale, healthy) = (life.start(1).await, life.start(2).await);
    waits(&house, stale).await;
    waits(&house, healthy).await;
    // Somebody takes one run over; its old owner has not noticed yet.
    let thief = store.enlist(OwnerId(Uuid::from_u128(502))).expect("an owner");
    store.claim(stale, thief.id(), ClaimMode::TakeOver).await.expect("it is taken over");
    *paired.waiting.lock().await = Some(Vec::new());
    life.engine.send(stale, signal("a")).await.expect("it is sent");
    life.engine.send(healthy, signal("b")).await.expect("it is sent");
    life.ends(healthy).await;
    assert!(paired.waiting.lock().await.is_none(), "there was a batch of two");
    life.rests().await;
    life.engine.leave().await;
    let counts = house.ledger().counts();
    assert_eq!(counts.into_keys().collect::<Vec<_>>(), [format!("{healthy} /shell:x#1")]);
    assert!(!house.kinds(stale).await.contains(&"signal.arrived"), "nothing of it was taken");
    let head = store.head(stale).await.expect("a head");
    assert_eq!(head.owner, Some(thief.id()), "and it is still whose it was");
    assert_eq!(store.inbox(stale, 10).await.expect("an inbox").len(), 1, "its message waits");
}
