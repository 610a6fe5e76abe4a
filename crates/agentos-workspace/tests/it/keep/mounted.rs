//! What is mounted in a workspace is not ours, and is not deleted. Workspaces may lie on another file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::trash;
use agentos_workspace::workspace::verdict::{Weight, What};

use super::state::{clean, finding, look, restore, sweep, write};
use crate::place::Place;

/// Set where mounts are nobody else's.
const ALONE: &str = "AGENTOS_TEST_MOUNTS";

/// Whether this process may mount something. If not, the test is executed once more by one that may.
#[expect(clippy::disallowed_methods, reason = "mounts of its own are another process's")]
fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let own = ["--user", "--map-root-user", "--mount", "--"];
    let mut again = Command::new("unshare");
    again.args(own).arg(std::env::current_exe().unwrap());
    again.args([&format!("keep::mounted::{test}"), "--exact", "--nocapture"]).env(ALONE, "1");
    let output = again.stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = said + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    false
}

/// A folder with something in it, mounted at another one on the same file system.
fn mount(place: &Place, at: &Path) -> PathBuf {
    let mine = place.playground.at("mine");
    write(&mine, "deep/gold.txt", "gold");
    fs::create_dir_all(at).unwrap();
    let (from, to) = (mine.to_string_lossy(), at.to_string_lossy());
    place.playground.run("mount", &place.repo, ["--bind", &*from, &*to]);
    mine
}

#[test]
fn a_workspace_with_a_mount_in_it_is_not_removed() {
    if !is_alone("a_workspace_with_a_mount_in_it_is_not_removed") {
        return;
    }
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let (made, _) = place.open("fix-1");
        let at = made.path.join("node_modules/a b");
        let mine = mount(&place, &at);
        for is_forced in [false, true] {
            let refused = clean(&place, "fix-1", is_forced).unwrap_err();
            assert!(matches!(refused, CleanError::NotOurs { .. }), "{refused}");
            assert!(refused.to_string().contains("a b is mounted in it"), "{refused}");
            assert!(
                made.path.join("README.md").exists() && trash::count(&place.ground().root) == 0
            );
        }
        let verdict = look(&place, &made);
        let found = finding(&verdict, What::Mounted).unwrap();
        assert_eq!((found.count, found.weight), (1, Weight::Forbids), "{verdict}");
        place.playground.run("umount", &place.repo, [&*at.to_string_lossy()]);
        clean(&place, "fix-1", true).unwrap();
        sweep(&place);
        assert_eq!(fs::read_to_string(mine.join("deep/gold.txt")).unwrap(), "gold");
    }
}

#[test]
fn what_is_mounted_in_the_trash_is_not_deleted() {
    if !is_alone("what_is_mounted_in_the_trash_is_not_deleted") {
        return;
    }
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    let trashed = clean(&place, "fix-1", false).unwrap().trash;
    assert!(!made.path.exists());
    let at = trashed.join("deep/mounted");
    let mine = mount(&place, &at);
    let root = place.ground().root;
    let swept = trash::sweep(&root).unwrap();
    assert_eq!((swept.deleted, swept.left.len()), (0, 1));
    assert!(swept.left[0].1.to_string().contains("is mounted in it"), "{:?}", swept.left);
    assert_eq!(fs::read_to_string(mine.join("deep/gold.txt")).unwrap(), "gold");
    place.playground.run("umount", &place.repo, [&*at.to_string_lossy()]);
    sweep(&place);
    assert_eq!(fs::read_to_string(mine.join("deep/gold.txt")).unwrap(), "gold");
}

#[test]
fn a_clone_is_made_and_restored_on_another_file_system() {
    if !is_alone("a_clone_is_made_and_restored_on_another_file_system") {
        return;
    }
    let place = Place::new(Kind::Clone);
    let root = place.ground().root;
    fs::create_dir_all(&root).unwrap();
    place.playground.run("mount", &place.repo, ["-t", "tmpfs", "none", &*root.to_string_lossy()]);
    let (made, _) = place.open("fix-1");
    write(&made.path, "new.txt", "new");
    clean(&place, "fix-1", true).unwrap();
    sweep(&place);
    let back = restore(&place, "fix-1");
    assert_eq!(fs::read_to_string(back.path.join("new.txt")).unwrap(), "new");
}
