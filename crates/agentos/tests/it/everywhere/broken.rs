//! A database that can't be read is named, and the others are shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{DATABASE, Site, pairs};
use crate::support::name;

fn database(folder: &Path, bytes: &[u8]) {
    fs::create_dir_all(folder.join(".agentos")).expect("a folder");
    fs::write(folder.join(DATABASE), bytes).expect("a file");
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_shown() {
    let site = Site::new();
    let run = site.greet(&site.root);
    let broken = ["text", "cut", "newer", "foreign"].map(|name| site.worktree(name));
    database(&broken[0], &b"no database at all ".repeat(20));
    let good = fs::read(site.root.join(DATABASE)).expect("a database");
    database(&broken[1], &good[..good.len() / 2]);
    let mut newer = good.clone();
    // The version of the schema, and the mark of the program that it belongs to.
    newer[60..64].copy_from_slice(&99_u32.to_be_bytes());
    database(&broken[2], &newer);
    let mut foreign = good.clone();
    foreign[68..72].copy_from_slice(&1_u32.to_be_bytes());
    database(&broken[3], &foreign);
    let listing = site.status(&site.root, &[]);
    assert_eq!(pairs(&listing), [(name(&run), "main".into())]);
    let unreadable = listing["unreadable"].as_array().expect("a list");
    assert_eq!(unreadable.len(), 4, "{listing:#}");
    for (folder, why) in
        broken.iter().zip(["not a database", "cut off", "version 99", "of another"])
    {
        let path = folder.join(DATABASE);
        let told = unreadable.iter().find(|told| told["path"] == *path.to_string_lossy());
        let reason = told.expect("it is named")["reason"].as_str().expect("a reason");
        assert!(reason.contains(why), "{reason}");
    }
    let shown = site.stand.run(&site.root, &["status"]).exits(0);
    assert!(shown.out.contains(&name(&run)), "{shown:#?}");
    assert_eq!(
        shown.err.lines().filter(|line| line.contains("are not shown")).count(),
        4,
        "{shown:#?}"
    );
    // From a worktree whose own database is broken, the others are seen.
    assert_eq!(pairs(&site.status(&broken[0], &[])), [(name(&run), "main".into())]);
    assert!(broken.iter().all(|folder| fs::read(folder.join(DATABASE)).is_ok()));
    assert_eq!(
        fs::read(broken[3].join(DATABASE)).expect("a file"),
        foreign,
        "not one byte changed"
    );
}

#[test]
fn a_database_that_is_damaged_inside_is_named_too() {
    let site = Site::new();
    let run = site.greet(&site.root);
    let damaged = site.worktree("damaged");
    let mut bytes = fs::read(site.root.join(DATABASE)).expect("a database");
    // The first page tells what it is; all the others are rubbish.
    bytes[4_096..].fill(0x5a);
    database(&damaged, &bytes);
    let listing = site.status(&site.root, &[]);
    assert_eq!(pairs(&listing), [(name(&run), "main".into())]);
    assert_eq!(listing["unreadable"].as_array().expect("a list").len(), 1, "{listing:#}");
}

#[test]
fn a_folder_that_may_not_be_entered_hides_only_its_own_runs() {
    let site = Site::new();
    let (run, closed) = (site.greet(&site.root), site.worktree("closed"));
    site.greet(&closed);
    let folder = closed.join(".agentos");
    let mode = |mode: u32| {
        fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("its mode")
    };
    mode(0o000);
    if fs::read_dir(&folder).is_ok() {
        // Root enters everything.
        return mode(0o755);
    }
    let listing = site.status(&site.root, &[]);
    mode(0o755);
    assert_eq!(pairs(&listing), [(name(&run), "main".into())]);
    assert_eq!(listing["unreadable"].as_array().expect("a list").len(), 1, "{listing:#}");
}

#[test]
fn a_database_that_a_worktree_was_linked_to_and_that_is_gone_is_named_once() {
    let site = Site::new();
    let (run, linked, lost) =
        (site.greet(&site.root), site.worktree("linked"), site.worktree("lost"));
    let (there, away) = (site.stand.at("shared.db"), site.stand.at("away.db"));
    let path = there.to_str().expect("a path");
    let made = site.stand.call(&linked, &["run", "greet", "--name", "Ada"]);
    made.env("AGENTOS_WORKFLOW_DB", path).done().exits(0);
    site.stand.run(&linked, &["db", "link", path]).exits(0);
    site.greet(&linked);
    site.greet(&lost);
    fs::rename(&there, &away).expect("it is moved");
    fs::remove_file(lost.join(DATABASE)).expect("it is removed");
    std::os::unix::fs::symlink("/nowhere/x.db", lost.join(DATABASE)).expect("a link");
    for folder in [&site.root, &linked] {
        let listing = site.status(folder, &[]);
        assert_eq!(pairs(&listing), [(name(&run), "main".into())]);
        let unreadable = listing["unreadable"].as_array().expect("a list");
        let mut paths: Vec<_> = unreadable.iter().map(|told| told["path"].clone()).collect();
        paths.sort_by_key(ToString::to_string);
        let lost = lost.join(DATABASE);
        assert_eq!(paths, [lost.to_str().expect("a path"), path], "{listing:#}");
    }
    fs::rename(&away, &there).expect("it is back");
    assert_eq!(site.seen(&site.root, &[]).len(), 3);
}
