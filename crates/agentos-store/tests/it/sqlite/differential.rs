//! The simulated store and the file, driven with the same random sequence: they give the same answers.

use std::collections::BTreeMap;
use std::fmt::Debug;

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, InboxKey, OwnerId, RunId, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::standing::{EndStatus, Standing};
use agentos_core::time::Timestamp;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::{Outgoing, TurnCommit};
use agentos_store::conformance::block_on;
use agentos_store::due::Except;
use agentos_store::list::{RunFilter, StandingFilter};
use agentos_store::place::Place;
use agentos_store::records::{RecordError, Records as _};
use agentos_store::run::{History, NewRun};
use agentos_store::simulated::SimulatedStore;
use agentos_store::sqlite::{Owner, SqliteStore};
use agentos_store::store::Store;
use agentos_store::tail::TailCursor;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng as _, SeedableRng};
use serde_json::json;
use uuid::Uuid;

use super::fixture::{SqliteFixture, open};
use super::given::{name, new_run, run_id};

/// How many runs and owners there are at most, so that sequences meet.
const RUNS: u64 = 6;
const OWNERS: u64 = 4;

struct Pair {
    simulated: SimulatedStore,
    file: SqliteStore,
    /// Another process on the same file.
    other: SqliteStore,
    alive: BTreeMap<OwnerId, Owner>,
    tails: (TailCursor, TailCursor),
    random: Xoshiro256PlusPlus,
}

impl Pair {
    fn below(&mut self, limit: u64) -> u64 {
        self.random.next_u64() % limit
    }

    fn is(&mut self, of_ten: u64) -> bool {
        self.below(10) < of_ten
    }

    fn run(&mut self) -> RunId {
        run_id(u128::from(1 + self.below(RUNS)))
    }

    fn owner(&mut self) -> OwnerId {
        OwnerId(Uuid::from_u128(u128::from(1 + self.below(OWNERS))))
    }

    /// One of both handles to the file.
    fn some_file(&mut self) -> SqliteStore {
        if self.is(5) { self.file.clone() } else { self.other.clone() }
    }

    /// Asks both and compares.
    fn both<T: Debug, F: Future<Output = T>>(
        &mut self,
        what: &str,
        ask: impl Fn(Box<dyn Store>) -> F,
    ) {
        let simulated = block_on(ask(Box::new(self.simulated.clone())));
        let file = self.some_file();
        let answer = block_on(ask(Box::new(file)));
        assert_eq!(format!("{answer:?}"), format!("{simulated:?}"), "{what}");
    }

    fn entries(&mut self) -> Vec<Entry> {
        let count = 1 + self.below(3);
        let entry = |number: u64| Entry::SignalArrived {
            key: InboxKey(format!("in the log {number}")),
            name: name("note"),
            payload: json!({ "number": number }),
        };
        (0..count).map(|_| entry(self.below(1_000))).collect()
    }

    fn standing(&mut self) -> Standing {
        let wake_at = self.is(5).then(|| Timestamp(i64::try_from(self.below(20)).unwrap()));
        match self.below(8) {
            0..=3 => Standing::Working { wake_at },
            4..=6 => Standing::Parked { wake_at },
            _ => Standing::Ended { status: EndStatus::Failed },
        }
    }

    fn message(&mut self) -> Message {
        let body = MessageBody::Signal { name: name("go"), payload: json!(self.below(5)) };
        Message { key: InboxKey(format!("k{}", self.below(12))), body }
    }

    fn turn(&mut self) -> TurnCommit {
        let run = self.run();
        let head = block_on(self.simulated.head(run)).ok();
        let (epoch, expected) = head.map_or((Epoch(0), Seq(0)), |head| (head.epoch, head.head));
        let epoch = if self.is(9) { epoch } else { Epoch(self.below(4)) };
        let expected = if self.is(9) { expected } else { Seq(self.below(4)) };
        let first = if self.is(9) { expected } else { Seq(expected.0 + 1) };
        let entries = if self.is(9) { self.entries() } else { Vec::new() };
        let at = Timestamp(i64::try_from(self.below(20)).unwrap());
        let waiting = block_on(self.simulated.inbox(run, 3)).unwrap_or_default();
        let mut consumed: Vec<InboxKey> =
            waiting.into_iter().map(|waits| waits.message.key).collect();
        if self.is(1) {
            consumed.push(InboxKey("k3".into()));
        }
        let outgoing = if self.is(3) {
            vec![Outgoing { to: self.run(), message: self.message() }]
        } else {
            Vec::new()
        };
        let chunk = Chunk::new(first, at, entries);
        TurnCommit { run, epoch, expected, chunk, consumed, standing: self.standing(), outgoing }
    }

    fn create(&mut self) {
        let number = u128::from(1 + self.below(RUNS));
        let mut new: NewRun = new_run(number, Place::default());
        if self.is(2) {
            let rest = vec![Chunk::new(Seq(1), Timestamp(3), self.entries())];
            new.history = Some(History { began: Timestamp(2), rest, standing: self.standing() });
        }
        self.both("create_run", |store| {
            let new = new.clone();
            async move { store.create_run(new).await }
        });
    }

    fn write(&mut self) {
        let run = self.run();
        match self.below(13) {
            0 | 1 => self.create(),
            12 => self.rebuild(),
            2 | 3 => {
                let owner = self.owner();
                let mode = if self.is(8) { ClaimMode::IfFree } else { ClaimMode::TakeOver };
                self.both("claim", |store| async move { store.claim(run, owner, mode).await });
            }
            4 => {
                let epoch = block_on(self.simulated.head(run)).map_or(Epoch(0), |head| head.epoch);
                let epoch = if self.is(8) { epoch } else { Epoch(self.below(3)) };
                self.both("release", |store| async move { store.release(run, epoch).await });
            }
            5 | 6 => {
                let message = self.message();
                self.both("send", |store| {
                    let message = message.clone();
                    async move { store.send(run, message, Timestamp(4)).await }
                });
            }
            7 => self.live_and_die(),
            _ => {
                let count = 1 + self.below(3);
                let batch: Vec<TurnCommit> = (0..count).map(|_| self.turn()).collect();
                self.both("commit", |store| {
                    let batch = batch.clone();
                    async move { store.commit(batch).await }
                });
            }
        }
    }

    /// Makes rows again, in the midst of everything. Nothing else may notice.
    fn rebuild(&mut self) {
        let run = self.run();
        let file = self.some_file();
        let is_there = block_on(self.simulated.head(run)).is_ok();
        let before = block_on(file.run_detail(run)).ok();
        assert_eq!(block_on(file.rebuild(run)).is_ok(), is_there, "rebuild");
        assert_eq!(block_on(self.some_file().run_detail(run)).ok(), before, "rows made again");
    }

    /// Deletes every run that has ended. What is left is what the simulated store has besides.
    fn delete_ended(&mut self) {
        let mut left = Vec::new();
        for number in 1..=RUNS {
            let run = run_id(number.into());
            let deleted = block_on(self.some_file().delete_run(run));
            match block_on(self.simulated.head(run)) {
                Ok(head) if head.standing.is_ended() => {
                    assert_eq!(deleted, Ok(()));
                    assert!(block_on(self.some_file().head(run)).is_err(), "{run} is gone");
                }
                Ok(_) => {
                    assert!(matches!(deleted, Err(RecordError::InUse { .. })), "{deleted:?}");
                    left.push(run);
                }
                Err(_) => {
                    assert!(matches!(deleted, Err(RecordError::NotFound { .. })), "{deleted:?}");
                }
            }
        }
        for run in &left {
            let run = *run;
            self.both("head", |store| async move { store.head(run).await });
            self.both("load_log", |store| async move { store.load_log(run, Seq(0), 100).await });
            self.both("inbox", |store| async move { store.inbox(run, 100).await });
        }
        let page = block_on(self.some_file().list_runs(RunFilter::default(), None, 100)).unwrap();
        let mut listed: Vec<RunId> = page.runs.iter().map(|run| run.run).collect();
        listed.sort();
        assert_eq!(listed, left, "what is listed");
    }

    fn live_and_die(&mut self) {
        let owner = self.owner();
        if self.alive.remove(&owner).is_some() {
            self.simulated.owner_died(owner);
        } else {
            self.alive.insert(owner, self.file.enlist(owner).unwrap());
            self.simulated.owner_alive(owner);
        }
    }

    fn read(&mut self) {
        let run = self.run();
        let limit = usize::try_from(1 + self.below(5)).unwrap();
        match self.below(7) {
            0 => self.both("head", |store| async move { store.head(run).await }),
            1 => {
                let from = Seq(self.below(12));
                self.both(
                    "load_log",
                    |store| async move { store.load_log(run, from, limit).await },
                );
            }
            2 => self.both("inbox", |store| async move { store.inbox(run, limit).await }),
            3 => {
                let now = Timestamp(i64::try_from(self.below(25)).unwrap());
                self.both("due", |store| async move {
                    let mut due = store.due(now, &Except::new(), 100).await.unwrap();
                    due.sort_by_key(|due| due.run);
                    due
                });
            }
            4 => {
                let owner = self.owner();
                self.both("outlook", |store| async move {
                    let mut outlook = store.outlook(owner, &Except::new(), 100).await.unwrap();
                    outlook.addressed.sort();
                    outlook
                });
            }
            5 => {
                let standing = [StandingFilter::Any, StandingFilter::Parked, StandingFilter::Ended];
                let filter =
                    RunFilter { standing: standing[usize::try_from(self.below(3)).unwrap()] };
                self.both(
                    "list_runs",
                    |store| async move { list_all(&*store, filter, limit).await },
                );
            }
            _ => {
                let mine = block_on(self.simulated.tail(self.tails.0.clone(), limit)).unwrap();
                let file = self.some_file();
                let theirs = block_on(file.tail(self.tails.1.clone(), limit)).unwrap();
                assert_eq!(mine.events, theirs.events, "tail");
                self.tails = (mine.next, theirs.next);
            }
        }
    }
}

async fn list_all(store: &dyn Store, filter: RunFilter, limit: usize) -> String {
    let mut shown = String::new();
    let mut after = None;
    loop {
        let page = store.list_runs(filter, after, limit).await.unwrap();
        shown += &format!("{:?}", page.runs);
        match page.next {
            Some(next) => after = Some(next),
            None => return shown,
        }
    }
}

fn drive(seed: u64, operations: usize) {
    let fixture = SqliteFixture::new();
    let mut pair = Pair {
        simulated: SimulatedStore::with_tail_delay(seed, 0),
        file: open(&fixture.path()),
        other: open(&fixture.path()),
        alive: BTreeMap::new(),
        tails: (TailCursor::start(), TailCursor::start()),
        random: Xoshiro256PlusPlus::seed_from_u64(seed),
    };
    for owner in 1..=OWNERS {
        let owner = OwnerId(Uuid::from_u128(owner.into()));
        pair.simulated.owner_died(owner);
    }
    for _operation in 0..operations {
        if pair.is(6) {
            pair.write();
        } else {
            pair.read();
        }
    }
    pair.delete_ended();
}

#[test]
fn both_stores_give_the_same_answers() {
    for seed in 0..12 {
        drive(seed, 250);
    }
}
