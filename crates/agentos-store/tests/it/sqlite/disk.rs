//! Disks that are full, read-only or failing. Each needs a process of its own: in a namespace with a small file system,
//! or with a limit on what it may write.

use std::fs;
use std::path::Path;

use agentos_store::backend::BackendErrorKind;
use agentos_store::commit::CommitError;
use agentos_store::conformance::block_on;
use agentos_store::log::load_whole_log;
use agentos_store::retry::Retry;
use agentos_store::sqlite::{OpenError, Options, SqliteStore};
use agentos_store::store::Store as _;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::child::play;
use super::faults::check_integrity;
use super::fixture::{HISTORY, open};
use super::given::{Held, note};

/// A shell that puts a file system of one megabyte where its first argument is, and runs the rest there. The namespace
/// ends with it, and the file system with the namespace.
const SMALL_DISK: &str = "mount -t tmpfs -o size=4m tmpfs \"$0\" && exec \"$@\"";

fn on_a_small_disk(part: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let user = if rustix::process::getuid().is_root() { "--mount" } else { "-rm" };
    play(&["unshare", user, "sh", "-c", SMALL_DISK, path], part, &[path]);
}

#[test]
fn a_full_disk_loses_nothing_and_says_what_to_do() {
    on_a_small_disk("full disk");
}

pub(super) fn on_a_full_disk(folder: &Path) {
    let path = folder.join("x.db");
    let store = open(&path);
    let mut held = Held::create(&store, 1);
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 1 << 20]).unwrap();
    let text = "x".repeat(100_000);
    let mut applied = 0;
    let refused = loop {
        match held.try_commit(held.turn(2_000, vec![note(&text)])) {
            Ok(committed) => held.head = committed.head,
            Err(error) => break error,
        }
        applied += 1;
        assert!(applied < 100, "four megabytes do not hold ten");
    };
    let CommitError::Backend(error) = &refused else {
        panic!("it is known that nothing was applied: {refused:?}")
    };
    assert_eq!((error.kind, refused.retry()), (BackendErrorKind::Full, Retry::SameAgain));
    assert!(error.message.contains("make room"), "{error}");
    assert_eq!(block_on(store.head(held.run)).unwrap().head, held.head, "the head is where it was");
    fs::remove_file(ballast).unwrap();
    let again = held.try_commit(held.turn(2_000, vec![note(&text)]));
    held.head = again.expect("there is room again").head;
    assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), applied + 2);
    drop(held);
    drop(store);
    check_integrity(&path);
}

#[test]
fn a_read_only_file_system_is_an_error_and_can_still_be_looked_at() {
    on_a_small_disk("read-only");
}

#[expect(clippy::disallowed_methods, reason = "the mount is made by a program")]
pub(super) fn on_a_read_only_file_system(folder: &Path) {
    let path = folder.join("x.db");
    let held = Held::create(&open(&path), 1);
    let run = held.run;
    drop(held);
    let before = fs::read(&path).unwrap();
    let mut remount = std::process::Command::new("mount");
    let remounted = remount.args(["-o", "remount,ro"]).arg(folder).status().unwrap();
    assert!(remounted.success());
    let refused = SqliteStore::open(&path, Options::quiet(HISTORY)).err().unwrap();
    let OpenError::Backend { source, .. } = &refused else { panic!("{refused:?}") };
    assert_eq!(source.kind, BackendErrorKind::Permanent);
    assert!(refused.to_string().contains("Read-only"), "{refused}");
    let refused = SqliteStore::open(&folder.join("new.db"), Options::quiet(HISTORY));
    assert!(matches!(refused.err().unwrap(), OpenError::Backend { .. }));
    let look = SqliteStore::open_to_look(&path).unwrap();
    assert_eq!(block_on(load_whole_log(&look, run)).unwrap().len(), 1);
    assert!(fs::read(&path).unwrap() == before, "not one byte is changed");
}

/// A shell that lets itself write no file beyond a size, and survives the attempt.
const SMALL_FILES: &str = "trap '' XFSZ; ulimit -S -f 2048; exec \"$@\"";

#[test]
fn a_log_that_may_not_grow_is_named_and_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    play(&["sh", "-c", SMALL_FILES, "sh"], "small files", &[path]);
}

pub(super) fn with_small_files(folder: &Path) {
    let path = folder.join("x.db");
    let store = open(&path);
    let mut runs: Vec<Held> = (1..=4).map(|number| Held::create(&store, number)).collect();
    let text = "x".repeat(50_000);
    let mut applied = 0;
    let refused = 'full: loop {
        let batch = runs.iter().map(|held| held.turn(2_000, vec![note(&text)])).collect();
        let answers = block_on(store.commit(batch));
        if let Some(error) = answers.iter().find_map(|answer| answer.clone().err()) {
            assert!(answers.iter().all(Result::is_err), "a batch fails as a whole: {answers:?}");
            break 'full error;
        }
        for (held, answer) in runs.iter_mut().zip(answers) {
            held.head = answer.unwrap().head;
        }
        applied += 1;
        assert!(applied < 100, "a megabyte does not hold twenty");
    };
    assert!(applied > 0, "something was applied before");
    let text_of_error = refused.to_string();
    // It is known that nothing was applied, and trying the same again does not help.
    assert!(matches!(refused, CommitError::Backend(_)), "{text_of_error}");
    assert_eq!(refused.retry(), Retry::Never, "{text_of_error}");
    assert!(text_of_error.contains("has reached 1048576 bytes"), "{text_of_error}");
    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: limit.maximum, ..limit }).unwrap();
    for held in &mut runs {
        let again = Held::claim(&store, held.run);
        assert_eq!(again.head, held.head, "{text_of_error}");
        *held = again;
        held.commit(3_000, vec![note(&text)]);
        assert_eq!(block_on(load_whole_log(&store, held.run)).unwrap().len(), applied + 2);
    }
    drop(runs);
    drop(store);
    check_integrity(&path);
}
