//! jj workspaces. Their folders are made by hand as jj makes them, and by jj itself where it is installed.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentos_testing::jj;
use agentos_testing::repo::Playground;
use agentos_workspace::checkout::{Checkout, CheckoutError, Kind};
use agentos_workspace::identity::MAIN;
use agentos_workspace::workspace::Kind as Workspaces;
use agentos_workspace::workspace::points::NoPoints;

use crate::fixture::{checkout, database, locate, own, standing_in, with};
use crate::place::{Ground, Place};

/// A repository as `jj git init` makes it: the git repository lies in `.jj`, unless it is beside it.
fn jj_repository(playground: &Playground, relative: &str, is_colocated: bool) -> PathBuf {
    let root = playground.folder(relative);
    let store = playground.folder(&format!("{relative}/.jj/repo/store"));
    let target = if is_colocated {
        playground.git(&root, ["init", "--quiet"]);
        "../../../.git"
    } else {
        playground.git(&store, ["init", "--quiet", "--bare", "git"]);
        "git"
    };
    fs::write(store.join("git_target"), target).unwrap();
    root
}

/// A workspace as `jj workspace add` makes it.
fn jj_workspace(playground: &Playground, relative: &str, repository: &str) -> PathBuf {
    let root = playground.folder(relative);
    fs::create_dir(root.join(".jj")).unwrap();
    fs::write(root.join(".jj/repo"), repository).unwrap();
    root
}

#[test]
fn a_jj_repository_without_git_beside_it_needs_no_git() {
    let playground = Playground::new();
    let root = jj_repository(&playground, "project", false);
    let deep = playground.folder("project/src");
    let surroundings = with(standing_in(&playground, &deep), "PATH", "/nowhere");
    let found = Checkout::find(&surroundings).unwrap().unwrap();
    assert_eq!((found.root.as_path(), found.kind), (root.as_path(), Kind::Jj));
    assert_eq!(found.repository, root.join(".jj/repo/store/git"));
    assert!(found.is_main);
    assert_eq!(database(&locate(&playground, &deep)), own(&root));
}

#[test]
fn a_colocated_one_is_gits() {
    let playground = Playground::new();
    let root = jj_repository(&playground, "project", true);
    let found = checkout(&playground, &root);
    assert_eq!((found.kind, found.private), (Kind::Git, root.join(".git")));
}

#[test]
fn an_added_workspace_has_its_own_database_and_the_same_repository() {
    let playground = Playground::new();
    for is_colocated in [true, false] {
        let name = format!("project-{is_colocated}");
        let main = jj_repository(&playground, &name, is_colocated);
        let relative = format!("../../{name}/.jj/repo");
        let absolute = main.join(".jj/repo").display().to_string();
        for (index, link) in [relative, absolute].iter().enumerate() {
            let workspace = jj_workspace(&playground, &format!("{name}-{index}"), link);
            let found = checkout(&playground, &workspace);
            assert_eq!(found.repository, checkout(&playground, &main).repository);
            assert!(!found.is_main);
            let siblings = found.siblings(&standing_in(&playground, &workspace)).unwrap();
            let roots: Vec<&Path> = siblings.iter().map(|listed| listed.root.as_path()).collect();
            assert_eq!(roots, [&main, &workspace]);
            let location = locate(&playground, &workspace);
            assert_eq!(database(&location), own(&workspace));
            let identity = location.prepare().unwrap().identity;
            assert_ne!(identity.worktree, MAIN);
            assert!(workspace.join(".jj/agentos/checkout.json").is_file());
        }
    }
}

#[test]
fn the_nearest_root_counts_whose_ever_it_is() {
    let playground = Playground::new();
    let git = playground.repository("outer");
    let jj = jj_repository(&playground, "outer/jj", false);
    let inner = playground.repository("outer/jj/vendor");
    assert_eq!(database(&locate(&playground, &git)), own(&git));
    assert_eq!(database(&locate(&playground, &jj)), own(&jj));
    assert_eq!(database(&locate(&playground, &inner)), own(&inner));
}

#[test]
fn a_workspace_whose_repository_is_gone_is_an_error() {
    let playground = Playground::new();
    let workspace = jj_workspace(&playground, "workspace", "../../gone/.jj/repo");
    let refused = Checkout::find(&standing_in(&playground, &workspace)).unwrap_err();
    assert!(matches!(refused, CheckoutError::Jj(_)), "{refused:?}");
    assert!(refused.to_string().contains("whose repository can't be found"), "{refused}");
}

#[test]
fn what_jj_itself_makes_is_understood() {
    let playground = Playground::new();
    let main = playground.folder("project");
    jj::run(&playground, &main, &["git", "init", "--no-colocate"]);
    jj::run(&playground, &main, &["workspace", "add", "../added"]);
    let added = playground.at("added");
    let told = jj::run(&playground, &added, &["root"]);
    let found = checkout(&playground, &added);
    assert_eq!(found.root, Path::new(told.trim_end()));
    assert_eq!(found.repository, checkout(&playground, &main).repository);
    assert!(!found.is_main);
}

/// A jj of a newer version, as far as it matters: it says so, and knows the option.
fn newer(place: &Place) -> (PathBuf, PathBuf) {
    let folder = place.playground.folder("newer");
    let (real, said) = (jj::folder().join("jj"), folder.join("said"));
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *--version) echo jj 0.46.0; exit;; esac\nall=\"$*\"\nfor word do\n  shift\n  \
         [ \"$word\" = --colocate ] && {{ echo \"$all\" >> {}; continue; }}\n  set -- \"$@\" \"$word\"\ndone\n\
         exec {} \"$@\"\n",
        said.display(),
        real.display()
    );
    let path = folder.join("jj");
    fs::write(&path, script).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    (folder, said)
}

#[test]
fn a_jj_that_can_is_asked_for_a_git_in_the_workspace() {
    let place = Place::new(Workspaces::Jj);
    place.open("old");
    let (folder, said) = newer(&place);
    let mut environment = jj::environment(&place.playground);
    let path = environment.remove("PATH".as_ref() as &std::ffi::OsStr).unwrap();
    let folders = std::iter::once(folder).chain(std::env::split_paths(&path));
    environment.insert("PATH".into(), std::env::join_paths(folders).unwrap());
    let ground = Ground::with(&place.playground.path(), &place.repo, environment);
    ground.open(&place.wanted("new"), &NoPoints).unwrap();
    let said = fs::read_to_string(said).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains("workspace add --name new"), "{said}");
}
