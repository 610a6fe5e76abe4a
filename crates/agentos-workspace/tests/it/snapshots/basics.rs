//! What every kind promises.

use std::fs;

use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::snapshot::{Comparison, Side};
use agentos_workspace::workspace::{Kind, Workspace};

use super::seen::{As, Seen, assert_same, fork, label, return_to, take};
use crate::keep::mess;
use crate::keep::state::{clean, write};
use crate::place::{NOW, Place};

/// A workspace to which a lot is done, with a snapshot and what was seen after each deed.
fn deeds(
    place: &Place,
    made: &Workspace,
) -> Vec<(agentos_workspace::workspace::snapshot::Snapshot, Seen)> {
    let path = &made.path;
    let mut all = Vec::new();
    let mut note = |place: &Place, step: u32| {
        let seen = Seen::of(place, made, As::Itself);
        all.push((take(place, made, step), seen));
    };
    note(place, 1);
    mess::odd_files(made);
    note(place, 2);
    mess::changes(place, made);
    write(path, "deep/er/file.txt", "deep\n");
    note(place, 3);
    place.commit_in(made, "committed.txt");
    note(place, 4);
    // A file where a folder was, a folder where a file was, and names that have gone.
    fs::remove_dir_all(path.join("deep")).unwrap();
    write(path, "deep", "now a file\n");
    fs::remove_file(path.join("committed.txt")).unwrap();
    write(path, "committed.txt/inside.txt", "now a folder\n");
    fs::remove_file(path.join("link")).unwrap();
    fs::rename(path.join("run.sh"), path.join("walk.sh")).unwrap();
    note(place, 5);
    place.commit_in(made, "last.txt");
    fs::remove_dir_all(path.join("empty")).unwrap();
    note(place, 6);
    all
}

pub(crate) fn a_workspace_returns_to_every_snapshot(place: &Place) {
    let (made, _) = place.open("fix-1");
    let all = deeds(place, &made);
    for (snapshot, seen) in [&all[2], &all[5], &all[0], &all[4], &all[1], &all[3]] {
        return_to(place, &made, snapshot);
        assert_same(&Seen::of(place, &made, As::Itself), seen, &snapshot.label.to_string());
    }
    let known = place.ground().yard(&NoPoints).snapshots("run-1").unwrap();
    let taken: Vec<_> = all.into_iter().map(|(snapshot, _)| snapshot).collect();
    assert_eq!(known, taken);
}

pub(crate) fn a_workspace_is_made_from_a_snapshot(place: &Place) {
    let (made, _) = place.open("fix-1");
    let mut all = Vec::new();
    mess::odd_files(&made);
    mess::changes(place, &made);
    all.push((take(place, &made, 1), Seen::of(place, &made, As::Fork)));
    place.commit_in(&made, "committed.txt");
    write(&made.path, "committed.txt", "and changed\n");
    all.push((take(place, &made, 2), Seen::of(place, &made, As::Fork)));
    for (number, (snapshot, seen)) in all.iter().enumerate() {
        let id = format!("fork-{number}");
        let forked = fork(place, &id, snapshot);
        assert_same(&Seen::of(place, &forked, As::Fork), seen, &id);
        assert_eq!(forked.branch.as_deref(), Some(&*format!("agentos/{id}")));
        // Asked for again, it is left alone.
        write(&forked.path, "begun.txt", "begun\n");
        assert_eq!(fork(place, &id, snapshot).path, forked.path);
        assert!(forked.path.join("begun.txt").exists());
    }
}

pub(crate) fn the_same_label_is_the_same_snapshot(place: &Place) {
    let (made, _) = place.open("fix-1");
    let first = take(place, &made, 1);
    write(&made.path, "new.txt", "new\n");
    take(place, &made, 2);
    assert_eq!(take(place, &made, 1), first);
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    assert_eq!(yard.snapshots("run-1").unwrap().len(), 2);
    assert_eq!(yard.snapshots("run-2").unwrap(), []);
    assert!(yard.drop_snapshots("run-1").unwrap());
    assert!(!yard.drop_snapshots("run-1").unwrap());
    assert_eq!(yard.snapshots("run-1").unwrap(), []);
    assert!(yard.snapshots("../heads").is_err());
    // Without the old ones, there are new ones.
    assert_eq!(take(place, &made, 1).number, 1);
}

pub(crate) fn what_nothing_has_changed_makes_no_new_tree(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::odd_files(&made);
    let first = take(place, &made, 1);
    let second = take(place, &made, 2);
    assert_ne!(first.commit, second.commit);
    let of = |commit: &str, what: &str| {
        place.git(&place.repo, &["rev-parse", &format!("{commit}{what}")])
    };
    assert_eq!(of(&first.commit, "^{tree}"), of(&second.commit, "^{tree}"));
    if place.kind != Kind::Jj {
        assert_eq!(of(&first.commit, "^2"), of(&second.commit, "^2"));
    }
    assert_eq!(of("refs/agentos/runs/run-1", ""), second.commit);
}

pub(crate) fn a_difference_is_told(place: &Place) {
    let (made, _) = place.open("fix-1");
    let first = take(place, &made, 1);
    write(&made.path, "new.txt", "one\ntwo\n");
    let second = take(place, &made, 2);
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    let diff = yard.snapshot_diff(&first, &second, Comparison::default()).unwrap();
    assert_eq!((diff.files_changed, diff.insertions, diff.deletions), (1, 2, 0));
    assert!(diff.text.unwrap().contains("+two"));
    let short = Comparison { text_bytes: 10, ..Comparison::default() };
    let diff = yard.snapshot_diff(&first, &second, short).unwrap();
    assert!(diff.text_truncated && diff.text.unwrap().len() <= 10);
}

pub(crate) fn what_is_overlooked_stays(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::ignored(&made);
    let first = take(place, &made, 1);
    write(&made.path, ".env", "SECRET=2\n");
    write(&made.path, "new.txt", "new\n");
    return_to(place, &made, &first);
    assert_eq!(fs::read(made.path.join(".env")).unwrap(), b"SECRET=2\n");
    assert!(made.path.join("local/notes/mine.txt").exists());
    assert!(!made.path.join("new.txt").exists());
    let tree = place.git(&place.repo, &["ls-tree", "-r", "--name-only", &first.commit]);
    assert!(tree.contains(".gitignore") && !tree.contains(".env") && !tree.contains("sqlite"));
}

pub(crate) fn a_snapshot_outlives_its_workspace(place: &Place) {
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "committed.txt");
    write(&made.path, "staged.txt", "staged\n");
    place.git(&made.path, &["add", "staged.txt"]);
    write(&made.path, "staged.txt", "and changed\n");
    let (snapshot, seen) = (take(place, &made, 1), Seen::of(place, &made, As::Fork));
    place.git(&made.path, &["reset", "--quiet", "--hard", "HEAD~1"]);
    clean(place, "fix-1", true).unwrap();
    place.git(&place.repo, &["reflog", "expire", "--expire=now", "--all"]);
    let backups =
        place.git(&place.repo, &["for-each-ref", "--format=%(refname)", "refs/agentos/backup"]);
    for backup in backups.lines() {
        place.git(&place.repo, &["update-ref", "-d", backup]);
    }
    place.git(&place.repo, &["gc", "--quiet", "--prune=now"]);
    let known = place.ground().yard(&NoPoints).snapshots("run-1").unwrap();
    assert_eq!(known, std::slice::from_ref(&snapshot));
    let forked = fork(place, "fork-1", &snapshot);
    assert_same(&Seen::of(place, &forked, As::Fork), &seen, "a fork of what is gone");
    let label = label(1, Side::Before);
    let ground = place.ground();
    let gone = ground.yard(&NoPoints).take_snapshot(&made, &label, NOW);
    assert!(gone.is_err(), "{gone:?}");
}
