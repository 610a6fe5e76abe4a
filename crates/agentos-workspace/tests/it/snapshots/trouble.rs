//! Workspaces that are not as tidy as one would like.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::snapshot::bounds::FILE_BYTES;
use agentos_workspace::workspace::snapshot::{Side, SnapshotError};

use super::seen::{As, Seen, assert_same, fork, label, return_to, take};
use crate::keep::mess;
use crate::keep::state::{try_git, write};
use crate::place::{NOW, Place};

pub(crate) fn whatever_is_half_done_comes_back(place: &Place) {
    let (made, _) = place.open("fix-1");
    let path = &made.path;
    place.git(path, &["checkout", "--quiet", "-b", "other"]);
    write(path, "README.md", "# Theirs\n");
    place.git(path, &["commit", "--quiet", "-am", "theirs"]);
    place.git(path, &["checkout", "--quiet", "agentos/fix-1"]);
    write(path, "README.md", "# Ours\n");
    place.git(path, &["commit", "--quiet", "-am", "ours"]);
    let (before, clean) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    try_git(place, path, &["merge", "other"]);
    let (merging, torn) = (take(place, &made, 2), Seen::of(place, &made, As::Itself));
    assert!(format!("{torn:?}").contains("UU"), "{torn:?}");
    return_to(place, &made, &before);
    assert_same(&Seen::of(place, &made, As::Itself), &clean, "before the merge");
    assert!(!try_git(place, path, &["status"]).contains("merge"));
    return_to(place, &made, &merging);
    assert_same(&Seen::of(place, &made, As::Itself), &torn, "in the merge");
    write(path, "README.md", "# Both\n");
    place.git(path, &["commit", "--quiet", "-am", "both"]);
    assert_eq!(place.git(path, &["rev-list", "--count", "--min-parents=2", "HEAD"]), "1");
    place.git(path, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    let (alone, detached) = (take(place, &made, 3), Seen::of(place, &made, As::Itself));
    return_to(place, &made, &merging);
    return_to(place, &made, &alone);
    assert_same(&Seen::of(place, &made, As::Itself), &detached, "on no branch");
}

pub(crate) fn hidden_and_intended_files_come_back(place: &Place) {
    let (made, _) = place.open("fix-1");
    let path = &made.path;
    place.commit_in(&made, "hidden.txt");
    mess::changes(place, &made);
    place.git(path, &["update-index", "--assume-unchanged", "hidden.txt"]);
    write(path, "hidden.txt", "changed in secret\n");
    write(path, ".gitignore", "*.log\n");
    write(path, "kept.log", "kept nevertheless\n");
    place.git(path, &["add", "--force", "kept.log"]);
    let (first, seen) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    place.git(path, &["reset", "--quiet", "--hard"]);
    place.git(path, &["clean", "--quiet", "-fd"]);
    write(path, "hidden.txt", "changed again\n");
    take(place, &made, 2);
    return_to(place, &made, &first);
    assert_same(&Seen::of(place, &made, As::Itself), &seen, "hidden and intended");
}

pub(crate) fn repositories_inside_come_back(place: &Place) {
    let (made, _) = place.open("fix-1");
    let inner = made.path.join("inner");
    let (none, empty) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    mess::nested(place, &made);
    // It overlooks this, so it would not come back.
    fs::remove_file(inner.join("x.log")).unwrap();
    let (first, seen) = (take(place, &made, 2), Seen::of(place, &made, As::Itself));
    place.git(&inner, &["add", "."]);
    place.git(&inner, &["commit", "--quiet", "-m", "more"]);
    place.git(&inner, &["checkout", "--quiet", "-b", "side"]);
    write(&inner, "later.txt", "later\n");
    let (second, later) = (take(place, &made, 3), Seen::of(place, &made, As::Itself));
    let forked_later = Seen::of(place, &made, As::Fork);
    fs::remove_dir_all(&inner).unwrap();
    write(&made.path, "inner", "a file now\n");
    let (third, gone) = (take(place, &made, 4), Seen::of(place, &made, As::Itself));
    for (snapshot, seen) in
        [(&first, &seen), (&third, &gone), (&second, &later), (&none, &empty), (&first, &seen)]
    {
        return_to(place, &made, snapshot);
        assert_same(&Seen::of(place, &made, As::Itself), seen, &snapshot.label.to_string());
    }
    let forked = fork(place, "fork-1", &second);
    assert_same(&Seen::of(place, &forked, As::Fork), &forked_later, "a fork");
}

pub(crate) fn submodules_come_back(place: &Place) {
    let library = place.playground.repository("library");
    let (made, _) = place.open("fix-1");
    let path = &made.path;
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    let from = library.display().to_string();
    place.git(path, &[&add[..], &[&from, "sub"]].concat());
    place.git(path, &["commit", "--quiet", "-m", "a submodule"]);
    let sub = path.join("sub");
    write(&sub, "changed.txt", "changed\n");
    let (first, seen) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    let forked_seen = Seen::of(place, &made, As::Fork);
    place.git(&sub, &["add", "."]);
    place.git(&sub, &["commit", "--quiet", "-m", "in the submodule"]);
    place.git(path, &["commit", "--quiet", "-am", "the submodule moved"]);
    let (second, later) = (take(place, &made, 2), Seen::of(place, &made, As::Itself));
    for (snapshot, seen) in [(&first, &seen), (&second, &later), (&first, &seen)] {
        return_to(place, &made, snapshot);
        assert_same(&Seen::of(place, &made, As::Itself), seen, &snapshot.label.to_string());
    }
    let forked = fork(place, "fork-1", &first);
    assert_same(&Seen::of(place, &forked, As::Fork), &forked_seen, "a fork");
    // Whoever commits in the one does not in the other.
    place.git(&forked.path.join("sub"), &["add", "."]);
    place.git(&forked.path.join("sub"), &["commit", "--quiet", "-m", "in the fork"]);
    assert_same(&Seen::of(place, &made, As::Itself), &seen, "after work in the fork");
}

pub(crate) fn a_file_that_is_too_large_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    let path = made.path.join("large.bin");
    let first = take(place, &made, 1);
    // It takes no room: there is nothing in it.
    fs::File::create(&path).unwrap().set_len(FILE_BYTES + 1).unwrap();
    let ground = place.ground();
    let taken = ground.yard(&NoPoints).take_snapshot(&made, &label(2, Side::After), NOW);
    let Err(SnapshotError::TooLarge { path: found, .. }) = taken else { panic!("{taken:?}") };
    assert_eq!(found, path);
    // The way back is free nevertheless.
    return_to(place, &made, &first);
    assert!(!path.exists());
}

pub(crate) fn rules_that_change_take_nothing_away(place: &Place) {
    let (made, _) = place.open("fix-1");
    let path = &made.path;
    write(path, ".gitignore", "*.log\n");
    write(path, "my.log", "ignored\n");
    let (first, seen) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    // What was overlooked is seen now, and the other way round.
    write(path, ".gitignore", "*.tmp\n");
    write(path, "my.tmp", "ignored later\n");
    let (second, later) = (take(place, &made, 2), Seen::of(place, &made, As::Itself));
    return_to(place, &made, &first);
    assert_same(&Seen::of(place, &made, As::Itself), &seen, "under the first rules");
    return_to(place, &made, &second);
    write(path, "my.tmp", "ignored later\n");
    assert_same(&Seen::of(place, &made, As::Itself), &later, "under the second rules");
}

pub(crate) fn whoever_writes_meanwhile_is_noticed(place: &Place) {
    let (made, _) = place.open("fix-1");
    let first = take(place, &made, 1);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for number in 0_u64.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                write(&made.path, &format!("busy/{}.txt", number % 40), number.to_string());
                let _gone = fs::remove_file(made.path.join(format!("busy/{}.txt", number % 7)));
            }
        });
        let ground = place.ground();
        let taken = ground.yard(&NoPoints).take_snapshot(&made, &label(2, Side::After), NOW);
        is_over.store(true, Ordering::Relaxed);
        let is_told =
            matches!(taken, Ok(_) | Err(SnapshotError::Restless { .. } | SnapshotError::Call(_)));
        assert!(is_told, "{taken:?}");
    });
    let (third, seen) = (take(place, &made, 3), Seen::of(place, &made, As::Itself));
    return_to(place, &made, &first);
    assert!(!made.path.join("busy").exists());
    return_to(place, &made, &third);
    assert_same(&Seen::of(place, &made, As::Itself), &seen, "when it was quiet");
}
