//! What is only in the git folder of a clone.

use std::fs;

use agentos_workspace::workspace::verdict::{Kept, Weight, What};
use agentos_workspace::workspace::{Kind, Workspace};

use super::state::{clean, finding, look, restore, sweep, try_git, write};
use crate::place::Place;

const OBJECT: &str = "lfs/objects/aa/bb/aabb";

fn opened() -> (Place, Workspace) {
    let place = Place::new(Kind::Clone);
    let (made, _) = place.open("fix-1");
    assert!(look(&place, &made).is_free());
    (place, made)
}

#[test]
fn settings_hooks_and_files_in_a_clones_git_folder_stop_a_clean_and_come_back() {
    let (place, made) = opened();
    let git = made.path.join(".git");
    let kept = [
        ("hooks/pre-commit", "hook"),
        (OBJECT, "large"),
        ("mydata", "mine"),
        ("info/attributes", "*"),
    ];
    place.git(&made.path, &["config", "alias.zz", "status"]);
    write(&git, "info/exclude", "/.agent-workflow.json\nown-rule\n");
    for (name, content) in kept {
        write(&git, name, content);
    }
    let verdict = look(&place, &made);
    let found = finding(&verdict, What::Private).unwrap();
    assert_eq!((found.count, found.weight, found.kept), (6, Weight::Blocks, Kept::Archive));
    assert_eq!(found.examples[..2], ["the setting alias.zz", "info/exclude"], "{verdict}");
    clean(&place, "fix-1", false).unwrap_err();
    assert!(made.path.exists());
    clean(&place, "fix-1", true).unwrap();
    sweep(&place);
    let back = restore(&place, "fix-1");
    for (name, content) in kept {
        assert_eq!(fs::read_to_string(back.path.join(".git").join(name)).unwrap(), content);
    }
    assert_eq!(place.git(&back.path, &["config", "alias.zz"]), "status");
}

#[test]
fn what_the_repository_has_too_stops_nobody() {
    let (place, made) = opened();
    for folder in [&place.repo, &made.path] {
        place.git(folder, &["config", "alias.zz", "status"]);
        write(&folder.join(".git"), "hooks/pre-commit", "hook");
        write(&folder.join(".git"), OBJECT, "large");
        write(&folder.join(".git"), "info/exclude", "/.agent*\nshared-rule\n");
    }
    place.git(&made.path, &["config", "branch.agentos/fix-1.remote", "origin"]);
    write(&made.path, ".git/hooks/pre-push.sample", "an example of git's");
    let verdict = look(&place, &made);
    assert!(finding(&verdict, What::Private).is_none(), "{verdict}");
    clean(&place, "fix-1", false).unwrap();
}

#[test]
fn a_file_in_lfs_that_the_commit_has_which_a_clone_was_made_from_is_fetched_again() {
    let place = Place::new(Kind::Clone);
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:aabb\nsize 5\n";
    write(&place.repo, "large.bin", pointer);
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "a pointer"]);
    let (made, _) = place.open("fix-1");
    write(&made.path.join(".git"), OBJECT, "large");
    assert!(look(&place, &made).is_free());
    write(&made.path.join(".git"), "lfs/objects/cc/dd/ccdd", "made here");
    let verdict = look(&place, &made);
    assert_eq!(finding(&verdict, What::Private).unwrap().examples, ["lfs/objects/cc/dd/ccdd"]);
}

#[test]
fn a_worktree_elsewhere_that_needs_a_clone_stops_a_clean_and_comes_back() {
    let (place, made) = opened();
    let outer = place.playground.at("outer");
    let path = outer.to_string_lossy();
    place.git(&made.path, &["worktree", "add", "--quiet", "--detach", &path]);
    write(&outer, "staged.txt", "only staged");
    place.git(&outer, &["add", "."]);
    fs::remove_file(outer.join("staged.txt")).unwrap();
    let before = try_git(&place, &outer, &["status", "--porcelain=v2", "--branch"]);
    let verdict = look(&place, &made);
    let found = finding(&verdict, What::Private).unwrap();
    assert_eq!(found.examples, [format!("the worktree {path}")], "{verdict}");
    clean(&place, "fix-1", false).unwrap_err();
    clean(&place, "fix-1", true).unwrap();
    sweep(&place);
    try_git(&place, &place.repo, &["gc", "--quiet", "--prune=now"]);
    restore(&place, "fix-1");
    assert_eq!(try_git(&place, &outer, &["status", "--porcelain=v2", "--branch"]), before);
    assert_eq!(place.git(&outer, &["show", ":staged.txt"]), "only staged");
}
