//! Owners in processes of their own: who is ended, and who is not.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Stdio};

use agentos_core::id::OwnerId;
use agentos_store::sqlite::{EndOwnerError, OwnerEnd};
use rustix::fs::{FlockOperation, flock};
use uuid::Uuid;

use super::child::{command, play};
use super::fixture::open;

const OWNER: OwnerId = OwnerId(Uuid::from_u128(9));

/// Says that it is ready, and does nothing more.
#[expect(clippy::print_stdout, reason = "the other process listens")]
fn wait_to_be_killed() {
    println!("\nready");
    std::io::stdout().flush().unwrap();
    // Nobody ever writes there: it ends with the process that has started this one, at the latest.
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

pub(super) fn live_until_killed(path: &Path) {
    let _owner = open(path).enlist(OWNER).unwrap();
    wait_to_be_killed();
}

pub(super) fn hold_until_killed(path: &Path) {
    let file = File::open(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    wait_to_be_killed();
}

fn start(part: &str, path: &Path) -> Child {
    let mut command = command(&[], part, &[path.to_str().unwrap()]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "ready"), "it is ready");
    child
}

#[test]
fn an_owner_that_hangs_is_killed_and_nobody_ends_himself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = open(&path);
    assert_eq!(store.end_owner(OWNER), Ok(OwnerEnd::WasDead));
    let mut child = start("owner", &path);
    assert_eq!(store.end_owner(OWNER), Ok(OwnerEnd::Killed));
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    assert_eq!(store.end_owner(OWNER), Ok(OwnerEnd::WasDead));
    let itself = store.enlist(OWNER).unwrap();
    assert_eq!(store.end_owner(OWNER), Err(EndOwnerError::Itself { owner: OWNER }));
    drop(itself);
}

/// Puts a file system into each of two folders.
const TWO_DISKS: &str = "mkdir \"$0/a\" \"$0/b\" && mount -t tmpfs tmpfs \"$0/a\" && mount -t tmpfs tmpfs \"$0/b\" \
                         && exec \"$@\"";

#[test]
#[cfg(target_os = "linux")]
fn whoever_locks_a_file_of_the_same_number_on_another_disk_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    let user = if rustix::process::getuid().is_root() { "--mount" } else { "-rm" };
    play(&["unshare", user, "sh", "-c", TWO_DISKS, path], "two disks", &[path]);
}

pub(super) fn on_two_disks(folder: &Path) {
    let path = folder.join("a/x.db");
    let store = open(&path);
    let mut owner = start("owner", &path);
    let lock = folder.join(format!("a/x.db.owners/{OWNER}.lock"));
    let inode = fs::metadata(lock).unwrap().ino();
    let twin = (0..10_000).map(|number| folder.join(format!("b/{number}"))).find(|path| {
        fs::write(path, "").unwrap();
        fs::metadata(path).unwrap().ino() == inode
    });
    let mut innocent = start("holder", &twin.expect("numbers are given out in turn"));
    assert_eq!(store.end_owner(OWNER), Ok(OwnerEnd::Killed));
    assert_eq!(owner.wait().unwrap().signal(), Some(9));
    assert_eq!(innocent.try_wait().unwrap(), None, "it lives");
    innocent.kill().unwrap();
    innocent.wait().unwrap();
}

#[test]
fn what_the_dead_left_is_cleared_away_and_what_the_living_have_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    let store = open(&path);
    let _owner = store.enlist(OWNER).unwrap();
    let of = |name: &str| folder.path().join(format!("x.db.owners/{name}.lock"));
    let dead = of(&Uuid::from_u128(8).to_string());
    fs::write(&dead, "{\"pid\":1}\n").unwrap();
    drop(open(&path));
    assert!(!dead.exists(), "it is cleared away");
    assert!(of(&OWNER.to_string()).exists(), "it lives");
}
