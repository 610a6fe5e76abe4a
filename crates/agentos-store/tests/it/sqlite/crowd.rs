//! Many processes that commit to one file at once, some of them killed at any moment.
//!
//! Every process drives a run of its own, writes numbered notes into it and sends messages to its neighbour. A killed one
//! is followed by another that claims the run and goes on. In the end every log has every note once and in order, and
//! every message that was answered for was heard once.
//!
//! Stands by itself, because the soak uses it too.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{InboxKey, OwnerId, RunId, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::TurnCommit;
use agentos_store::conformance::block_on;
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::run::NewRun;
use agentos_store::sqlite::{Options, SqliteStore};
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

/// Every so many commits a message is sent.
const MESSAGE_EVERY: usize = 5;

/// The signal that ends a process whatever it does.
const KILL: i32 = 9;

fn run_id(number: usize) -> RunId {
    RunId(Uuid::from_u128(number as u128 + 1))
}

fn name(text: &str) -> Name {
    Name::new(text).expect("the names here are short")
}

fn open(path: &Path) -> SqliteStore {
    SqliteStore::open(path, Options::quiet(Uuid::from_u128(1))).expect("the store opens")
}

fn note(number: usize) -> Entry {
    let operation = format!("/comment:c#{}", number + 1).parse().expect("it is an operation");
    let on = agentos_core::entry::CommentOn::Run;
    Entry::CommentAdded {
        operation,
        on,
        message: number.to_string(),
        meta: serde_json::Value::Null,
    }
}

/// The part of one process: the path, its number, the number of processes, the number of commits, and the name under
/// which it owns.
#[expect(clippy::disallowed_methods, reason = "the wait is what is measured")]
#[expect(clippy::print_stdout, reason = "the other process listens")]
pub(crate) fn take_part(arguments: &[&str]) {
    let [path, number, processes, commits, owner] = arguments else { panic!("{arguments:?}") };
    let number: usize = number.parse().expect("a number");
    let processes: usize = processes.parse().expect("a number");
    let commits: usize = commits.parse().expect("a number");
    let store = open(path.as_ref());
    let owner = store.enlist(OwnerId(owner.parse().expect("an id"))).expect("it is enlisted");
    let run = run_id(number);
    let first = Entry::RunStarted(RunStarted::new(run, name("crowd")));
    let new = NewRun {
        run,
        at: Timestamp(0),
        first,
        history: None,
        place: Place::default(),
        owner: None,
    };
    block_on(store.create_run(new)).expect("a run is created");
    let claim =
        block_on(store.claim(run, owner.id(), ClaimMode::IfFree)).expect("its owner is dead");
    let (mut head, epoch) = (claim.head, claim.epoch);
    let done = notes(&block_on(load_whole_log(&store, run)).expect("a log can be read")).len();
    for next in done..commits {
        let began = Instant::now();
        let waiting = block_on(store.inbox(run, 3)).expect("an inbox can be read");
        let consumed: Vec<InboxKey> = waiting.into_iter().map(|waits| waits.message.key).collect();
        let arrived = consumed.iter().map(|key| Entry::SignalArrived {
            key: key.clone(),
            name: name("hello"),
            payload: json!({}),
        });
        let entries: Vec<Entry> = std::iter::once(note(next)).chain(arrived).collect();
        let chunk = Chunk::new(head, Timestamp(next as i64), entries);
        let standing = Standing::Working { wake_at: None };
        let turn = TurnCommit {
            run,
            epoch,
            expected: head,
            chunk,
            consumed,
            standing,
            outgoing: Vec::new(),
        };
        let committed = block_on(store.commit(vec![turn])).remove(0);
        head = committed.expect("the only owner commits").head;
        let waited = began.elapsed();
        if next % MESSAGE_EVERY == 0 {
            let body = MessageBody::Signal { name: name("hello"), payload: json!(next) };
            let message = Message { key: InboxKey(format!("{number}:{next}")), body };
            let to = run_id((number + 1) % processes);
            // The neighbour may not have begun yet; then nobody heard it.
            if block_on(store.send(to, message, Timestamp(0))).is_ok() {
                println!("sent {number}:{next}");
            }
        }
        println!("note {next} {}", waited.as_micros());
        let _flushed = std::io::stdout().flush();
    }
}

fn notes(log: &[Chunk]) -> Vec<usize> {
    let entries = log.iter().flat_map(|chunk| &chunk.entries);
    let notes = entries.filter_map(|entry| match entry {
        Entry::CommentAdded { message, .. } => message.parse().ok(),
        _ => None,
    });
    notes.collect()
}

/// How large a crowd.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) processes: usize,
    pub(crate) commits: usize,
    pub(crate) seed: u64,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) killed: usize,
    pub(crate) commits: usize,
    pub(crate) messages: usize,
    pub(crate) worst_wait: Duration,
    pub(crate) took: Duration,
}

/// What one place in the crowd has said.
#[derive(Default)]
struct Heard {
    notes: BTreeSet<usize>,
    sent: BTreeSet<String>,
    killed: usize,
    worst_us: u64,
}

impl Crowd {
    /// Starts everybody and waits for the end; `command` makes the command line for a part.
    #[expect(clippy::disallowed_methods, reason = "how long it took is part of the report")]
    pub(crate) fn gather(
        self,
        path: &Path,
        command: &(dyn Fn(&[&str]) -> Command + Sync),
    ) -> Outcome {
        drop(open(path));
        let began = Instant::now();
        let heard: Vec<Heard> = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..self.processes)
                .map(|number| scope.spawn(move || self.see_through(path, number, command)))
                .collect();
            parts.into_iter().map(|part| part.join().expect("nothing went wrong")).collect()
        });
        let took = began.elapsed();
        self.check(path, &heard, took)
    }

    /// One place in the crowd: a process, and after each that was killed another, until the work is done.
    fn see_through(
        self,
        path: &Path,
        number: usize,
        command: &(dyn Fn(&[&str]) -> Command + Sync),
    ) -> Heard {
        let mut chance = Chance(self.seed ^ (number as u64) << 32);
        let mut heard = Heard::default();
        for life in 0.. {
            // The first lives of two thirds are cut short, in the middle of whatever they do after so many lines.
            let cut = (life < 2 && chance.below(3) > 0).then(|| chance.below(self.commits as u64));
            let owner = Uuid::from_u128(1 << 100 | (number as u128) << 32 | life);
            let words = [
                path.to_string_lossy().into_owned(),
                number.to_string(),
                self.processes.to_string(),
                self.commits.to_string(),
                owner.to_string(),
            ];
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let child = command(&words).stdout(Stdio::piped()).spawn().expect("a process starts");
            if listen(child, cut, &mut heard) {
                return heard;
            }
        }
        heard
    }

    fn check(self, path: &Path, heard: &[Heard], took: Duration) -> Outcome {
        let store = open(path);
        let mut outcome = Outcome { took, ..Outcome::default() };
        let mut arrived: BTreeMap<String, usize> = BTreeMap::new();
        for (number, said) in heard.iter().enumerate() {
            let log = block_on(load_whole_log(&store, run_id(number))).expect("a log can be read");
            assert_eq!(notes(&log), (0..self.commits).collect::<Vec<_>>(), "run {number}");
            let mut next = Seq::FIRST;
            for record in log.into_iter().flat_map(Chunk::into_records) {
                assert_eq!(record.seq, next, "run {number} has no gap");
                next = next.next();
                if let Entry::SignalArrived { key, .. } = record.entry {
                    *arrived.entry(key.0).or_default() += 1;
                }
            }
            for waits in block_on(store.inbox(run_id(number), 1_000)).expect("an inbox can be read")
            {
                *arrived.entry(waits.message.key.0).or_default() += 1;
            }
            outcome.killed += said.killed;
            outcome.commits += self.commits;
            outcome.worst_wait = outcome.worst_wait.max(Duration::from_micros(said.worst_us));
        }
        assert!(
            arrived.values().all(|times| *times == 1),
            "no message is there twice: {arrived:?}"
        );
        for key in heard.iter().flat_map(|said| &said.sent) {
            assert!(arrived.contains_key(key), "message {key} was answered for and is not there");
        }
        outcome.messages = arrived.len();
        drop(store);
        let connection = rusqlite::Connection::open(path).expect("the file opens");
        let verdict: String = connection
            .query_row("PRAGMA integrity_check", (), |row| row.get(0))
            .expect("the file can be checked");
        assert_eq!(verdict, "ok");
        outcome
    }
}

/// Hears a process out, or kills it after `cut` notes. Whether it came to its end.
fn listen(mut child: Child, cut: Option<u64>, heard: &mut Heard) -> bool {
    let mut notes = 0;
    let lines = BufReader::new(child.stdout.take().expect("its output is a pipe")).lines();
    for line in lines.map_while(Result::ok) {
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some("note"), Some(number), Some(waited)) => {
                heard.notes.insert(number.parse().expect("a number"));
                heard.worst_us = heard.worst_us.max(waited.parse().expect("a number"));
                notes += 1;
            }
            (Some("sent"), Some(key), _) => {
                heard.sent.insert(key.to_owned());
            }
            _ => {}
        }
        if cut.is_some_and(|cut| notes >= cut) {
            let _killed = child.kill();
        }
    }
    let status = child.wait().expect("a process ends");
    if status.success() {
        return true;
    }
    // Whoever fails by itself has met something that is to be seen, also if it was to be killed.
    assert!(cut.is_some() && status.signal() == Some(KILL), "nobody has killed it: {status}");
    heard.killed += 1;
    false
}

/// A little chance that can be had again.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit.max(1)
    }
}
