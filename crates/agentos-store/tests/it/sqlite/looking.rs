//! Whoever only looks: he sees what others commit, at any time, and leaves no trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use agentos_store::conformance::block_on;
use agentos_store::list::RunFilter;
use agentos_store::log::load_whole_log;
use agentos_store::sqlite::{OpenError, SqliteStore};
use agentos_store::store::Store as _;
use rusqlite::Connection;
use tempfile::TempDir;

use super::child::command;
use super::fixture::open;
use super::given::{Held, note, run_id};

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("x.db");
    (folder, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    format!("{}{suffix}", path.display()).into()
}

fn contents(path: &Path) -> BTreeMap<&'static str, Option<Vec<u8>>> {
    ["", "-wal", "-shm", "-journal"]
        .map(|suffix| (suffix, fs::read(beside(path, suffix)).ok()))
        .into()
}

fn runs(store: &SqliteStore) -> usize {
    block_on(store.list_runs(RunFilter::default(), None, 100)).unwrap().runs.len()
}

/// Copies the files of a database that is in use: what a machine leaves that lost its power.
fn copy(from: &Path, to: &Path, suffixes: &[&str]) {
    for suffix in suffixes {
        fs::copy(beside(from, suffix), beside(to, suffix)).unwrap();
    }
}

#[test]
pub(super) fn whoever_looks_sees_what_writers_commit_that_come_and_go() {
    let (_folder, path) = place();
    drop(Held::create(&open(&path), 1));
    let look = SqliteStore::open_to_look(&path).unwrap();
    assert_eq!(runs(&look), 1);
    for number in 2..6 {
        let store = open(&path);
        let mut held = Held::create(&store, number);
        assert_eq!(runs(&look), number as usize, "a writer came");
        for at in 0..20 {
            held.commit(at, vec![note(&"x".repeat(50_000))]);
        }
        let checkpoint = Connection::open(&path).unwrap();
        checkpoint.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
        drop(checkpoint);
        assert_eq!(block_on(load_whole_log(&look, held.run)).unwrap().len(), 21);
        held.commit(100, vec![note("more")]);
        assert_eq!(block_on(load_whole_log(&look, held.run)).unwrap().len(), 22);
        let run = held.run;
        drop((held, store));
        assert_eq!(block_on(load_whole_log(&look, run)).unwrap().len(), 22, "it went");
    }
}

#[test]
fn whoever_looks_makes_no_file_and_neither_does_his_watch() {
    let (_folder, path) = place();
    let run = Held::create(&open(&path), 1).run;
    let before = contents(&path);
    let look = SqliteStore::open_to_look(&path).unwrap();
    let watch = look.watch().unwrap();
    assert_eq!(block_on(load_whole_log(&look, run)).unwrap().len(), 1);
    assert!(contents(&path) == before, "nothing is made");
    drop((watch, look));
    assert!(contents(&path) == before, "nothing is left");
}

#[test]
pub(super) fn what_a_killed_writer_left_is_read_as_it_lies_there() {
    let (_folder, path) = place();
    let left = path.with_file_name("left.db");
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("in the log")]);
    copy(&path, &left, &["", "-wal", "-shm"]);
    let before = contents(&left);
    let look = SqliteStore::open_to_look(&left).unwrap();
    let watch = look.watch().unwrap();
    assert_eq!(block_on(load_whole_log(&look, held.run)).unwrap().len(), 2);
    drop((watch, look));
    assert!(contents(&left) == before, "not one byte is changed");
}

#[test]
pub(super) fn whoever_looks_is_not_in_the_way_of_writers_of_his_own_process() {
    let (_folder, path) = place();
    let left = path.with_file_name("left.db");
    let store = open(&path);
    drop(Held::create(&store, 1));
    copy(&path, &left, &["", "-wal", "-shm"]);
    let look = SqliteStore::open_to_look(&left).unwrap();
    assert_eq!(runs(&look), 1);
    std::thread::scope(|scope| {
        let looks = scope.spawn(|| {
            for _ in 0..50 {
                assert!(runs(&look) <= runs(&SqliteStore::open_to_look(&left).unwrap()));
            }
        });
        for number in 2..=10 {
            Held::create(&open(&left), number).commit(1, vec![note("written")]);
        }
        looks.join().unwrap();
    });
    assert_eq!(runs(&look), 10);
}

#[test]
fn a_writer_that_was_killed_before_its_first_commit_is_in_nobodys_way() {
    let (_folder, path) = place();
    let store = open(&path);
    let run = Held::create(&store, 1).run;
    let log = fs::read(beside(&path, "-wal")).unwrap();
    drop(store);
    fs::write(beside(&path, "-wal"), &log[..32]).unwrap();
    fs::write(beside(&path, "-shm"), vec![0; 32 * 1024]).unwrap();
    let before = contents(&path);
    let look = SqliteStore::open_to_look(&path).unwrap();
    let watch = look.watch().unwrap();
    assert_eq!(block_on(load_whole_log(&look, run)).unwrap().len(), 1);
    drop((watch, look));
    let after = contents(&path);
    assert!(after[""] == before[""] && after["-wal"] == before["-wal"], "nothing is changed");
}

#[test]
fn a_log_without_its_index_is_recovered_before_it_is_read() {
    let (_folder, path) = place();
    let left = path.with_file_name("left.db");
    let store = open(&path);
    let held = Held::create(&store, 1);
    copy(&path, &left, &["", "-wal"]);
    let look = SqliteStore::open_to_look(&left).unwrap();
    assert_eq!(block_on(load_whole_log(&look, held.run)).unwrap().len(), 1);
    // The same happens under a reader that has it open.
    drop(store);
    copy(&path, &left, &[""]);
    let store = open(&path);
    let second = Held::create(&store, 2);
    copy(&path, &left, &["", "-wal"]);
    assert_eq!(block_on(load_whole_log(&look, second.run)).unwrap().len(), 1);
}

#[test]
fn a_log_whose_index_can_not_be_made_is_refused_and_nothing_is_changed() {
    let (_folder, path) = place();
    let left = path.with_file_name("left.db");
    let store = open(&path);
    let _held = Held::create(&store, 1);
    copy(&path, &left, &["", "-wal"]);
    // A folder in the place of the lock keeps out every user, root too.
    fs::create_dir(beside(&left, ".lock")).unwrap();
    let before = contents(&left);
    let refused = SqliteStore::open_to_look(&left).err();
    assert!(matches!(refused, Some(OpenError::NoIndex { .. })), "{refused:?}");
    assert!(contents(&left) == before, "nothing is made");
}

#[test]
fn a_file_that_is_not_ours_to_change_gets_no_index() {
    let (_folder, path) = place();
    let left = path.with_file_name("left.db");
    let store = open(&path);
    let _held = Held::create(&store, 1);
    copy(&path, &left, &["", "-wal"]);
    let before = contents(&left);
    let refused = SqliteStore::open_untouched(&left).err();
    assert!(matches!(refused, Some(OpenError::NoIndex { .. })), "{refused:?}");
    assert!(contents(&left) == before, "nothing is made");
    assert!(!beside(&left, ".lock").exists());
}

#[test]
fn a_database_whose_index_was_removed_under_its_writer_gets_no_second_one() {
    let (_folder, path) = place();
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    fs::remove_file(beside(&path, "-shm")).unwrap();
    let refused = SqliteStore::open_to_look(&path).err();
    let is_why = |reason: &str| reason.contains("another process has it open");
    assert!(
        matches!(&refused, Some(OpenError::NoIndex { reason, .. }) if is_why(reason)),
        "{refused:?}"
    );
    // The writer goes on with everything that it had.
    held.commit(1, vec![note("news")]);
    drop((held, store));
    assert_eq!(runs(&SqliteStore::open_to_look(&path).unwrap()), 1);
}

#[test]
fn the_watch_of_who_only_looks_hears_of_commits() {
    let (_folder, path) = place();
    drop(Held::create(&open(&path), 1));
    let look = SqliteStore::open_to_look(&path).unwrap();
    let mut watch = look.watch().unwrap();
    let store = open(&path);
    let mut held = Held::create(&store, 2);
    block_on(watch.changed());
    for at in 0..20 {
        held.commit(at, vec![note("news")]);
        block_on(watch.changed());
    }
    drop((held, store));
    let mut held = Held::create(&open(&path), 3);
    block_on(watch.changed());
    held.commit(30, vec![note("news")]);
    block_on(watch.changed());
}

#[test]
fn a_watch_hears_again_when_its_folder_was_removed_and_put_back() {
    let (folder, _) = place();
    let path = folder.path().canonicalize().unwrap().join("state/x.db");
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    let mut watch = store.watch().unwrap();
    held.commit(2, vec![note("before")]);
    block_on(watch.changed());
    for at in 3..6 {
        fs::remove_dir_all(path.parent().unwrap()).unwrap();
        held.commit(at, vec![note("put back")]);
        block_on(watch.changed());
        for later in 0..3 {
            held.commit(at + later, vec![note("later")]);
            block_on(watch.changed());
        }
    }
}

/// How often a writer comes in the test below.
const COMINGS: usize = 60;

pub(super) fn come_and_go(path: &Path) {
    for at in 0..COMINGS {
        let store = open(path);
        Held::claim(&store, run_id(1)).commit(at as i64, vec![note(&"x".repeat(9_000))]);
    }
}

#[test]
fn whoever_looks_is_not_misled_by_writers_of_another_process_that_come_and_go() {
    let (_folder, path) = place();
    drop(Held::create(&open(&path), 1));
    let look = SqliteStore::open_to_look(&path).unwrap();
    let mut writers = command(&[], "come and go", &[path.to_str().unwrap()]).spawn().unwrap();
    let (mut seen, mut has_ended) = (1, false);
    while !has_ended {
        has_ended = writers.try_wait().unwrap().is_some();
        let now = block_on(load_whole_log(&look, run_id(1))).unwrap().len();
        assert!(now >= seen, "{now} after {seen}");
        seen = now;
    }
    assert!(writers.wait().unwrap().success());
    assert_eq!(seen, COMINGS + 1);
}
