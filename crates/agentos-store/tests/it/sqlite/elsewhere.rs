//! A run that goes on in another database: the store accepts neither a claim nor a message for it.

use std::fs;
use std::sync::mpsc::{TryRecvError, channel};

use agentos_core::id::{InboxKey, OwnerId, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_store::claim::{ClaimError, ClaimMode};
use agentos_store::conformance::{Fixture as _, block_on};
use agentos_store::counterpart::{Counterpart, Counterparts, ElsewhereError, Reason};
use agentos_store::inbox::{SendError, Sent};
use agentos_store::place::Place;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use rustix::fs::{FlockOperation, flock};

use super::fixture::{SqliteFixture, open};
use super::given::{new_run, run_id};

const RUN: u128 = 1;

fn send(store: &SqliteStore, run: RunId) -> Result<Sent, SendError> {
    let key = InboxKey("cancel:1".to_owned());
    let message = Message { key, body: MessageBody::Cancel { reason: None } };
    block_on(store.send(run, message, Timestamp(2_000)))
}

fn claim(store: &SqliteStore, run: RunId, owner: OwnerId) -> Result<(), ClaimError> {
    block_on(store.claim(run, owner, ClaimMode::TakeOver)).map(|_| ())
}

#[test]
fn a_run_that_was_moved_is_neither_claimed_nor_sent_a_message() {
    let fixture = SqliteFixture::new();
    let (store, run) = (open(&fixture.path()), run_id(RUN));
    block_on(store.create_run(new_run(RUN, Place::default()))).expect("it is created");
    let owner = block_on(fixture.new_owner());
    let database = fixture.path().with_file_name("other.db");
    fs::write(&database, "").expect("a file");
    let counterparts = Counterparts::of(store.path());
    let counterpart = Counterpart { reason: Reason::Moved, database };
    counterparts.note(run, &counterpart).expect("it is noted");
    let source = ElsewhereError::Counterpart(counterpart);
    assert_eq!(send(&store, run), Err(SendError::Elsewhere { run, source: source.clone() }));
    assert_eq!(claim(&store, run, owner), Err(ClaimError::Elsewhere { run, source }));
    counterparts.forget(run).expect("it is forgotten");
    assert_eq!(send(&store, run), Ok(Sent::New));
    assert_eq!(claim(&store, run, owner), Ok(()));
}

#[test]
fn writers_are_waited_for() {
    let fixture = SqliteFixture::new();
    let path = open(&fixture.path()).path().to_owned();
    let lock = fs::File::open(path.with_file_name("issue_workflow.db.lock")).expect("it is there");
    flock(&lock, FlockOperation::LockExclusive).expect("no process writes");
    let (tell, told) = channel();
    let waiting = std::thread::spawn(move || {
        tell.send(()).expect("the test listens");
        SqliteStore::wait_for_writers(&path).expect("the lock can be taken");
        tell.send(()).expect("the test listens");
    });
    told.recv().expect("it begins");
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty), "a writer is at work");
    drop(lock);
    told.recv().expect("it goes on");
    waiting.join().expect("it ends");
}
