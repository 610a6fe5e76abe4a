//! What a new workspace is.

use std::fs;
use std::path::Path;

use agentos_workspace::metadata::{Document, Status};
use agentos_workspace::state::{StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::isolation;
use agentos_workspace::workspace::marker::{FolderIdentity, Marker};
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::verify::verify;
use agentos_workspace::workspace::yard::Opened;
use agentos_workspace::workspace::{Kind, State};

use crate::place::{Ground, Place};

pub(crate) fn a_workspace_is_a_checkout_of_the_base_on_a_branch_of_its_own(place: &Place) {
    let head = place.git(&place.repo, &["rev-parse", "HEAD"]);
    let (made, opened) = place.open("fix-1");
    assert_eq!((opened, made.state, made.kind), (Opened::Made, State::Ready, place.kind));
    assert_eq!((made.base.as_str(), made.branch.as_deref()), (&*head, Some("agentos/fix-1")));
    assert_eq!(fs::read_to_string(made.path.join("README.md")).unwrap(), "# It\n");
    assert_eq!(made.path, place.ground().yard(&NoPoints).path_of(&made.id));
    assert_eq!(made.folder, FolderIdentity::of(&made.path));
    assert!(made.is_branch_ours && !made.is_adopted);
    let ground = place.ground();
    let found = verify(&ground.surroundings, &made).unwrap();
    assert_eq!(Marker::load(&found.private).unwrap().unwrap().nonce, made.nonce);
    let site = ground.site(None);
    assert_eq!(isolation::of(place.kind).head(&site, &made).unwrap().as_ref(), Some(&head));
    match place.kind {
        Kind::Jj => assert!(!made.path.join(".git").exists(), "until jj 0.46 there is none"),
        _ => assert_eq!(place.git(&made.path, &["branch", "--show-current"]), "agentos/fix-1"),
    }
}

pub(crate) fn nothing_of_ours_is_seen_by_whoever_looks_for_changes(place: &Place) {
    let (made, _) = place.open("fix-1");
    assert_eq!(place.changes(&made.path), "");
    assert_eq!(place.changes(&place.repo), "");
    let document = Document::load(&made.path).unwrap().unwrap();
    assert_eq!((document.status, document.kind), (Status::Ready, place.kind));
    assert_eq!(document.created_at, "2026-11-15T13:26:26.123Z");
    assert_eq!(document.repo_root, place.repo.to_string_lossy());
    let written = fs::read_to_string(made.path.join(".agent-workflow.json")).unwrap();
    let keys = [
        "workspace_id",
        "workflow",
        "run_id",
        "status",
        "kind",
        "repo_root",
        "database",
        "base",
        "branch",
        "command",
        "created_at",
        "started_at",
        "finished_at",
        "exit_code",
        "error",
    ];
    let written: serde_json::Value = serde_json::from_str(&written).unwrap();
    let mut found: Vec<&String> = written.as_object().unwrap().keys().collect();
    found.sort();
    let mut keys: Vec<String> = keys.iter().map(ToString::to_string).collect();
    keys.sort();
    assert_eq!(found, keys.iter().collect::<Vec<_>>());
}

pub(crate) fn changes_in_the_checkout_are_not_taken_along(place: &Place) {
    fs::write(place.repo.join("README.md"), "# Changed\n").unwrap();
    fs::write(place.repo.join("new.txt"), "new").unwrap();
    let (made, _) = place.open("fix-1");
    assert_eq!(fs::read_to_string(made.path.join("README.md")).unwrap(), "# It\n");
    assert!(!made.path.join("new.txt").exists());
    assert_eq!(fs::read_to_string(place.repo.join("README.md")).unwrap(), "# Changed\n");
}

pub(crate) fn a_base_may_be_named(place: &Place) {
    let first = place.git(&place.repo, &["rev-parse", "HEAD"]);
    fs::write(place.repo.join("second.txt"), "2").unwrap();
    match place.kind {
        Kind::Jj => drop(place.jj(&place.repo, &["commit", "-m", "second"])),
        _ => {
            place.git(&place.repo, &["add", "."]);
            place.git(&place.repo, &["commit", "--quiet", "-m", "second"]);
        }
    }
    let (made, _) = place.open("new");
    assert!(made.path.join("second.txt").exists());
    let wanted = agentos_workspace::workspace::yard::Wanted {
        base: Some(first.clone()),
        ..place.wanted("old")
    };
    let (made, _) = place.try_open(&wanted).unwrap();
    assert_eq!(made.base, first);
    assert!(!made.path.join("second.txt").exists());
}

pub(crate) fn somebody_inside_finds_the_makers_database(place: &Place) {
    let (made, _) = place.open("fix-1");
    let database = place.playground.at("runs.db");
    fs::create_dir(made.path.join("deep")).unwrap();
    let standing = |folder: &Path, more: &[(&str, &Path)]| {
        let mut surroundings: Surroundings = place.ground().surroundings;
        surroundings.cwd = Some(folder.to_owned());
        for (name, value) in more {
            surroundings.environment.insert(name.into(), value.into());
        }
        StateLocation::find(&surroundings).unwrap()
    };
    let found = standing(&made.path.join("deep"), &[]);
    assert_eq!((found.why, found.database.file()), (Why::Linked, Some(&*database)));
    assert_eq!(found.workspace_id.as_deref(), Some("fix-1"));
    let metadata = made.path.join(".agent-workflow.json");
    let found = standing(&made.path, &[("AGENT_WORKSPACE_METADATA", &metadata)]);
    assert_eq!((found.why, found.database.file()), (Why::Workspace, Some(&*database)));
    assert_eq!(fs::read_link(made.path.join(".agentos/issue_workflow.db")).unwrap(), database);
    // `git clean -fdx` takes the link, and no second history begins.
    fs::remove_dir_all(made.path.join(".agentos")).unwrap();
    assert_eq!(standing(&made.path, &[]).database.file(), Some(&*database));
}

pub(crate) fn a_git_dir_in_the_environment_changes_nothing(place: &Place) {
    let other = place.playground.repository("other");
    let before = agentos_testing::repo::snapshot(&other);
    let mut environment = place.ground().surroundings.environment;
    environment.insert("GIT_DIR".into(), other.join(".git").into());
    environment.insert("GIT_WORK_TREE".into(), other.clone().into());
    environment.insert("GIT_INDEX_FILE".into(), other.join(".git/index").into());
    let ground = Ground::with(&place.playground.path(), &place.repo, environment);
    let (made, _) = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap();
    assert!(made.path.join("README.md").exists());
    assert_eq!(agentos_testing::repo::snapshot(&other), before);
    let bare = place.git(&place.repo, &["config", "core.bare"]);
    assert_eq!(bare, "false");
}

pub(crate) fn all_checkouts_of_a_repository_have_one_namespace(place: &Place) {
    let (first, _) = place.open("first");
    let second = Ground::new(&place.playground.path(), &first.path);
    let from_inside = second.yard(&NoPoints).path_of(&"second".parse().unwrap());
    if place.kind == Kind::Clone {
        // A clone is a repository of its own; whoever makes workspaces inside asks for its maker's.
        return assert_ne!(from_inside.parent(), first.path.parent());
    }
    assert_eq!(from_inside.parent(), first.path.parent());
    let (made, _) = second.open(&place.wanted("second"), &NoPoints).unwrap();
    assert_eq!(made.repository, first.repository);
    assert!(made.path.join("README.md").exists());
}

pub(crate) fn work_on_the_branch_comes_into_the_repository(place: &Place) {
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "work.txt");
    let ground = place.ground();
    let lock = ground.repository.lock().unwrap();
    let site = ground.site(Some(&lock));
    for _ in 0..2 {
        isolation::of(place.kind).collect(&site, &made).unwrap();
        let shown = place.git(&place.repo, &["show", "agentos/fix-1:work.txt"]);
        assert_eq!(shown, "work.txt");
    }
}
