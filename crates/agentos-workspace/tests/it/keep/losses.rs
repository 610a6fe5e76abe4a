//! Ways in which work was lost by others, or nearly by us, one at a time.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_workspace::workspace::backup::{BackupError, Keeping};
use agentos_workspace::workspace::ledger::Ledger as _;
use agentos_workspace::workspace::points::{NoPoints, Point, Points};
use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::verdict::{Kept, Weight, What};
use agentos_workspace::workspace::yard::{OpenError, Opened};
use agentos_workspace::workspace::{Kind, State, Workspace};

use super::kills::die;
use super::state::{Whole, assert_same, clean, finding, look, restore, sweep, try_git, write};
use crate::place::{Ground, NOW, Place};

/// Everything that could be deleted is, by us and by git.
fn forget_everything(place: &Place) {
    sweep(place);
    try_git(place, &place.repo, &["reflog", "expire", "--expire=now", "--all"]);
    try_git(place, &place.repo, &["gc", "--quiet", "--prune=now"]);
}

/// Opens a workspace, and gives back what somebody is told.
fn open_told(place: &Place, id: &str) -> (Workspace, Opened, String) {
    let ground = place.ground();
    let open = ground.yard(&NoPoints).open(&place.wanted(id)).unwrap();
    (open.workspace, open.how, open.notes.join("\n"))
}

#[test]
fn tags_and_notes_that_only_a_clone_has_stop_a_clean_and_come_back() {
    let place = Place::new(Kind::Clone);
    place.git(&place.repo, &["tag", "-a", "shared", "-m", "both have it"]);
    let (made, _) = place.open("fix-1");
    place.git(&place.repo, &["commit", "--quiet", "--allow-empty", "-m", "main goes on"]);
    assert!(look(&place, &made).is_free(), "being behind is no work");
    place.git(&made.path, &["tag", "-a", "v1", "-m", "annotated"]);
    place.git(&made.path, &["tag", "light"]);
    place.git(&made.path, &["notes", "add", "-m", "a note"]);
    place.git(&made.path, &["tag", "a-file", "HEAD:README.md"]);
    let verdict = look(&place, &made);
    let names = finding(&verdict, What::Names).unwrap();
    assert_eq!((names.count, names.weight, names.kept), (4, Weight::Blocks, Kept::Backup));
    assert!(names.examples.contains(&"notes/commits".to_owned()), "{verdict}");
    clean(&place, "fix-1", false).unwrap_err();
    let before = Whole::of(&place, &made);
    clean(&place, "fix-1", true).unwrap();
    forget_everything(&place);
    let back = restore(&place, "fix-1");
    assert_same(&Whole::of(&place, &back), &before, "restored");
    assert_eq!(place.git(&back.path, &["cat-file", "-t", "v1"]), "tag");
    assert_eq!(place.git(&back.path, &["notes", "show"]), "a note");
    assert_eq!(
        try_git(&place, &back.path, &["fsck", "--full", "--no-progress", "--no-dangling"]),
        ""
    );
    let own = ["for-each-ref", "--format=%(refname)", "refs/tags", "refs/notes"];
    assert_eq!(
        place.git(&place.repo, &own),
        "refs/tags/shared",
        "the repository's own are as before"
    );
}

#[test]
fn commits_that_only_a_table_knows_are_found_and_come_back() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::with_tables(kind);
        let (made, _) = place.open("fix-1");
        place.commit_in(&made, "one.txt");
        let lost = place.git(&made.path, &["rev-parse", "HEAD"]);
        place.git(&made.path, &["commit", "--quiet", "--amend", "-m", "amended"]);
        let verdict = look(&place, &made);
        assert_eq!(finding(&verdict, What::Rewritten).unwrap().count, 1, "{kind}: {verdict}");
        write(&made.path, "staged.txt", "staged");
        place.git(&made.path, &["add", "."]);
        let before = Whole::of(&place, &made);
        clean(&place, "fix-1", true).unwrap();
        forget_everything(&place);
        assert_eq!(place.git(&place.repo, &["cat-file", "-t", &lost]), "commit", "{kind}");
        assert_same(&Whole::of(&place, &restore(&place, "fix-1")), &before, kind.as_str());
    }
}

#[test]
fn something_half_done_that_only_a_table_knows_blocks() {
    let place = Place::with_tables(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    assert!(look(&place, &made).is_free());
    place.git(&made.path, &["update-ref", "CHERRY_PICK_HEAD", "HEAD"]);
    let verdict = look(&place, &made);
    assert_eq!(finding(&verdict, What::InProgress).unwrap().weight, Weight::Blocks, "{verdict}");
}

#[test]
fn commits_of_jj_that_no_bookmark_leads_to_are_told_of_and_stay() {
    let place = Place::new(Kind::Jj);
    let (made, _) = place.open("fix-1");
    write(&made.path, "one.txt", "one");
    place.jj(&made.path, &["commit", "-m", "without a name"]);
    let verdict = look(&place, &made);
    let found = finding(&verdict, What::Anonymous).unwrap();
    assert_eq!((found.count, found.weight, found.kept), (1, Weight::Free, Kept::InPlace));
    assert!(found.examples[0].ends_with("without a name"), "{verdict}");
    let commit = place.jj(&made.path, &["log", "--no-graph", "-r", "@-", "-T", "commit_id"]);
    clean(&place, "fix-1", true).unwrap();
    forget_everything(&place);
    let seen = place.jj(&place.repo, &["file", "show", "-r", &commit, "one.txt"]);
    assert_eq!(seen, "one");
}

#[test]
fn a_worktree_inside_of_a_workspace_comes_back_whole() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let (made, _) = place.open("fix-1");
        place.git(&made.path, &["worktree", "add", "--quiet", "-b", "inside", "./x"]);
        let inner = made.path.join("x");
        place.git(&inner, &["checkout", "--quiet", "--detach"]);
        write(&inner, "committed.txt", "committed");
        place.git(&inner, &["add", "."]);
        place.git(&inner, &["commit", "--quiet", "-m", "on no branch"]);
        write(&inner, "staged.txt", "only staged");
        place.git(&inner, &["add", "."]);
        write(&inner, "staged.txt", "and changed since");
        let before = Whole::of(&place, &made);
        clean(&place, "fix-1", false).unwrap_err();
        clean(&place, "fix-1", true).unwrap();
        assert_eq!(place.git(&place.repo, &["worktree", "list"]).lines().count(), 1, "{kind}");
        forget_everything(&place);
        assert_same(&Whole::of(&place, &restore(&place, "fix-1")), &before, kind.as_str());
        assert_eq!(try_git(&place, &inner, &["worktree", "prune", "--dry-run", "-v"]), "");
        clean(&place, "fix-1", true).unwrap();
        // Somebody else has its private name by now.
        let other = place.playground.at("elsewhere/x").display().to_string();
        place.git(&place.repo, &["worktree", "add", "--quiet", "--detach", &other]);
        restore(&place, "fix-1");
        assert_eq!(place.git(&inner, &["show", ":staged.txt"]), "only staged");
        assert_eq!(try_git(&place, Path::new(&other), &["status", "--porcelain"]), "");
    }
}

#[test]
fn what_git_knows_of_a_folder_that_was_deleted_by_hand_is_kept() {
    for place in [Place::new(Kind::Worktree), Place::with_tables(Kind::Worktree)] {
        let (made, _) = place.open("fix-1");
        place.git(&made.path, &["checkout", "--quiet", "--detach"]);
        place.commit_in(&made, "detached.txt");
        let lost = place.git(&made.path, &["rev-parse", "HEAD"]);
        write(&made.path, "staged.txt", "only staged");
        place.git(&made.path, &["add", "."]);
        fs::remove_dir_all(&made.path).unwrap();
        let (again, how, told) = open_told(&place, "fix-1");
        assert_eq!(how, Opened::MadeAgain);
        assert!(told.contains("refs/agentos/backup/fix-1/1"), "{told}");
        assert!(told.contains("agentos workspace restore fix-1 1"), "{told}");
        assert!(!again.path.join("detached.txt").exists(), "it is as its branch is");
        clean(&place, "fix-1", false).unwrap();
        forget_everything(&place);
        let back = restore(&place, "fix-1");
        assert_eq!(place.git(&back.path, &["rev-parse", "HEAD"]), lost);
        assert_eq!(place.git(&back.path, &["status", "--porcelain"]), "A  staged.txt");
        assert_eq!(fs::read_to_string(back.path.join("staged.txt")).unwrap(), "only staged");
    }
}

#[test]
fn nothing_is_kept_of_a_folder_of_which_nothing_is_lost() {
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "one.txt");
    fs::remove_dir_all(&made.path).unwrap();
    let (again, _, told) = open_told(&place, "fix-1");
    assert!(again.path.join("one.txt").exists());
    assert_eq!(told, "");
    assert_eq!(place.ground().yard(&NoPoints).backups(&made.id).unwrap(), []);
}

#[test]
fn a_folder_that_was_renamed_is_found_and_nothing_is_made_in_its_place() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let (made, _) = place.open("fix-1");
        write(&made.path, "mine.txt", "mine");
        let renamed = made.path.with_file_name("renamed");
        fs::rename(&made.path, &renamed).unwrap();
        let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
        assert!(matches!(refused, OpenError::Moved { .. }), "{refused}");
        let told = refused.to_string();
        assert!(told.contains(&format!("it is now at {}", renamed.display())), "{told}");
        fs::rename(&renamed, &made.path).unwrap();
        assert_eq!(place.open("fix-1").1, Opened::Found);
        assert!(made.path.join("mine.txt").exists());
    }
}

#[test]
fn an_interrupted_restore_is_finished_by_whoever_opens_the_workspace() {
    for point in [Point::Recorded, Point::Filled, Point::Furnished] {
        let place = Place::new(Kind::Worktree);
        let (made, _) = place.open("fix-1");
        write(&made.path, "first.txt", "first");
        place.ground().yard(&NoPoints).snapshot(&made, &Keeping::default()).unwrap();
        write(&made.path, "second.txt", "second");
        let before = Whole::of(&place, &made);
        clean(&place, "fix-1", true).unwrap();
        die(&place, "restore", point);
        let (back, how, told) = open_told(&place, "fix-1");
        assert_eq!(how, Opened::MadeAgain);
        assert!(told.contains("refs/agentos/backup/fix-1/2"), "{point:?}: {told}");
        assert_same(&Whole::of(&place, &back), &before, point.as_str());
    }
}

#[test]
fn whoever_begins_afresh_is_told_of_backups() {
    let place = Place::new(Kind::Clone);
    let (made, _) = place.open("fix-1");
    write(&made.path, "only.txt", "only here");
    place.ground().yard(&NoPoints).snapshot(&made, &Keeping::default()).unwrap();
    fs::remove_dir_all(&made.path).unwrap();
    let (_, how, told) = open_told(&place, "fix-1");
    assert_eq!(how, Opened::MadeAgain);
    assert!(told.contains("there are backups of it (1)"), "{told}");
    clean(&place, "fix-1", false).unwrap();
    assert!(restore(&place, "fix-1").path.join("only.txt").exists());
}

#[test]
fn what_people_put_into_folders_of_tools_is_kept() {
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    write(&made.path, ".gitignore", "venv/\nnode_modules/\ntarget/\n");
    place.git(&made.path, &["add", "."]);
    place.git(&made.path, &["commit", "--quiet", "-m", "ignores"]);
    write(&made.path, "venv/lib/site-packages/certifi/cacert.pem", "everybody's");
    write(&made.path, "node_modules/dotenv/package.json", "{}");
    write(&made.path, "node_modules/dotenv/test/.env", "the package's");
    assert!(look(&place, &made).is_free(), "{}", look(&place, &made));
    for (name, content) in [
        ("venv/secret.key", "key"),
        ("node_modules/.env", "A=1"),
        ("target/debug/app.sqlite", "rows"),
        ("target/id_rsa", "key"),
    ] {
        write(&made.path, name, content);
    }
    let verdict = look(&place, &made);
    let kept = finding(&verdict, What::Ignored).unwrap();
    assert_eq!((kept.count, kept.weight, kept.kept), (4, Weight::Blocks, Kept::Archive));
    let left = finding(&verdict, What::Reproducible).unwrap();
    assert_eq!((left.count, left.weight), (3, Weight::Free), "{verdict}");
    clean(&place, "fix-1", true).unwrap();
    sweep(&place);
    let back = restore(&place, "fix-1");
    assert_eq!(fs::read_to_string(back.path.join("venv/secret.key")).unwrap(), "key");
    assert_eq!(fs::read_to_string(back.path.join("node_modules/.env")).unwrap(), "A=1");
    assert!(!back.path.join("node_modules/dotenv").exists());
}

/// Writes into a workspace when its backup is there.
struct Restless(PathBuf);

impl Points for Restless {
    fn pass(&self, point: Point) {
        if point == Point::BackedUp {
            let known = fs::read_to_string(self.0.join("log.txt")).unwrap();
            fs::write(self.0.join("log.txt"), known + " and more").unwrap();
        }
    }
}

#[test]
fn a_workspace_that_somebody_keeps_writing_to_leaves_no_backups_behind() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let (made, _) = place.open("fix-1");
        write(&made.path, "log.txt", "begun");
        place.git(&made.path, &["tag", "mine"]);
        let (ground, points) = (place.ground(), Restless(made.path.clone()));
        for _ in 0..2 {
            let refused = ground.yard(&points).clean(&made.id, true, &Keeping::default());
            let refused = refused.unwrap_err();
            let is_it = matches!(refused, CleanError::Backup(BackupError::Restless { .. }));
            assert!(is_it, "{refused}");
        }
        assert_eq!(ground.yard(&NoPoints).backups(&made.id).unwrap(), []);
        assert_eq!(place.git(&place.repo, &["for-each-ref", "refs/agentos"]), "");
        clean(&place, "fix-1", true).unwrap();
        let backups = ground.yard(&NoPoints).all_backups().unwrap();
        assert_eq!(backups.len(), 1);
        ground.yard(&NoPoints).discard(&backups[0]).unwrap();
        assert_eq!(place.git(&place.repo, &["for-each-ref", "refs/agentos"]), "");
        assert!(!backups[0].archive.exists());
    }
}

/// The same place after its repository was moved.
fn moved(place: Place) -> Place {
    let to = place.playground.at("moved/project2");
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::rename(&place.repo, &to).unwrap();
    Place { repo: to, ..place }
}

#[test]
fn a_repository_that_was_moved_finds_its_workspaces_and_backups() {
    for kind in [Kind::Worktree, Kind::Clone, Kind::Jj] {
        let place = Place::new(kind);
        let (there, _) = place.open("there");
        write(&there.path, "mine.txt", "mine");
        let (gone, _) = place.open("gone");
        write(&gone.path, "kept.txt", "kept");
        clean(&place, "gone", true).unwrap();
        let place = moved(place);
        let ground = place.ground();
        let yard = ground.yard(&NoPoints);
        assert!(yard.is_unsettled().unwrap());
        yard.settle().unwrap();
        assert!(!yard.is_unsettled().unwrap(), "{kind}");
        let (found, how) = place.open("there");
        assert_eq!((how, &found.path), (Opened::Found, &there.path), "{kind}");
        assert_eq!(found.repository, ground.repository.checkout.repository);
        assert!(place.changes(&found.path).contains("mine.txt"), "{kind}");
        let back = restore(&place, "gone");
        assert_eq!(back.path, gone.path, "{kind}");
        assert_eq!(fs::read_to_string(back.path.join("kept.txt")).unwrap(), "kept");
        clean(&place, "there", true).unwrap();
        assert!(!there.path.exists());
        assert!(restore(&place, "there").path.join("mine.txt").exists(), "{kind}");
    }
}

#[test]
fn a_copy_of_a_repository_leaves_the_workspaces_of_the_first_alone() {
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    let copy = place.playground.at("copy");
    let (from, to) = (place.repo.display().to_string(), copy.display().to_string());
    place.playground.run("cp", &place.repo, ["-r", &from, &to]);
    let ground = Ground::new(&place.playground.path(), &copy);
    ground.yard(&NoPoints).settle().unwrap();
    assert_eq!(ground.ledger.find(&made.id).unwrap().unwrap(), made);
    assert_eq!(place.open("fix-1").1, Opened::Found);
}

#[test]
fn rows_that_are_lost_are_made_again_from_markers() {
    for kind in [Kind::Worktree, Kind::Clone, Kind::Jj] {
        let place = Place::new(kind);
        let (made, _) = place.open("fix-1");
        place.commit_in(&made, "one.txt");
        write(&made.path, "mine.txt", "mine");
        let ground = place.ground();
        fs::remove_file(&ground.ledger.file).unwrap();
        let yard = ground.yard(&NoPoints);
        assert!(yard.is_unsettled().unwrap(), "{kind}");
        let (found, how) = place.open("fix-1");
        assert_eq!(how, Opened::Found, "{kind}");
        assert_eq!((&found.path, &found.base), (&made.path, &made.base));
        assert_eq!((found.state, found.is_branch_ours), (State::Released, true));
        clean(&place, "fix-1", false).unwrap_err();
        clean(&place, "fix-1", true).unwrap();
        assert!(restore(&place, "fix-1").path.join("mine.txt").exists(), "{kind}");
    }
}

#[test]
fn workspaces_of_another_database_are_not_taken_over() {
    let place = Place::new(Kind::Worktree);
    place.open("fix-1");
    let ground = place.ground();
    // Another checkout of the repository has a ledger of its own, and both databases are there.
    fs::write(ground.ledger.database(), "").unwrap();
    let other = Ground {
        ledger: crate::place::FileLedger { file: place.playground.at("other/ledger.json") },
        ..place.ground()
    };
    fs::create_dir_all(other.ledger.file.parent().unwrap()).unwrap();
    assert!(!other.yard(&NoPoints).is_unsettled().unwrap());
    other.yard(&NoPoints).repair().unwrap();
    assert_eq!(other.ledger.all().unwrap(), []);
}

#[test]
fn an_adopted_worktree_that_its_owner_has_removed_is_gone() {
    let place = Place::new(Kind::Worktree);
    let mine = place.playground.at("mine").display().to_string();
    place.git(&place.repo, &["worktree", "add", "--quiet", "-b", "mine", &mine]);
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    let adopted = yard.adopt(Path::new(&mine), &"mine".parse().unwrap(), NOW).unwrap();
    yard.settle().unwrap();
    assert!(ground.ledger.find(&adopted.id).unwrap().unwrap().state.is_there());
    place.git(&place.repo, &["worktree", "remove", "--force", &mine]);
    yard.settle().unwrap();
    assert_eq!(ground.ledger.find(&adopted.id).unwrap().unwrap().state, State::Gone);
    assert_eq!(place.git(&place.repo, &["branch", "--list", "mine"]).trim(), "mine");
}
