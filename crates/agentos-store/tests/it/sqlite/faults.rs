//! Files that are not what they should be: each is refused by name, and not one byte is changed.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use agentos_core::id::InboxKey;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::time::Timestamp;
use agentos_store::backend::BackendErrorKind;
use agentos_store::commit::{CommitError, TurnCommit};
use agentos_store::conformance::block_on;
use agentos_store::inbox::Sent;
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::records::Records as _;
use agentos_store::run::CreateError;
use agentos_store::sqlite::{Notice, OpenError, Options, SqliteStore};
use agentos_store::store::Store as _;
use rusqlite::Connection;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::fixture::{HISTORY, open};
use super::given::{Held, entry, name, new_run, note, run_id};

fn folder() -> TempDir {
    tempfile::tempdir().unwrap()
}

/// Every file in a folder with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

/// Opening is refused in both ways, and nothing in the folder is different afterwards.
pub(super) fn refused(path: &Path) -> OpenError {
    let before = contents(path.parent().unwrap());
    let error = SqliteStore::open(path, Options::quiet(HISTORY)).err().expect("it is refused");
    let to_look = SqliteStore::open_to_look(path).err().expect("it is refused");
    assert_eq!(to_look, error);
    assert!(contents(path.parent().unwrap()) == before, "not one byte is changed");
    assert!(error.to_string().contains(path.to_str().unwrap()), "it is named: {error}");
    error
}

pub(super) fn check_integrity(path: &Path) {
    let connection = Connection::open(path).unwrap();
    let verdict: String =
        connection.query_row("PRAGMA integrity_check", (), |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let broken = connection.prepare("PRAGMA foreign_key_check").unwrap().exists(()).unwrap();
    assert!(!broken, "every row belongs to something");
}

#[test]
fn a_checkpoint_file_of_langgraph_is_refused_by_name() {
    for mode in ["delete", "wal"] {
        let folder = folder();
        let path = folder.path().join("checkpoints.db");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update_and_check(None, "journal_mode", mode, |_| Ok(())).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, checkpoint BLOB); \
                 CREATE TABLE writes (thread_id TEXT, task_id TEXT, idx INTEGER, value BLOB); \
                 INSERT INTO checkpoints VALUES ('t', '', 'c', x'00');",
            )
            .unwrap();
        drop(connection);
        let error = refused(&path);
        assert_eq!(error, OpenError::Foreign { path, program: "LangGraph" });
    }
}

#[test]
fn a_database_of_another_program_is_refused() {
    let folder = folder();
    let path = folder.path().join("other 100%.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE notes (text)").unwrap();
    assert_eq!(refused(&path), OpenError::Foreign { path, program: "another program" });
}

#[test]
fn a_text_file_is_refused() {
    for text in ["hello", &"a long text ".repeat(100)] {
        let folder = folder();
        let path = folder.path().join("notes.txt");
        fs::write(&path, text).unwrap();
        assert_eq!(refused(&path), OpenError::NotADatabase { path });
    }
}

#[test]
fn a_truncated_file_is_refused() {
    let folder = folder();
    let path = folder.path().join("x.db");
    drop(open(&path));
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(refused(&path), OpenError::Truncated { .. }));
    fs::write(&path, &bytes[..50]).unwrap();
    assert!(matches!(refused(&path), OpenError::NotADatabase { .. }));
}

#[test]
fn a_newer_schema_is_refused() {
    let folder = folder();
    let path = folder.path().join("x.db");
    drop(open(&path));
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 99).unwrap();
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    drop(connection);
    assert!(matches!(refused(&path), OpenError::Newer { version: 99, known: 2, .. }));
}

#[test]
fn an_old_program_beside_a_new_one_stops_writing() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let held = Held::create(&store, 1);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 3).unwrap();
    let refused = held.try_commit(held.turn(2_000, vec![note("old")]));
    let Err(CommitError::Backend(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.kind, BackendErrorKind::Permanent);
    assert!(error.message.contains("version 3"), "{error}");
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 2).unwrap();
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), 1);
    held.try_commit(held.turn(2_000, vec![note("new")])).unwrap();
}

#[test]
fn a_dangling_link_begins_no_second_history() {
    let folder = folder();
    let path = folder.path().join("x.db");
    symlink(folder.path().join("gone.db"), &path).unwrap();
    assert!(matches!(refused(&path), OpenError::Dangling { .. }));
}

#[test]
fn a_link_leads_to_the_same_history() {
    let folder = folder();
    let (path, link) = (folder.path().join("x.db"), folder.path().join("link.db"));
    let store = open(&path);
    symlink(&path, &link).unwrap();
    let other = open(&link);
    let mut held = Held::create(&other, 1);
    held.commit(2_000, vec![note("through the link")]);
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), 2);
    assert_eq!(other.path(), store.path());
    let names: Vec<_> = contents(folder.path()).into_keys().collect();
    assert!(!names.iter().any(|name| name.ends_with("link.db-wal")), "{names:?}");
}

#[test]
fn whoever_only_looks_changes_nothing() {
    let folder = folder();
    let path = folder.path().join("x.db");
    assert!(matches!(SqliteStore::open_to_look(&path), Err(OpenError::NotFound { .. })));
    assert!(contents(folder.path()).is_empty(), "nothing is made");
    let run = Held::create(&open(&path), 1).run;
    let before = contents(folder.path());
    let look = SqliteStore::open_to_look(&path).unwrap();
    assert_eq!(block_on(look.run_detail(run)).unwrap().run.id, run);
    let refused = block_on(look.create_run(new_run(2, Place::default())));
    assert!(matches!(refused, Err(CreateError::Backend(_))), "{refused:?}");
    drop(look);
    assert!(contents(folder.path()) == before, "not one byte is changed");
}

#[test]
fn an_empty_file_is_filled() {
    let folder = folder();
    let path = folder.path().join("x.db");
    fs::write(&path, "").unwrap();
    Held::create(&open(&path), 1).commit(2_000, vec![note("there")]);
}

/// A store that keeps what it is told.
pub(super) fn open_listening(path: &Path) -> (SqliteStore, Arc<Mutex<Vec<Notice>>>) {
    let notices = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&notices);
    let on_notice = Box::new(move |notice| heard.lock().unwrap().push(notice));
    (SqliteStore::open(path, Options { new_id: HISTORY, on_notice }).unwrap(), notices)
}

#[test]
fn a_file_removed_under_its_writers_is_put_back_whole() {
    let folder = folder();
    let path = folder.path().join("state/x.db");
    let (store, notices) = open_listening(&path);
    let (other, others) = open_listening(&path);
    let mut held = Held::create(&store, 1);
    let mut second = Held::create(&other, 2);
    held.commit(2_000, vec![note("before")]);
    second.commit(2_000, vec![note("before")]);

    fs::remove_dir_all(path.parent().unwrap()).unwrap();
    held.commit(3_000, vec![note("after")]);
    second.commit(3_000, vec![note("after")]);
    let path = store.path().to_owned();
    assert_eq!(*notices.lock().unwrap(), [Notice::PutBack { path: path.clone() }]);
    assert_eq!(*others.lock().unwrap(), [Notice::FoundAgain { path: path.clone() }]);
    let fresh = open(&path);
    for run in [held.run, second.run] {
        for reader in [&store, &other, &fresh] {
            assert_eq!(block_on(load_whole_log(reader, run)).unwrap().len(), 3);
        }
        assert!(!block_on(fresh.run_detail(run)).unwrap().run.interrupted, "its owner lives");
    }
    drop((held, second, store, other, fresh));
    check_integrity(&path);
}

#[test]
fn a_file_whose_log_was_left_behind_is_put_back_without_it() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let (store, notices) = open_listening(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("before")]);
    fs::remove_file(&path).unwrap();
    held.commit(3_000, vec![note("after")]);
    assert_eq!(notices.lock().unwrap().len(), 1);
    assert_eq!(block_on(load_whole_log(&open(&path), held.run)).unwrap().len(), 3);
    drop((held, store));
    check_integrity(&path);
}

#[test]
fn a_file_replaced_under_its_writer_is_not_written_to() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), 1);
    let other = folder.path().join("other.db");
    let options = Options::quiet(uuid::Uuid::from_u128(77));
    drop(SqliteStore::open(&other, options).unwrap());
    for replacement in [fs::read(&other).unwrap(), b"a text".to_vec()] {
        let aside = folder.path().join("aside");
        fs::write(&aside, &replacement).unwrap();
        fs::rename(&aside, &path).unwrap();
        let refused = held.try_commit(held.turn(2_000, vec![note("lost?")]));
        let Err(CommitError::Backend(error)) = refused else { panic!("{refused:?}") };
        assert!(error.message.contains("replaced"), "{error}");
        // A reader that had it open still has everything; one that comes now has nothing to open.
        match block_on(load_whole_log(&store, held.run)) {
            Ok(log) => assert_eq!(log.len(), 1),
            Err(error) => assert!(error.to_string().contains("replaced"), "{error}"),
        }
        assert!(fs::read(&path).unwrap() == replacement, "not one byte is changed");
    }
    fs::remove_file(&path).unwrap();
    held.commit(3_000, vec![note("put back")]);
    assert_eq!(block_on(load_whole_log(&open(&path), held.run)).unwrap().len(), 2);
}

#[test]
fn a_value_of_a_hundred_megabytes_is_refused_where_values_come_in() {
    let folder = folder();
    let store = open(&folder.path().join("x.db"));
    let large = Value::String("x".repeat(100 << 20));
    let mut new = new_run(2, Place::default());
    if let agentos_core::entry::Entry::RunStarted(started) = &mut new.first {
        started.input = large.clone();
    }
    let refused = block_on(store.create_run(new)).unwrap_err();
    assert!(refused.to_string().contains("make it an artifact"), "{refused}");
    let held = Held::create(&store, 1);
    let body = MessageBody::Signal { name: name("go"), payload: large };
    let message = Message { key: InboxKey("k".into()), body };
    let refused = block_on(store.send(held.run, message, Timestamp(1))).unwrap_err();
    assert!(refused.to_string().contains("make it an artifact"), "{refused}");
    assert!(block_on(store.inbox(held.run, 10)).unwrap().is_empty());
}

#[test]
fn nul_and_four_byte_characters_are_read_back() {
    let folder = folder();
    let store = open(&folder.path().join("x.db"));
    let strange = "a\u{0}b 𝄞 \u{10FFFF} \u{1} '\"\\%_";
    let place = Place { worktree_id: Some(strange.into()), ..Place::default() };
    let mut held = Held::create_at(&store, 1, place);
    let keys = [strange, "a\u{0}", "a"].map(|key| InboxKey(key.into()));
    for key in &keys {
        let body = MessageBody::Signal { name: name("go"), payload: json!(strange) };
        let message = Message { key: key.clone(), body };
        assert_eq!(block_on(store.send(held.run, message.clone(), Timestamp(1))), Ok(Sent::New));
        assert_eq!(block_on(store.send(held.run, message, Timestamp(1))), Ok(Sent::Duplicate));
    }
    let entries = vec![
        note(strange),
        entry(
            &json!({ "kind": "operation.ordered", "operation": "/shell:x 𝄞#1", "number": 1, "args": strange }),
        ),
    ];
    let turn = TurnCommit { consumed: keys[..2].to_vec(), ..held.turn(2_000, entries.clone()) };
    held.head = held.try_commit(turn).unwrap().head;
    let waiting = block_on(store.inbox(held.run, 10)).unwrap();
    assert_eq!(waiting.len(), 1);
    assert_eq!(waiting[0].message.key, keys[2]);
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap()[1].entries, entries);
    let run = block_on(store.run_detail(held.run)).unwrap();
    assert_eq!(run.comments[0].message, strange);
    assert_eq!(
        (run.steps[0].input.clone(), run.steps[0].name.as_str()),
        (Some(json!(strange)), "shell: x 𝄞")
    );
    assert_eq!(run.run.worktree_id.as_deref(), Some(strange));
}

#[test]
fn a_commit_of_another_process_is_noticed() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let mut watch = store.watch().unwrap();
    let mut held = Held::create(&open(&path), 1);
    block_on(watch.changed());
    for at in 2..50 {
        held.commit(at, vec![note("news")]);
        block_on(watch.changed());
        let seen = block_on(store.tail(agentos_store::tail::TailCursor::start(), 100)).unwrap();
        assert!(!seen.events.is_empty());
    }
}

#[test]
fn of_many_that_open_a_new_store_at_once_one_makes_it() {
    let folder = folder();
    let path = folder.path().join("state/x.db");
    // Somebody was killed while making it.
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(folder.path().join("state/x.db.making"), "half a database").unwrap();
    std::thread::scope(|scope| {
        for number in 1..=8 {
            let path = &path;
            scope.spawn(move || {
                let options = Options::quiet(uuid::Uuid::from_u128(number));
                let store = SqliteStore::open(path, options).unwrap();
                Held::create(&store, number).commit(2_000, vec![note("here")]);
            });
        }
    });
    let store = open(&path);
    for number in 1..=8 {
        assert_eq!(block_on(load_whole_log(&store, run_id(number))).unwrap().len(), 2);
    }
}

#[test]
fn the_write_ahead_log_stays_bounded() {
    let folder = folder();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    let text = "x".repeat(1 << 20);
    for at in 0..60 {
        held.commit(at, vec![note(&text)]);
        let wal = fs::metadata(folder.path().join("x.db-wal")).unwrap().len();
        assert!(wal < 40 << 20, "{wal} bytes after {at} megabytes");
    }
}
