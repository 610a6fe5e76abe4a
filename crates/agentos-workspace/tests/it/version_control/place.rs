//! Where a history is, and where there is none.

use agentos_workspace::version_control::git::GitRepository;
use agentos_workspace::version_control::{Halt, VersionControl as _, VersionControlError};

use super::Ground;
use crate::fixture::{standing_in, with};

#[test]
fn a_folder_in_a_repository_is_not_the_repository() {
    let ground = Ground::new();
    let inner = ground.playground.folder("repo/inner");
    let open = |folder: &std::path::Path| {
        let surroundings = standing_in(&ground.playground, folder);
        GitRepository::open(folder, ground.scratch(), surroundings, Halt::default()).map(drop)
    };
    let error = open(&inner).unwrap_err();
    assert!(matches!(error, VersionControlError::NotTheRoot { .. }), "{error}");
    let error = open(&ground.playground.home()).unwrap_err();
    assert!(matches!(error, VersionControlError::NoRepository { .. }), "{error}");
    let jj = ground.playground.folder("jj/.jj");
    let error = open(jj.parent().unwrap()).unwrap_err();
    assert!(matches!(error, VersionControlError::OnlyJj { .. }), "{error}");
    std::os::unix::fs::symlink(&ground.root, ground.playground.at("link")).unwrap();
    open(&ground.playground.at("link")).unwrap();
}

#[test]
fn variables_that_say_where_do_not_lead_elsewhere() {
    let (ground, other) = (Ground::new(), Ground::new());
    other.git(&["switch", "--quiet", "--create", "other"]);
    let surroundings = standing_in(&ground.playground, &ground.root);
    let surroundings = with(surroundings, "GIT_DIR", other.root.join(".git"));
    let surroundings = with(surroundings, "GIT_WORK_TREE", &other.root);
    let surroundings = with(surroundings, "GIT_INDEX_FILE", other.root.join("index"));
    let repository = ground.repository_in(surroundings);
    assert_eq!(repository.current_branch().unwrap().as_deref(), Some("main"));
    ground.write("a", "1\n");
    assert_eq!(repository.stage_all().unwrap().staged, 1);
    assert!(other.status().clean);
}

#[test]
fn a_linked_worktree_has_a_history_of_its_own() {
    let ground = Ground::new();
    ground.git(&["worktree", "add", "--quiet", "-b", "linked", "../linked"]);
    let root = ground.playground.at("linked");
    let surroundings = standing_in(&ground.playground, &root);
    let repository =
        GitRepository::open(&root, ground.scratch(), surroundings, Halt::default()).unwrap();
    std::fs::write(root.join("a"), "1\n").unwrap();
    let made = repository.commit(&super::everything("there"), &super::mark()).unwrap();
    assert_eq!(made.branch.as_deref(), Some("linked"));
    assert_eq!(ground.count(), 1, "the other one stays where it was");
}
