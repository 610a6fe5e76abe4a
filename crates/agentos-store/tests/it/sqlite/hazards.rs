//! What happens to the files of a database while it is in use, or was in use: nothing that was answered for is lost, and
//! no log is replayed into a file that it does not belong to.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use agentos_store::claim::ClaimMode;
use agentos_store::commit::CommitError;
use agentos_store::conformance::block_on;
use agentos_store::log::load_whole_log;
use agentos_store::sqlite::{Notice, OpenError, Options, SqliteStore};
use agentos_store::store::Store as _;
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use uuid::Uuid;

use super::faults::{check_integrity, open_listening, refused};
use super::fixture::{HISTORY, open};
use super::given::{Held, note};

fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap().join("x.db");
    (folder, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    format!("{}{suffix}", path.display()).into()
}

/// A database as a killed process leaves it: with a log, and the run in it has `commits` chunks.
fn leave_behind(path: &Path, commits: usize) -> Held {
    let elsewhere = tempfile::tempdir().unwrap();
    let original = elsewhere.path().join("x.db");
    let store = open(&original);
    let mut held = Held::create(&store, 1);
    for at in 1..commits {
        held.commit(at as i64, vec![note("left behind")]);
    }
    for suffix in ["", "-wal"] {
        fs::copy(beside(&original, suffix), beside(path, suffix)).unwrap();
    }
    held
}

fn message(refused: Result<agentos_store::commit::Committed, CommitError>) -> String {
    let Err(CommitError::Backend(error)) = refused else { panic!("{refused:?}") };
    error.message
}

#[test]
fn no_history_is_begun_beside_the_log_of_another() {
    let (_folder, path) = place();
    leave_behind(&path, 3);
    fs::remove_file(&path).unwrap();
    let error = refused(&path);
    assert_eq!(error, OpenError::LogOnly { path: path.clone(), log: beside(&path, "-wal") });
    fs::remove_file(beside(&path, "-wal")).unwrap();
    drop(open(&path));
    check_integrity(&path);
}

#[test]
fn a_file_cut_to_nothing_beside_its_log_is_refused() {
    let (_folder, path) = place();
    leave_behind(&path, 3);
    fs::write(&path, "").unwrap();
    assert_eq!(refused(&path), OpenError::Truncated { path, length: 0 });
}

#[test]
pub(super) fn a_removed_file_is_put_back_by_who_has_it_and_not_begun_anew_by_who_comes() {
    let (_folder, path) = place();
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("before")]);
    fs::remove_file(&path).unwrap();
    assert!(matches!(refused(&path), OpenError::LogOnly { .. }));
    held.commit(3_000, vec![note("after")]);
    assert_eq!(block_on(load_whole_log(&open(&path), held.run)).unwrap().len(), 3);
    drop((held, store));
    check_integrity(&path);
}

#[test]
fn a_new_file_does_not_share_an_index_with_one_that_is_gone() {
    let (_folder, path) = place();
    let store = open(&path);
    let held = Held::create(&store, 1);
    // Everything is in the file, so the log may be empty.
    Connection::open(&path).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fs::remove_file(&path).unwrap();
    let index = || fs::metadata(beside(&path, "-shm")).unwrap().ino();
    let of_the_old = index();
    let options = Options::quiet(Uuid::from_u128(77));
    let other = SqliteStore::open(&path, options).unwrap();
    assert_ne!(index(), of_the_old, "it has an index of its own");
    let mut second = Held::create(&other, 2);
    let said = message(held.try_commit(held.turn(2_000, vec![note("where?")])));
    assert!(said.contains("replaced"), "{said}");
    second.commit(3_000, vec![note("undisturbed")]);
    drop((held, store, second, other));
    check_integrity(&path);
}

/// The locks of this process on the file and its index. The kernel gives out the list in parts, and may leave one out or
/// tell it twice while others come and go; so it is read until it is as expected, or clearly not so.
#[cfg(target_os = "linux")]
fn own_locks(path: &Path, is_expected: impl Fn(&BTreeSet<String>) -> bool) -> BTreeSet<String> {
    let mut reads = (0..300).map(|_| read_own_locks(path));
    let found = reads.find(|found| is_expected(found));
    found.unwrap_or_else(|| read_own_locks(path))
}

#[cfg(target_os = "linux")]
fn read_own_locks(path: &Path) -> BTreeSet<String> {
    let inodes = ["", "-shm"].map(|suffix| fs::metadata(beside(path, suffix)).unwrap().ino());
    let pid = std::process::id().to_string();
    let locks = fs::read_to_string("/proc/locks").unwrap();
    let is_ours = |line: &&str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let inode = words[5].rsplit(':').next().unwrap().parse().unwrap();
        words[1] == "POSIX" && words[4] == pid && inodes.contains(&inode)
    };
    let places = locks.lines().filter(is_ours).map(|line| line.split_once(' ').unwrap().1.into());
    places.collect()
}

#[test]
#[cfg(target_os = "linux")]
fn looking_at_a_file_gives_up_no_lock_of_those_who_have_it_open() {
    let (_folder, path) = place();
    let store = open(&path);
    let held = Held::create(&store, 1);
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), 1);
    let before = own_locks(&path, |found| found.len() >= 2);
    assert!(before.len() >= 2, "the file and the index are locked: {before:?}");
    let look = SqliteStore::open_to_look(&path).unwrap();
    assert_eq!(block_on(load_whole_log(&look, held.run)).unwrap().len(), 1);
    drop(look);
    drop(open(&path));
    assert_eq!(own_locks(&path, |found| *found == before), before);
    drop((held, store));
    drop(open(&path));
    assert!(!beside(&path, "-wal").exists(), "the last one has closed it");
}

#[test]
pub(super) fn a_log_removed_under_its_writers_takes_nothing_with_it() {
    for removed in [&["-wal", "-shm"][..], &["-wal"], &["-shm"]] {
        let (_folder, path) = place();
        let (store, notices) = open_listening(&path);
        let mut held = Held::create(&store, 1);
        let other = open(&path);
        let mut second = Held::create(&other, 2);
        for suffix in removed {
            fs::remove_file(beside(&path, suffix)).unwrap();
        }
        held.commit(2_000, vec![note("after")]);
        second.commit(2_000, vec![note("after")]);
        assert_eq!(*notices.lock().unwrap(), [Notice::PutBack { path: path.clone() }]);
        // What a process would find that comes after everybody was killed.
        let copy = path.with_file_name("copy.db");
        for suffix in ["", "-wal"] {
            fs::copy(beside(&path, suffix), beside(&copy, suffix)).unwrap();
        }
        let found = open(&copy);
        for run in [held.run, second.run] {
            assert_eq!(block_on(load_whole_log(&found, run)).unwrap().len(), 2, "{removed:?}");
        }
        drop((held, second, store, other, found));
        check_integrity(&path);
        check_integrity(&copy);
    }
}

#[test]
fn a_log_begun_by_another_is_not_written_over() {
    let (folder, path) = place();
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("before")]);
    for suffix in ["-wal", "-shm"] {
        fs::remove_file(beside(&path, suffix)).unwrap();
    }
    fs::write(beside(&path, "-wal"), "the log of another").unwrap();
    let said = message(held.try_commit(held.turn(3_000, vec![note("after")])));
    assert!(said.contains("begun a new one"), "{said}");
    assert_eq!(fs::read(beside(&path, "-wal")).unwrap(), b"the log of another");
    let rescued = folder.path().canonicalize().unwrap().join("x.db.rescued-1");
    assert!(said.contains(rescued.to_str().unwrap()), "{said}");
    assert_eq!(block_on(load_whole_log(&open(&rescued), held.run)).unwrap().len(), 2);
}

#[test]
fn what_only_this_process_has_is_written_aside_when_its_file_was_replaced() {
    let (_folder, path) = place();
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("before")]);
    let taken = beside(&path, ".rescued-1");
    fs::write(&taken, "somebody's").unwrap();
    let aside = path.with_file_name("aside");
    fs::write(&aside, "a text").unwrap();
    fs::rename(&aside, &path).unwrap();
    let rescued = beside(&path, ".rescued-2");
    for _ in 0..2 {
        let said = message(held.try_commit(held.turn(3_000, vec![note("lost?")])));
        assert!(said.contains(rescued.to_str().unwrap()), "{said}");
    }
    assert!(!beside(&path, ".rescued-3").exists(), "once is enough");
    assert_eq!(fs::read(&taken).unwrap(), b"somebody's", "nothing is written over");
    drop((held, store));
    let found = open(&rescued);
    let run = super::given::run_id(1);
    assert_eq!(block_on(load_whole_log(&found, run)).unwrap().len(), 2);
}

#[test]
fn an_old_copy_of_the_same_history_is_not_taken_for_it() {
    for removes_log in [false, true] {
        let (_folder, path) = place();
        let store = open(&path);
        let mut held = Held::create(&store, 1);
        let copy = path.with_file_name("copy.db");
        Connection::open(&path).unwrap().backup("main", &copy, None).unwrap();
        held.commit(2_000, vec![note("not in the copy")]);
        if removes_log {
            fs::remove_file(beside(&path, "-wal")).unwrap();
            fs::remove_file(beside(&path, "-shm")).unwrap();
        }
        fs::rename(&copy, &path).unwrap();
        let said = message(held.try_commit(held.turn(3_000, vec![note("lost?")])));
        assert!(said.contains("replaced"), "{said}");
        let rescued = open(&beside(&path, ".rescued-1"));
        assert_eq!(block_on(load_whole_log(&rescued, held.run)).unwrap().len(), 2);
        if !removes_log {
            assert!(block_on(load_whole_log(&store, held.run)).is_err(), "it is not read either");
        }
    }
}

#[test]
pub(super) fn a_database_that_was_moved_is_neither_copied_nor_given_up() {
    let (folder, path) = place();
    let folder = folder.path().canonicalize().unwrap();
    let path = folder.join("repo").join(path.file_name().unwrap());
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    held.commit(2_000, vec![note("before")]);
    let moved = folder.join("moved");
    fs::rename(folder.join("repo"), &moved).unwrap();
    let said = message(held.try_commit(held.turn(3_000, vec![note("where?")])));
    assert!(said.contains("was moved"), "{said}");
    assert!(said.contains(moved.join("x.db").to_str().unwrap()), "{said}");
    assert!(!path.exists(), "there is no second copy");
    let other = open(&moved.join("x.db"));
    assert_eq!(block_on(load_whole_log(&other, held.run)).unwrap().len(), 2);
    let claimed = block_on(other.claim(
        held.run,
        agentos_core::id::OwnerId(Uuid::from_u128(9)),
        ClaimMode::IfFree,
    ));
    assert!(claimed.is_err(), "its owner lives: {claimed:?}");
    drop(other);
    // The writer lock was made again there.
    let _removed = fs::remove_dir_all(folder.join("repo"));
    fs::rename(&moved, folder.join("repo")).unwrap();
    held.commit(3_000, vec![note("moved back")]);
}

#[test]
fn only_a_file_is_opened() {
    let (folder, path) = place();
    let folder = folder.path().canonicalize().unwrap();
    fs::create_dir(&path).unwrap();
    let _listener = UnixListener::bind(folder.join("socket")).unwrap();
    let pipe = folder.join("pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
    std::os::unix::fs::symlink("/dev/null", folder.join("device")).unwrap();
    let kinds = ["x.db", "socket", "pipe", "device"]
        .map(|name| (name, ["a folder", "a socket", "a pipe", "a device"]));
    for (index, (name, kinds)) in kinds.into_iter().enumerate() {
        let path = folder.join(name);
        let kind = kinds[index];
        assert_eq!(refused(&path), OpenError::NotAFile { path: path.clone(), kind });
        assert!(!fs::metadata(&path).unwrap().is_file(), "it is not replaced");
    }
}

/// Opens a store while somebody else holds the writer lock, who changes the file before he lets go.
fn open_while(path: &Path, change: impl FnOnce()) -> Option<OpenError> {
    let lock = fs::OpenOptions::new().write(true).open(beside(path, ".lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        let opened = scope.spawn(|| SqliteStore::open(path, Options::quiet(HISTORY)).err());
        let inode = lock.metadata().unwrap().ino();
        let waits = |line: &str| line.contains("->") && line.contains(&format!(":{inode} "));
        while !fs::read_to_string("/proc/locks").unwrap().lines().any(waits) {
            std::thread::yield_now();
        }
        change();
        drop(lock);
        opened.join().unwrap()
    })
}

#[test]
#[cfg(target_os = "linux")]
fn what_a_file_has_become_while_its_lock_was_awaited_counts() {
    let (_folder, path) = place();
    drop(open(&path));
    let migrate = || {
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "user_version", 3).unwrap();
    };
    let refused = open_while(&path, migrate);
    assert!(matches!(refused, Some(OpenError::Newer { version: 3, .. })), "{refused:?}");
    let version: u32 = Connection::open(&path)
        .unwrap()
        .pragma_query_value(None, "user_version", |row| row.get(0))
        .unwrap();
    assert_eq!(version, 3, "it is not made older");
    fs::remove_file(&path).unwrap();
    drop(open(&path));
    let replace = || {
        let other = path.with_file_name("other.db");
        Connection::open(&other).unwrap().execute_batch("CREATE TABLE notes (text)").unwrap();
        fs::rename(&other, &path).unwrap();
    };
    let refused = open_while(&path, replace);
    assert!(matches!(refused, Some(OpenError::Foreign { .. })), "{refused:?}");
}

#[test]
fn a_version_that_is_only_in_the_log_counts() {
    let (_folder, path) = place();
    let store = open(&path);
    let connection = Connection::open(&path).unwrap();
    connection.pragma_update(None, "user_version", 3).unwrap();
    let refused = SqliteStore::open(&path, Options::quiet(HISTORY)).err();
    assert!(matches!(refused, Some(OpenError::Newer { version: 3, .. })), "{refused:?}");
    drop(store);
}
