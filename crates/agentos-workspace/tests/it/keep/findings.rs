//! What a verdict finds in a git worktree, one thing at a time.

use std::fs;
use std::path::Path;

use agentos_workspace::workspace::verdict::{Kept, Verdict, Weight, What};
use agentos_workspace::workspace::{Kind, Workspace};

use super::mess;
use super::state::{clean, finding, look, restore, try_git, write};
use crate::place::Place;

fn opened() -> (Place, Workspace) {
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    (place, made)
}

fn weight(verdict: &Verdict, what: What) -> (u64, Weight, Kept) {
    let found = finding(verdict, what).unwrap_or_else(|| panic!("{what:?} is not in {verdict}"));
    (found.count, found.weight, found.kept)
}

#[test]
fn a_squashed_branch_is_integrated_and_goes() {
    let (place, made) = opened();
    place.commit_in(&made, "one.txt");
    place.commit_in(&made, "two.txt");
    assert_eq!(look(&place, &made).integrated, None);
    place.git(&place.repo, &["merge", "--squash", "--quiet", "agentos/fix-1"]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "squashed"]);
    // The project goes on, also where the branch has been.
    fs::write(place.repo.join("one.txt"), "one\nand more\n").unwrap();
    place.git(&place.repo, &["commit", "--quiet", "-am", "more"]);
    let verdict = look(&place, &made);
    let told = verdict.to_string();
    assert!(told.contains("agentos/fix-1 is in main: squashed into one commit"), "{told}");
    assert_eq!(clean(&place, "fix-1", false).unwrap().branch, None);
    assert_eq!(try_git(&place, &place.repo, &["branch", "--list", "agentos/*"]), "");
}

#[test]
fn a_merged_branch_and_one_whose_changes_are_there_are_integrated() {
    let (place, made) = opened();
    place.commit_in(&made, "one.txt");
    fs::write(place.repo.join("one.txt"), "one.txt").unwrap();
    fs::write(place.repo.join("other.txt"), "other").unwrap();
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "the same and more, by hand"]);
    let told = look(&place, &made).to_string();
    assert!(told.contains("merging it would change nothing"), "{told}");
    place.git(&place.repo, &["merge", "--quiet", "-m", "merged", "agentos/fix-1"]);
    let told = look(&place, &made).to_string();
    assert!(told.contains("agentos/fix-1 is in main: merged"), "{told}");
}

#[test]
fn commits_on_no_branch_block_and_rewritten_ones_are_saved_by_themselves() {
    let (place, made) = opened();
    place.commit_in(&made, "one.txt");
    place.git(&made.path, &["commit", "--quiet", "--amend", "-m", "amended"]);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Rewritten), (1, Weight::Saved, Kept::Backup));
    assert!(verdict.is_free() && verdict.needs_backup());
    let cleaned = clean(&place, "fix-1", false).unwrap();
    assert!(cleaned.backup.is_some() && cleaned.branch.is_some());
    restore(&place, "fix-1");
    place.git(&made.path, &["checkout", "--quiet", "--detach"]);
    place.commit_in(&made, "two.txt");
    let (again, _) = place.open("fix-1");
    let verdict = look(&place, &again);
    assert_eq!(weight(&verdict, What::Detached), (1, Weight::Blocks, Kept::Backup));
    clean(&place, "fix-1", false).unwrap_err();
}

#[test]
fn commits_whose_files_are_in_the_project_are_backed_up_before_their_branch_goes() {
    let (place, made) = opened();
    place.commit_in(&made, "one.txt");
    let lost = try_git(&place, &made.path, &["rev-parse", "HEAD"]);
    place.git(&made.path, &["revert", "--no-edit", "HEAD"]);
    let verdict = look(&place, &made);
    assert!(verdict.to_string().contains("the same files"), "{verdict}");
    assert_eq!(weight(&verdict, What::Unpushed), (2, Weight::Saved, Kept::Backup));
    let cleaned = clean(&place, "fix-1", false).unwrap();
    assert!(cleaned.backup.is_some() && cleaned.branch.is_none());
    let holders = ["for-each-ref", "--contains", lost.trim(), "refs/agentos/backup"];
    assert_ne!(try_git(&place, &place.repo, &holders), "");
}

#[test]
fn a_commit_that_only_the_worktree_has_a_name_for_blocks() {
    let (place, made) = opened();
    place.git(&made.path, &["checkout", "--quiet", "--detach"]);
    place.commit_in(&made, "one.txt");
    place.git(&made.path, &["update-ref", "refs/worktree/keep", "HEAD"]);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Detached), (1, Weight::Blocks, Kept::Backup));
}

#[test]
fn a_branch_of_a_clone_that_somebody_has_gone_on_with_stays_theirs() {
    let place = Place::new(Kind::Clone);
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "one.txt");
    look(&place, &made);
    place.git(&place.repo, &["checkout", "--quiet", "agentos/fix-1"]);
    fs::write(place.repo.join("theirs.txt"), "theirs").unwrap();
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "theirs"]);
    let theirs = try_git(&place, &place.repo, &["rev-parse", "HEAD"]);
    place.commit_in(&made, "two.txt");
    let ours = try_git(&place, &made.path, &["rev-parse", "HEAD"]);
    place.git(&place.repo, &["checkout", "--quiet", "main"]);
    clean(&place, "fix-1", true).unwrap();
    let branch = ["rev-parse", "refs/heads/agentos/fix-1"];
    assert_eq!(try_git(&place, &place.repo, &branch), theirs);
    let collected = ["for-each-ref", "--format=%(objectname)", "refs/agentos/collected"];
    assert_eq!(try_git(&place, &place.repo, &collected), ours);
}

#[test]
fn a_branch_of_a_clone_that_was_rewritten_there_follows_and_what_it_was_stays() {
    let place = Place::new(Kind::Clone);
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "one.txt");
    look(&place, &made);
    let old = try_git(&place, &place.repo, &["rev-parse", "refs/heads/agentos/fix-1"]);
    place.git(&made.path, &["commit", "--quiet", "--amend", "-m", "better"]);
    let new = try_git(&place, &made.path, &["rev-parse", "HEAD"]);
    look(&place, &made);
    let branch = ["rev-parse", "refs/heads/agentos/fix-1"];
    assert_eq!(try_git(&place, &place.repo, &branch), new);
    let collected = ["for-each-ref", "--format=%(objectname)", "refs/agentos/collected"];
    assert_eq!(try_git(&place, &place.repo, &collected), old);
}

#[test]
fn tags_that_a_clone_has_from_its_repository_do_not_keep_it() {
    let place = Place::new(Kind::Clone);
    place.git(&place.repo, &["checkout", "--quiet", "-b", "release"]);
    place.git(&place.repo, &["commit", "--quiet", "--allow-empty", "-m", "release"]);
    place.git(&place.repo, &["tag", "v1"]);
    place.git(&place.repo, &["checkout", "--quiet", "main"]);
    place.git(&place.repo, &["branch", "--quiet", "-D", "release"]);
    let (made, _) = place.open("fix-1");
    let verdict = look(&place, &made);
    assert!(verdict.is_free(), "{verdict}");
}

#[test]
fn an_ignored_file_that_the_main_checkout_has_too_is_not_lost() {
    let (place, made) = opened();
    for folder in [&place.repo, &made.path] {
        write(folder, ".env", "SECRET=1\n");
    }
    fs::write(place.repo.join(".git/info/exclude"), ".env\n/.agent*\n").unwrap();
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Copied), (1, Weight::Free, Kept::InPlace));
    assert!(verdict.is_free(), "{verdict}");
    write(&made.path, ".env", "SECRET=2\n");
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Ignored), (1, Weight::Blocks, Kept::Archive));
}

#[test]
fn what_is_put_aside_stays_in_the_repository() {
    let (place, made) = opened();
    mess::commits(&place, &made);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Stashed), (1, Weight::Free, Kept::InPlace));
}

#[test]
fn something_half_done_and_a_change_that_git_was_told_not_to_see_block() {
    let (place, made) = opened();
    let path = &made.path;
    place.git(path, &["update-index", "--assume-unchanged", "README.md"]);
    write(path, "README.md", "hidden");
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Unstaged), (1, Weight::Blocks, Kept::Backup));
    place.git(path, &["update-index", "--no-assume-unchanged", "README.md"]);
    place.git(path, &["checkout", "--quiet", "--", "README.md"]);
    assert!(look(&place, &made).is_free());
    place.git(path, &["bisect", "start"]);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::InProgress), (1, Weight::Blocks, Kept::Archive));
}

#[test]
fn somebody_elses_lock_is_respected() {
    let (place, made) = opened();
    let path = made.path.to_string_lossy();
    place.git(&place.repo, &["worktree", "unlock", &path]);
    place.git(&place.repo, &["worktree", "lock", "--reason", "mine", &path]);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Locked).1, Weight::Forbids);
    clean(&place, "fix-1", true).unwrap_err();
    assert!(made.path.exists());
    place.git(&place.repo, &["worktree", "unlock", &path]);
    clean(&place, "fix-1", false).unwrap();
    assert_eq!(place.git(&place.repo, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_submodule_blocks_only_if_its_remote_does_not_have_everything() {
    let (place, made) = opened();
    let library = place.playground.repository("library");
    add_submodule(&place, &made.path, &library);
    let verdict = look(&place, &made);
    assert_eq!(weight(&verdict, What::Submodule), (1, Weight::Free, Kept::Nowhere), "{verdict}");
    assert!(verdict.is_free(), "{verdict}");
    let inside = made.path.join("sub");
    write(&inside, "work.txt", "work");
    place.git(&inside, &["add", "."]);
    place.git(&inside, &["commit", "--quiet", "-m", "unpushed"]);
    let told = look(&place, &made).to_string();
    assert!(told.contains("sub (commits that are on no remote)"), "{told}");
    // Taken out of the files it is still there.
    place.git(&made.path, &["submodule", "--quiet", "deinit", "--force", "sub"]);
    let told = look(&place, &made).to_string();
    assert!(told.contains("one that is not checked out"), "{told}");
}

fn add_submodule(place: &Place, path: &Path, library: &Path) {
    let from = library.to_string_lossy();
    let how = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &*from, "sub"];
    place.git(path, &how);
    place.git(path, &["commit", "--quiet", "-m", "a submodule"]);
}

#[test]
fn what_the_ledger_does_not_know_is_not_touched() {
    let (place, made) = opened();
    let mine = made.path.with_file_name("mine");
    place.git(&place.repo, &["worktree", "add", "--quiet", "-b", "mine", &mine.to_string_lossy()]);
    clean(&place, "mine", true).unwrap_err();
    clean(&place, "fix-1", true).unwrap();
    assert!(mine.join("README.md").exists());
    assert_eq!(place.git(&mine, &["branch", "--show-current"]), "mine");
}
