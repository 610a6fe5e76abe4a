//! git's own variables.

use agentos_testing::repo::Playground;
use agentos_workspace::state::{StateLocation, Why};

use crate::fixture::{database, own, standing_in, with};

#[test]
fn what_a_hook_inherits_does_not_lead_to_another_repository() {
    let playground = Playground::new();
    let hooked = playground.repository("hooked");
    let here = playground.repository("here");
    let deep = playground.folder("here/src");
    for (git_dir, worktree) in [
        (hooked.join(".git").display().to_string(), None),
        (".git".to_owned(), None),
        (hooked.join(".git").display().to_string(), Some(hooked.display().to_string())),
    ] {
        let mut surroundings = with(standing_in(&playground, &deep), "GIT_DIR", git_dir);
        surroundings = with(surroundings, "GIT_INDEX_FILE", hooked.join(".git/index"));
        if let Some(worktree) = worktree {
            surroundings = with(surroundings, "GIT_WORK_TREE", worktree);
        }
        let location = StateLocation::find(&surroundings).unwrap();
        assert_eq!(database(&location), own(&here));
        let explained = location.explain().join("\n");
        assert!(explained.contains("not looked at: the folder decides"), "{explained}");
    }
}

#[test]
fn files_whose_repository_is_only_named_by_variables_are_outside_and_the_notice_says_why() {
    let playground = Playground::new();
    let files = playground.folder("files");
    playground.git(&playground.path(), ["init", "--quiet", "--bare", "dotfiles.git"]);
    let surroundings = with(standing_in(&playground, &files), "GIT_WORK_TREE", &files);
    let surroundings = with(surroundings, "GIT_DIR", playground.at("dotfiles.git"));
    let location = StateLocation::find(&surroundings).unwrap();
    assert_eq!(location.why, Why::Outside);
    let notice = location.notice().unwrap();
    assert!(notice.contains("GIT_DIR and GIT_WORK_TREE are set"), "{notice}");
}

#[test]
fn where_git_is_told_to_stop_looking_it_is_outside() {
    let playground = Playground::new();
    let outer = playground.repository("outer");
    let inside = playground.folder("outer/a/b");
    let ceiling = with(standing_in(&playground, &inside), "GIT_CEILING_DIRECTORIES", &outer);
    let ceiling = StateLocation::find(&ceiling).unwrap();
    assert_eq!(ceiling.why, Why::Outside);
}

#[test]
fn configuration_from_the_environment_is_heard() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let surroundings = with(standing_in(&playground, &root), "GIT_CONFIG_COUNT", "not a number");
    let refused = StateLocation::find(&surroundings).unwrap_err().to_string();
    assert!(refused.contains("GIT_CONFIG_COUNT"), "{refused}");
}
