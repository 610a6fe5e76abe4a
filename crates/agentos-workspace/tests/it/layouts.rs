//! Every way in which a repository can lie on a disk.

use std::fs;
use std::os::unix::fs::symlink;

use agentos_testing::repo::{Playground, snapshot};
use agentos_workspace::checkout::CheckoutError;
use agentos_workspace::git;
use agentos_workspace::state::{LocateError, StateLocation, Why};

use crate::fixture::{checkout, database, locate, own, refusal, standing_in, with};

#[test]
fn two_fresh_repositories_have_a_database_each() {
    let playground = Playground::new();
    let one = playground.empty_repository("one");
    let two = playground.empty_repository("two");
    let deep = playground.folder("two/src/deep");
    assert_eq!(database(&locate(&playground, &one)), own(&one));
    assert_eq!(database(&locate(&playground, &deep)), own(&two));
    assert_eq!(locate(&playground, &one).why, Why::Checkout);
    assert_eq!(git::head(&standing_in(&playground, &one), &one).unwrap(), None, "no commit yet");
}

#[test]
fn a_linked_worktree_has_a_database_of_its_own_and_the_same_repository() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../project-feature"]);
    let linked = playground.at("project-feature");
    assert_eq!(database(&locate(&playground, &linked)), own(&linked));
    let (one, other) = (checkout(&playground, &main), checkout(&playground, &linked));
    assert_eq!(one.repository, other.repository);
    assert!(one.is_main && !other.is_main);
    let roots: Vec<_> = other.siblings(&standing_in(&playground, &linked)).unwrap();
    let roots: Vec<_> = roots.iter().map(|listed| listed.root.clone()).collect();
    assert_eq!(roots, [main, linked]);
}

#[test]
fn a_worktree_whose_folder_is_gone_is_listed_as_such() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../gone"]);
    fs::remove_dir_all(playground.at("gone")).unwrap();
    let siblings = checkout(&playground, &main).siblings(&standing_in(&playground, &main)).unwrap();
    let gone: Vec<bool> = siblings.iter().map(|listed| listed.is_prunable).collect();
    assert_eq!(gone, [false, true]);
}

#[test]
fn a_repository_inside_a_repository_is_one_of_its_own() {
    let playground = Playground::new();
    let outer = playground.repository("outer");
    let inner = playground.repository("outer/vendor/inner");
    assert_eq!(database(&locate(&playground, &inner)), own(&inner));
    assert_eq!(database(&locate(&playground, &outer.join("vendor"))), own(&outer));
}

#[test]
fn a_submodule_is_a_checkout_of_its_own() {
    let playground = Playground::new();
    let library = playground.repository("library");
    let project = playground.repository("project");
    let add = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add"];
    let from = library.display().to_string();
    playground.git(&project, add.into_iter().chain([from.as_str(), "lib"]));
    let sub = project.join("lib");
    let found = checkout(&playground, &sub);
    assert_eq!((found.root.as_path(), found.is_main), (sub.as_path(), true));
    assert_ne!(found.repository, checkout(&playground, &project).repository);
    assert_eq!(database(&locate(&playground, &sub)), own(&sub));
    let surroundings = standing_in(&playground, &sub);
    assert_eq!(git::superproject(&surroundings, &sub).unwrap(), Some(project.clone()));
    assert_eq!(git::superproject(&surroundings, &project).unwrap(), None);
    let siblings = found.siblings(&surroundings).unwrap();
    assert_eq!(siblings.len(), 1, "{siblings:?}");
    assert_eq!(siblings[0].root, sub, "the worktree, and not the git directory that git lists");
}

#[test]
fn a_symbolic_link_leads_to_the_same_database() {
    let playground = Playground::new();
    let root = playground.repository("real");
    playground.folder("real/src");
    symlink(root.join("src"), playground.at("shortcut")).unwrap();
    assert_eq!(database(&locate(&playground, &playground.at("shortcut"))), own(&root));
}

#[test]
fn in_a_bare_layout_each_worktree_has_its_own_and_the_repository_itself_none() {
    let playground = Playground::new();
    let source = playground.repository("source");
    let layout = playground.folder("layout");
    let from = source.display().to_string();
    playground.git(&layout, ["clone", "--quiet", "--bare", from.as_str(), ".bare"]);
    fs::write(layout.join(".git"), "gitdir: ./.bare\n").unwrap();
    playground.git(&layout, ["worktree", "add", "--quiet", "tree"]);
    let tree = layout.join("tree");
    let found = checkout(&playground, &tree);
    assert_eq!(found.repository, layout.join(".bare"));
    assert!(!found.is_main, "there is no main one");
    assert_eq!(database(&locate(&playground, &tree)), own(&tree));
    let careful = with(standing_in(&playground, &tree), "GIT_CONFIG_COUNT", "1");
    let careful = with(careful, "GIT_CONFIG_KEY_0", "safe.bareRepository");
    let careful = with(careful, "GIT_CONFIG_VALUE_0", "explicit");
    let siblings = found.siblings(&careful).unwrap();
    assert_eq!(siblings.len(), 1, "the bare one is no checkout: {siblings:?}");
    for inside in [layout.clone(), layout.join(".bare"), layout.join(".bare/refs")] {
        let refused = refusal(&standing_in(&playground, &inside));
        let LocateError::Checkout(refused) = refused else { panic!("{refused:?}") };
        assert!(matches!(*refused, CheckoutError::Bare { .. }), "{refused:?}");
        assert!(refused.to_string().contains("change into one of its worktrees"));
    }
}

#[test]
fn from_inside_a_git_directory_its_worktree_is_found() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    assert_eq!(database(&locate(&playground, &main.join(".git/refs"))), own(&main));
    let private = main.join(".git/worktrees/linked");
    assert_eq!(database(&locate(&playground, &private)), own(&playground.at("linked")));
}

#[test]
fn a_git_directory_elsewhere_makes_no_difference() {
    let playground = Playground::new();
    let root = playground.folder("project");
    let elsewhere = playground.at("elsewhere.git");
    let option = format!("--separate-git-dir={}", elsewhere.display());
    playground.git(&root, ["init", "--quiet", option.as_str()]);
    let found = checkout(&playground, &root);
    assert_eq!((found.root.clone(), found.private.clone()), (root.clone(), elsewhere.clone()));
    assert!(found.is_main);
    let siblings = found.siblings(&standing_in(&playground, &root)).unwrap();
    assert_eq!(siblings[0].root, root, "{siblings:?}");
    assert_eq!(siblings.len(), 1, "{siblings:?}");
}

#[test]
fn outside_of_every_repository_it_is_the_global_one_with_a_notice() {
    let playground = Playground::new();
    let folder = playground.folder("plain");
    let location = locate(&playground, &folder);
    let global = own(&playground.home());
    assert_eq!((database(&location), location.why), (global.clone(), Why::Outside));
    assert_eq!(location.project_path().unwrap(), folder);
    let notice = location.notice().unwrap();
    assert!(notice.contains(global.to_str().unwrap()) && !notice.contains('\n'), "{notice}");
}

#[test]
fn if_the_home_is_a_repository_its_own_database_is_the_global_one() {
    let playground = Playground::new();
    playground.git(&playground.home(), ["init", "--quiet"]);
    let location = locate(&playground, &playground.home());
    assert_eq!(location.why, Why::Checkout);
    assert_eq!(database(&location), own(&playground.home()));
    assert!(location.explain().iter().any(|line| line.contains("the home is this repository")));
}

#[test]
fn looking_creates_nothing() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    playground.folder("plain");
    let before = snapshot(&playground.path());
    for folder in ["project", "linked", "plain", "project/.git"] {
        let surroundings = standing_in(&playground, &playground.at(folder));
        let location = StateLocation::find(&surroundings).unwrap();
        assert!(!location.explain().is_empty());
        location.identity().unwrap();
        if let Ok(Some(checkout)) = &location.checkout {
            checkout.siblings(&surroundings).unwrap();
        }
    }
    assert_eq!(snapshot(&playground.path()), before);
}
