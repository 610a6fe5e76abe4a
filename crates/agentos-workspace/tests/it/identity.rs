//! Who a checkout is, through moves, copies and races.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agentos_testing::repo::Playground;
use agentos_workspace::identity::{Identity, IdentityError, MAIN};
use agentos_workspace::state::PrepareError;
use uuid::Uuid;

use crate::fixture::{checkout, locate};

fn prepared(playground: &Playground, folder: &Path) -> Identity {
    locate(playground, folder).prepare().unwrap().identity
}

#[test]
fn the_main_worktree_is_main_and_others_have_an_id() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    let linked = playground.at("linked");
    assert_eq!(locate(&playground, &linked).identity().unwrap(), None, "nobody has asked for one");
    let (one, other) = (prepared(&playground, &main), prepared(&playground, &linked));
    assert_eq!(one.worktree, MAIN);
    assert!(Uuid::parse_str(&other.worktree).is_ok(), "{other:?}");
    assert_ne!(one.project, other.project, "a project is one checkout");
    assert_eq!(locate(&playground, &linked).identity().unwrap(), Some(other.clone()));
    assert_eq!(prepared(&playground, &linked), other, "it is made once");
    for root in [main, linked] {
        playground.git(&root, ["clean", "-fdxq"]);
        assert!(locate(&playground, &root).identity().unwrap().is_some(), "it survives a clean");
    }
}

#[test]
fn a_moved_checkout_stays_who_it_is() {
    let playground = Playground::new();
    let main = playground.repository("before");
    playground.git(&main, ["worktree", "add", "--quiet", "../tree-before"]);
    let was = prepared(&playground, &main);
    let tree_was = prepared(&playground, &playground.at("tree-before"));
    playground.git(&main, ["worktree", "move", "../tree-before", "../tree-after"]);
    assert_eq!(prepared(&playground, &playground.at("tree-after")), tree_was);
    let after = playground.at("after");
    fs::rename(&main, &after).unwrap();
    assert_eq!(locate(&playground, &after).identity().unwrap(), Some(was.clone()));
    assert_eq!(prepared(&playground, &after), was);
}

#[test]
fn a_copy_becomes_a_project_of_its_own() {
    let playground = Playground::new();
    let original = playground.repository("original");
    let was = prepared(&playground, &original);
    playground.run("cp", &playground.path(), ["-r", "original", "copy"]);
    let copy = playground.at("copy");
    assert_eq!(locate(&playground, &copy).identity().unwrap(), None, "looking makes none");
    let is = prepared(&playground, &copy);
    assert_ne!(is.project, was.project);
    assert_eq!(prepared(&playground, &copy), is);
    assert_eq!(prepared(&playground, &original), was);
}

#[test]
fn a_copy_of_a_linked_worktree_is_refused_by_who_writes() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    prepared(&playground, &playground.at("linked"));
    playground.run("cp", &playground.path(), ["-r", "linked", "copy"]);
    let refused = locate(&playground, &playground.at("copy")).prepare().unwrap_err();
    assert!(
        matches!(refused, PrepareError::Identity(IdentityError::SharedGitDirectory { .. })),
        "{refused:?}"
    );
}

#[test]
fn a_checkout_whose_git_directory_was_made_anew_can_be_who_it_was() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let was = prepared(&playground, &root);
    fs::remove_dir_all(root.join(".git")).unwrap();
    playground.git(&root, ["init", "--quiet"]);
    assert_ne!(prepared(&playground, &root).project, was.project);
    let adopted = Identity::adopt(&checkout(&playground, &root), was.project).unwrap();
    assert_eq!((&adopted, prepared(&playground, &root)), (&was, was.clone()));
}

#[test]
fn a_clone_is_somebody_else() {
    let playground = Playground::new();
    let original = playground.repository("original");
    let was = prepared(&playground, &original);
    playground.git(&playground.path(), ["clone", "--quiet", "original", "clone"]);
    assert_ne!(prepared(&playground, &playground.at("clone")).project, was.project);
}

#[test]
fn all_who_ask_at_once_hear_the_same() {
    let playground = Playground::new();
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    let checkout = checkout(&playground, &playground.at("linked"));
    let heard: BTreeSet<String> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..16).map(|_| scope.spawn(|| Identity::make(&checkout).unwrap().worktree)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(heard.len(), 1, "{heard:?}");
}

#[test]
fn what_a_killed_writer_left_behind_does_no_harm() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let folder = playground.folder("project/.git/agentos");
    for name in ["lock", "checkout.new", "link.new"] {
        fs::write(folder.join(name), "{\"ver").unwrap();
    }
    let is = prepared(&playground, &root);
    assert_eq!(prepared(&playground, &root), is);
    assert!(!folder.join("checkout.new").exists(), "it was used up");
}

#[test]
fn what_can_not_be_understood_is_not_written_over() {
    let playground = Playground::new();
    let root = playground.repository("project");
    prepared(&playground, &root);
    let file = root.join(".git/agentos/checkout.json");
    for (text, says) in [
        ("{\"version\": 2, \"more\": true}", "use the newer program"),
        ("{", "repair it or remove it"),
    ] {
        fs::write(&file, text).unwrap();
        let refused = locate(&playground, &root).prepare().unwrap_err().to_string();
        assert!(refused.contains(says), "{refused}");
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
    }
}

#[test]
fn outside_of_repositories_the_folder_is_the_project() {
    let playground = Playground::new();
    let (one, two) = (playground.folder("one"), playground.folder("two"));
    assert_eq!(prepared(&playground, &one), prepared(&playground, &one));
    assert_ne!(prepared(&playground, &one).project, prepared(&playground, &two).project);
    assert_eq!(
        Identity::of_folder(Path::new("/a/b")).project.to_string(),
        "19604412-39df-8f8e-a81d-273bedb975c8",
        "runs in the global database would belong to nobody"
    );
}
