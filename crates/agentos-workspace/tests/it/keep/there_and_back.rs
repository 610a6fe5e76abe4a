//! Backups, and what comes back from them.

use std::fs;

use agentos_workspace::workspace::backup::{BackupError, Keeping};
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::restore::RestoreError;
use agentos_workspace::workspace::yard::Opened;

use super::mess;
use super::state::{Whole, assert_same, clean, look, restore, sweep, write};
use crate::place::Place;

pub(crate) fn what_was_cleaned_by_force_comes_back_as_it_was(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::commits(place, &made);
    mess::odd_files(&made);
    mess::ignored(&made);
    mess::changes(place, &made);
    mess::nested(place, &made);
    // jj records whatever it sees whenever it is asked.
    look(place, &made);
    let before = Whole::of(place, &made);
    let cleaned = clean(place, "fix-1", true).unwrap();
    assert!(cleaned.backup.is_some(), "{}", cleaned.verdict);
    assert!(!made.path.exists());
    sweep(place);
    place.git(&place.repo, &["gc", "--quiet", "--prune=now"]);
    let back = restore(place, "fix-1");
    assert_same(&Whole::of(place, &back), &before, "restored");
    assert_eq!(back.path, made.path);
    // It is a workspace like any other.
    place.open("fix-1");
    clean(place, "fix-1", true).unwrap();
}

pub(crate) fn a_snapshot_leaves_everything_as_it_is(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::odd_files(&made);
    mess::changes(place, &made);
    look(place, &made);
    let (before, traces) = (Whole::of(place, &made), place.traces());
    let ground = place.ground();
    let backup = ground.yard(&NoPoints).snapshot(&made, &Keeping::default()).unwrap();
    assert_eq!(backup.number, 1);
    assert_same(&Whole::of(place, &made), &before, "untouched");
    assert_eq!(place.traces(), traces);
    let shown = place.git(&place.repo, &["show", "refs/agentos/backup/fix-1/1:README.md"]);
    assert_eq!(shown, "# Changed");
    let refused = ground.yard(&NoPoints).restore(&made.id, None).unwrap_err();
    assert!(matches!(refused, RestoreError::StillThere { .. }), "{refused}");
}

pub(crate) fn whoever_goes_on_finds_what_was_removed(place: &Place) {
    let (made, _) = place.open("fix-1");
    write(&made.path, "notes.txt", "not committed");
    clean(place, "fix-1", true).unwrap();
    let (again, how) = place.open("fix-1");
    assert_eq!(how, Opened::MadeAgain);
    assert_eq!(fs::read_to_string(again.path.join("notes.txt")).unwrap(), "not committed");
    // What was removed without a backup since is not confused with the older one.
    fs::remove_file(again.path.join("notes.txt")).unwrap();
    assert_eq!(clean(place, "fix-1", false).unwrap().backup, None);
    assert!(!place.open("fix-1").0.path.join("notes.txt").exists());
}

pub(crate) fn an_older_backup_can_be_chosen(place: &Place) {
    let (made, _) = place.open("fix-1");
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    write(&made.path, "notes.txt", "first");
    yard.snapshot(&made, &Keeping::default()).unwrap();
    write(&made.path, "notes.txt", "second");
    clean(place, "fix-1", true).unwrap();
    assert_eq!(yard.backups(&made.id).unwrap().len(), 2);
    let (back, backup) = yard.restore(&made.id, Some(1)).unwrap();
    assert_eq!(backup.number, 1);
    assert_eq!(fs::read_to_string(back.path.join("notes.txt")).unwrap(), "first");
    clean(place, "fix-1", true).unwrap();
    let (back, _) = yard.restore(&made.id, Some(2)).unwrap();
    assert_eq!(fs::read_to_string(back.path.join("notes.txt")).unwrap(), "second");
    let refused = yard.restore(&made.id, Some(9)).unwrap_err();
    assert!(matches!(refused, RestoreError::NoBackup { number: Some(9), .. }), "{refused}");
}

pub(crate) fn what_can_be_made_again_is_not_kept(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::ignored(&made);
    write(&made.path, "node_modules/x/index.js", "made again");
    write(&made.path, "sub/target/debug/thing", "made again");
    // A repository can't be made again, wherever it is.
    let inner = made.path.join("node_modules/linked");
    fs::create_dir(&inner).unwrap();
    place.git(&inner, &["init", "--quiet"]);
    write(&inner, "work.txt", "work");
    clean(place, "fix-1", true).unwrap();
    let back = restore(place, "fix-1");
    assert!(!back.path.join("node_modules/x").exists());
    assert!(!back.path.join("sub/target").exists());
    assert_eq!(fs::read_to_string(back.path.join("node_modules/linked/work.txt")).unwrap(), "work");
    assert_eq!(fs::read_to_string(back.path.join(".env")).unwrap(), "SECRET=1\n");
    // What was ignored may be secret: it is in no object, and nobody else may read the archive.
    let listed =
        place.git(&place.repo, &["ls-tree", "-r", "--name-only", "refs/agentos/backup/fix-1/1"]);
    assert!(!listed.contains(".env"), "{listed}");
}

pub(crate) fn too_much_for_the_archive_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::ignored(&made);
    write(&made.path, "local/large.db", vec![7; 200_000]);
    let (before, traces) = (Whole::of(place, &made), place.traces());
    let keeping = Keeping { archive_bytes: 150_000, ..Keeping::default() };
    let refused = place.ground().yard(&NoPoints).clean(&made.id, true, &keeping).unwrap_err();
    let CleanError::Backup(BackupError::TooLarge { largest, .. }) = refused else {
        panic!("{refused}")
    };
    assert!(largest[0].contains("large.db"), "{largest:?}");
    assert_same(&Whole::of(place, &made), &before, "untouched");
    assert_eq!(place.traces(), traces);
}

pub(crate) fn a_damaged_archive_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::ignored(&made);
    let archive = clean(place, "fix-1", true).unwrap().backup.unwrap().archive;
    let whole = fs::read(&archive).unwrap();
    fs::write(&archive, &whole[..whole.len() / 2]).unwrap();
    let ground = place.ground();
    let refused = ground.yard(&NoPoints).restore(&made.id, None).unwrap_err();
    assert!(matches!(refused, RestoreError::Damaged { .. }), "{refused}");
    assert!(!made.path.exists());
    fs::write(&archive, &whole).unwrap();
    restore(place, "fix-1");
}

pub(crate) fn what_is_in_the_way_stays(place: &Place) {
    let (made, _) = place.open("fix-1");
    write(&made.path, "notes.txt", "mine");
    clean(place, "fix-1", true).unwrap();
    write(&made.path, "other.txt", "somebody's");
    let ground = place.ground();
    let refused = ground.yard(&NoPoints).restore(&made.id, None).unwrap_err();
    assert!(matches!(refused, RestoreError::PlaceTaken { .. }), "{refused}");
    assert_eq!(fs::read_to_string(made.path.join("other.txt")).unwrap(), "somebody's");
    fs::remove_dir_all(&made.path).unwrap();
    let back = restore(place, "fix-1");
    assert_eq!(fs::read_to_string(back.path.join("notes.txt")).unwrap(), "mine");
}

pub(crate) fn whether_there_is_room_is_asked_before_anything_is_restored(place: &Place) {
    let (made, _) = place.open("fix-1");
    write(&made.path, "new.txt", "new");
    clean(place, "fix-1", true).unwrap();
    let traces = place.traces();
    let mut ground = place.ground();
    ground.policy.min_free_disk = Some(u64::MAX);
    let refused = ground.yard(&NoPoints).restore(&made.id, None).unwrap_err();
    assert!(matches!(refused, RestoreError::NoRoom(_)), "{refused}");
    assert_eq!(place.traces(), traces);
    assert!(restore(place, "fix-1").path.join("new.txt").exists());
}
