//! Commands about workspaces that are killed, and killed again while they clean up after the first time.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::site::Site;
use crate::support::wait_until;

/// So many folders with so many files each, so that checking them out and deleting them takes a while.
const FOLDERS: usize = 12;
const FILES: usize = 80;

/// A repository with many files, and a workspace of it that was removed with work in it; where it was.
fn removed(site: &Site) -> std::path::PathBuf {
    for folder in 0..FOLDERS {
        let folder = site.root.join(format!("part-{folder}"));
        fs::create_dir(&folder).expect("a folder");
        for file in 0..FILES {
            fs::write(folder.join(file.to_string()), file.to_string()).expect("a file");
        }
    }
    site.commit("many files");
    site.run(&["workspace", "run", "box", "--", "sh", "-c", "echo mine > mine.txt"]).exits(0);
    let path = site.workspace("box")["path"].as_str().expect("a path").to_owned();
    site.run(&["workspace", "clean", "box", "--force"]).exits(0);
    path.into()
}

/// Restores the workspace, and kills that as soon as something is so. Whether it was killed in time, before it was done.
fn is_killed(site: &Site, mut is_so: impl FnMut() -> bool) -> bool {
    let mut command = site.call(&["workspace", "restore", "box"]).start();
    while command.has_ended().is_none() && !is_so() {
        std::hint::spin_loop();
    }
    let is_alive = command.has_ended().is_none();
    command.send(Signal::KILL);
    drop(command.done());
    let row = site.workspace("box");
    is_alive && (row.is_null() || row["status"] == "creating")
}

/// Does this until it was in time; the workspace is gone before each try.
fn until_killed(site: &Site, is_killed: impl Fn() -> bool) {
    for _ in 0..20 {
        if is_killed() {
            return;
        }
        site.run(&["workspace", "restore", "box"]);
        site.run(&["workspace", "clean", "box", "--force"]).exits(0);
    }
    panic!("it was never killed in time");
}

fn restores(site: &Site, path: &Path) {
    site.run(&["workspace", "restore", "box"]).exits(0);
    assert_eq!(fs::read_to_string(path.join("mine.txt")).expect("a file"), "mine\n");
    let last = format!("part-{}/{}", FOLDERS - 1, FILES - 1);
    assert!(path.join(last).exists());
    assert_eq!(site.stand.git(path, &["status", "--porcelain"]), "?? mine.txt\n");
}

#[test]
fn a_restore_that_is_killed_twice_is_done_by_the_third() {
    let site = Site::new();
    let path = removed(&site);
    let link = path.join(".git");
    // What the first one had started of git lives on for a moment, and the second one waits for that.
    until_killed(&site, || {
        is_killed(&site, || link.exists()) && is_killed(&site, || !link.exists())
    });
    restores(&site, &path);
    let trash = path.ancestors().nth(2).expect("the root").join(".agentos-trash");
    wait_until("nothing is left of it", || trash.read_dir().map_or(0, Iterator::count) == 0);
    assert_eq!(site.git(&["worktree", "list"]).lines().count(), 2);
}

#[test]
fn doctor_tells_of_a_restore_that_was_killed_and_of_what_is_in_its_way() {
    let site = Site::new();
    let path = removed(&site);
    until_killed(&site, || is_killed(&site, || path.exists()));
    wait_until("its git has ended, too", || {
        let told = site.run(&["doctor"]).out;
        told.contains("the workspace box was being restored when its process was killed")
            && told.contains("`agentos workspace restore box ")
    });
    site.run(&["workspace", "restore", "box"]).exits(0);
    assert!(!site.run(&["doctor"]).out.contains("box"));
    site.run(&["workspace", "clean", "box", "--force"]).exits(0);
    // What an older version has left half deleted, or another program has put there.
    fs::create_dir_all(path.join("part-0")).expect("a folder");
    let told = site.run(&["doctor"]).exits(1).out;
    assert!(told.contains("something else is in its place; move that away: mv "), "{told}");
    site.run(&["workspace", "restore", "box"]).exits(4);
    fs::rename(&path, path.with_extension("old")).expect("it is moved");
    restores(&site, &path);
}
