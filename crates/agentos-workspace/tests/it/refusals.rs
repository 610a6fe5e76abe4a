//! Where it can't be told which history it is, there is an error and never the global database.

use std::fs;
use std::os::unix::fs::symlink;

use agentos_process::tool::ToolError;
use agentos_testing::repo::{Playground, snapshot};
use agentos_workspace::checkout::{Checkout, CheckoutError};
use agentos_workspace::git::GitError;
use agentos_workspace::state::{LocateError, StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;

use crate::fixture::{own, refusal, standing_in, with};

fn of_git(surroundings: &Surroundings) -> GitError {
    match Checkout::find(surroundings) {
        Err(CheckoutError::Git(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[test]
fn without_git_a_repository_is_an_error() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let empty = playground.folder("empty");
    let surroundings = with(standing_in(&playground, &root), "PATH", &empty);
    let error = of_git(&surroundings);
    assert!(
        matches!(&error, GitError::Tool { source: ToolError::NotFound { program }, .. } if program == "git"),
        "{error:?}"
    );
    assert!(refusal(&surroundings).to_string().contains("`git` was not found; install it"));
    let outside = with(standing_in(&playground, &empty), "PATH", &empty);
    assert_eq!(StateLocation::find(&outside).unwrap().why, Why::Outside, "nothing to ask git for");
}

#[test]
fn a_repository_of_another_user_is_an_error_that_says_how_to_trust_it() {
    let playground = Playground::new();
    let root = playground.repository("theirs");
    let said = "GIT_TEST_ASSUME_DIFFERENT_OWNER";
    let surroundings = with(standing_in(&playground, &root), said, "1");
    let error = of_git(&surroundings);
    let GitError::DubiousOwnership { repository } = &error else { panic!("{error:?}") };
    assert_eq!(*repository, root);
    let text = error.to_string();
    assert!(text.contains("git config --global --add safe.directory"), "{text}");
}

#[test]
fn a_worktree_whose_git_directory_was_removed_is_an_error() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    fs::remove_dir_all(main.join(".git/worktrees/linked")).unwrap();
    let error = of_git(&standing_in(&playground, &playground.at("linked")));
    assert!(matches!(error, GitError::Refused { .. }), "{error:?}");
}

#[test]
fn a_damaged_repository_is_an_error() {
    let playground = Playground::new();
    let root = playground.repository("project");
    fs::remove_file(root.join(".git/HEAD")).unwrap();
    let error = of_git(&standing_in(&playground, &root));
    assert!(error.to_string().contains("not a git repository"), "{error}");
}

#[test]
fn a_repository_that_was_made_bare_by_accident_is_an_error() {
    let playground = Playground::new();
    let root = playground.repository("it's mine");
    playground.git(&root, ["config", "core.bare", "true"]);
    let error = refusal(&standing_in(&playground, &root)).to_string();
    // It can be pasted into a shell.
    assert!(error.contains(r"/it'\''s mine/.git/config' core.bare false"), "{error}");
}

#[test]
fn a_path_with_a_line_break_is_refused_rather_than_misread() {
    let playground = Playground::new();
    let root = playground.repository("two\nlines");
    let error = of_git(&standing_in(&playground, &root));
    assert!(matches!(error, GitError::Unreadable { .. }), "{error:?}");
}

#[test]
fn a_folder_that_was_deleted_is_an_error() {
    let playground = Playground::new();
    let gone = playground.at("gone");
    for cwd in [Some(gone), None] {
        let surroundings = Surroundings { cwd, ..standing_in(&playground, &playground.path()) };
        let error = refusal(&surroundings);
        assert!(error.to_string().contains("does not exist any more"), "{error}");
        let named = with(surroundings, "AGENTOS_WORKFLOW_DB", playground.at("x.db"));
        let location = StateLocation::find(&named).unwrap();
        assert!(location.project_path().is_err(), "the database is known, the project is not");
    }
}

#[test]
fn without_a_home_it_is_an_error_outside_and_none_in_a_repository() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let homeless = |folder| Surroundings { home: None, ..standing_in(&playground, folder) };
    assert!(StateLocation::find(&homeless(&root)).is_ok());
    let plain = playground.folder("plain");
    let error = refusal(&homeless(&plain));
    assert!(matches!(error, LocateError::NoHome { .. }), "{error:?}");
}

#[test]
fn a_home_that_can_not_be_written_to_fails_only_who_writes() {
    let playground = Playground::new();
    let plain = playground.folder("plain");
    // Not even root can make folders there.
    let home = Some("/proc".into());
    let surroundings = Surroundings { home, ..standing_in(&playground, &plain) };
    let location = StateLocation::find(&surroundings).unwrap();
    let error = location.prepare().unwrap_err().to_string();
    assert!(error.contains("/proc/.agentos can't be made"), "{error}");
}

#[test]
fn a_repository_can_not_lead_to_the_global_database() {
    let playground = Playground::new();
    let global = playground.home().join(".agentos");
    fs::create_dir(&global).unwrap();
    fs::write(global.join("issue_workflow.db"), "another program's").unwrap();
    let by_folder = playground.repository("by-folder");
    symlink(&global, by_folder.join(".agentos")).unwrap();
    let by_file = playground.repository("by-file");
    fs::create_dir(by_file.join(".agentos")).unwrap();
    symlink(global.join("issue_workflow.db"), own(&by_file)).unwrap();
    let before = snapshot(&playground.home());
    for root in [by_folder, by_file] {
        let error = refusal(&standing_in(&playground, &root));
        assert!(matches!(error, LocateError::LeadsToGlobal { .. }), "{error:?}");
        let named = with(
            standing_in(&playground, &root),
            "AGENTOS_WORKFLOW_DB",
            "~/.agentos/issue_workflow.db",
        );
        assert_eq!(StateLocation::find(&named).unwrap().why, Why::Named, "the user has named it");
    }
    assert_eq!(snapshot(&playground.home()), before);
}
