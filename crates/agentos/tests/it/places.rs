//! Where state lives: each repository and each worktree has its own, and nothing else is touched.

use std::fs;
use std::path::Path;

use agentos_testing::repo::snapshot;

use crate::support::Stand;

const DATABASE: &str = ".agentos/issue_workflow.db";
const BRIEF: [&str; 6] = ["run", "greet", "--name", "Ada", "--brief", "test.md"];

fn with_brief(folder: &Path) {
    fs::write(folder.join("test.md"), "a brief").expect("a file");
}

/// A database of this user that no test may touch.
fn global(stand: &Stand) -> std::path::PathBuf {
    let outside = stand.folder("outside");
    let told = stand.run(&outside, &["run", "greet", "--name", "before"]).exits(0);
    assert!(
        told.err.contains("global database"),
        "whoever uses the global one is told: {}",
        told.err
    );
    let folder = stand.home().join(".agentos");
    assert!(folder.join("issue_workflow.db").exists());
    folder
}

#[test]
fn two_new_repositories_have_each_their_own_database() {
    let stand = Stand::new();
    let home = global(&stand);
    let before = snapshot(&home);
    let (one, two) = (stand.empty_repository("repo1"), stand.empty_repository("repo2"));
    for root in [&one, &two] {
        with_brief(root);
        stand.run(root, &BRIEF).exits(0);
        assert!(root.join(DATABASE).is_file());
        assert_eq!(stand.runs(root).len(), 1);
        assert_eq!(stand.git(root, &["status", "--porcelain"]), "?? test.md\n");
    }
    assert_ne!(stand.runs(&one)[0]["id"], stand.runs(&two)[0]["id"]);
    assert!(before == snapshot(&home), "the global database was touched");
}

#[test]
fn a_variable_names_another_database() {
    let (stand, root) = Stand::with_repository();
    with_brief(&root);
    let custom = stand.at("custom/deep/workflow.db");
    stand.call(&root, &BRIEF).env("AGENTOS_WORKFLOW_DB", &custom).done().exits(0);
    assert!(custom.is_file());
    assert!(!root.join(DATABASE).exists());
    let listing = stand.call(&root, &["status", "--json"]).env("AGENTOS_WORKFLOW_DB", &custom);
    assert_eq!(listing.done().document()["total"], 1);
    // An empty one is none, and `~` is the home.
    stand.call(&root, &BRIEF).env("AGENTOS_WORKFLOW_DB", "").done().exits(0);
    assert!(root.join(DATABASE).is_file());
    let at_home = stand.call(&root, &["db", "path"]).env("AGENTOS_WORKFLOW_DB", "~/mine.db");
    assert_eq!(at_home.done().out.trim_end(), stand.home().join("mine.db").to_string_lossy());
}

/// The runs that are in the folder's own file, of all that are seen from it.
fn own_runs(stand: &Stand, folder: &Path) -> Vec<serde_json::Value> {
    let file = folder.join(DATABASE);
    let all = stand.runs(folder).into_iter();
    all.filter(|run| run["database"] == *file.to_string_lossy()).collect()
}

#[test]
fn a_worktree_has_its_own_database() {
    let (stand, root) = Stand::with_repository();
    let feature = stand.at("repo-feature");
    stand.git(&root, &["worktree", "add", "-q", "-b", "feature", "../repo-feature"]);
    for folder in [&root, &feature] {
        with_brief(folder);
        stand.run(folder, &BRIEF).exits(0);
        assert_eq!(own_runs(&stand, folder).len(), 1);
        assert!(!folder.join(DATABASE).is_symlink() && folder.join(DATABASE).is_file());
        assert_eq!(stand.git(folder, &["status", "--porcelain"]), "?? test.md\n");
    }
    let worktrees =
        [&root, &feature].map(|folder| own_runs(&stand, folder)[0]["worktree_id"].clone());
    assert_eq!(worktrees[0], "main");
    assert_ne!(worktrees[0], worktrees[1]);
}

#[test]
fn commands_that_look_leave_nothing_behind() {
    let (stand, root) = Stand::with_repository();
    let before = snapshot(&stand.at(""));
    for arguments in [
        &["status"][..],
        &["workflows"],
        &["config"],
        &["db", "path", "--explain"],
        &["resume", "--due"],
    ] {
        stand.run(&root, arguments).exits(0);
    }
    for arguments in [&["show", "x"][..], &["logs", "x"], &["cancel", "x"], &["signal", "x", "y"]] {
        stand.run(&root, arguments).exits(3);
    }
    assert!(before == snapshot(&stand.at("")), "something was created");
}

#[test]
fn a_folder_below_the_root_belongs_to_the_repository() {
    let (stand, root) = Stand::with_repository();
    let below = root.join("a/b");
    fs::create_dir_all(&below).unwrap();
    stand.run(&below, &["run", "greet", "--name", "Ada"]).exits(0);
    assert!(root.join(DATABASE).is_file() && !below.join(".agentos").exists());
    assert_eq!(stand.runs(&below), stand.runs(&root));
}

#[test]
fn without_git_there_is_an_error_and_never_the_global_database() {
    let (stand, root) = Stand::with_repository();
    let done = stand.call(&root, &["run", "greet", "--name", "Ada"]).env("PATH", "/nowhere").done();
    let done = done.exits(1);
    assert!(done.err.contains("git"), "{done:#?}");
    assert!(!stand.home().join(".agentos").exists());
}
