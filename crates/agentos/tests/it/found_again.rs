//! What others do to workspaces, by the real binary: folders deleted, repositories moved, databases lost. Nothing is lost by it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Done, Stand};

struct Yard {
    stand: Stand,
    root: PathBuf,
}

const DETACH: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "detach" }, async (ctx) => {
  await ctx.shell("git checkout -q --detach && echo made > made.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm made");
});
"#;

impl Yard {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("detach.ts"), DETACH).expect("a template");
        stand.git(&root, &["add", "."]);
        stand.git(&root, &["commit", "--quiet", "-m", "workflows"]);
        Self { stand, root }
    }

    fn run(&self, arguments: &[&str]) -> Done {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        let call = self.stand.call_program(program, &self.root, arguments);
        call.without("AGENTOS_WORKSPACE_KIND").done()
    }

    /// Executes a script in a workspace.
    fn inside(&self, id: &str, script: &str) -> PathBuf {
        self.run(&["workspace", "run", id, "--", "sh", "-c", script]).exits(0);
        self.path(id).expect("it is listed")
    }

    fn path(&self, id: &str) -> Option<PathBuf> {
        let listed = self.run(&["workspace", "list", "--json"]).exits(0).document();
        let items = listed["items"].as_array().expect("a list");
        let found = items.iter().find(|row| row["id"] == id)?;
        Some(PathBuf::from(found["path"].as_str().expect("a path")))
    }

    fn configured(&self, text: &str) {
        fs::write(self.root.join(".agent/config.toml"), text).expect("a file");
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        self.stand.git(folder, arguments).trim_end().to_owned()
    }
}

#[test]
fn a_repository_that_was_moved_finds_its_workspaces_and_its_backups() {
    let mut yard = Yard::new();
    let there = yard.inside("there", "echo mine > mine.txt");
    let gone = yard.inside("gone", "echo kept > kept.txt");
    yard.run(&["workspace", "clean", "gone", "--force"]).exits(0);
    let to = yard.stand.at("moved");
    fs::rename(&yard.root, &to).expect("it can be moved");
    yard.root = to.clone();
    assert_eq!(yard.path("there"), Some(there.clone()));
    let status = yard.run(&["workspace", "status"]).exits(0);
    assert!(status.out.contains("1 file with uncommitted changes"), "{status:#?}");
    assert_eq!(yard.inside("there", "cat mine.txt"), there);
    yard.run(&["workspace", "restore", "gone"]).exits(0);
    assert_eq!(fs::read_to_string(gone.join("kept.txt")).expect("it is back"), "kept\n");
    yard.run(&["workspace", "clean", "there"]).exits(4);
    yard.run(&["workspace", "clean", "--all", "--force"]).exits(0);
    assert!(!there.exists() && !gone.exists());
    assert_eq!(yard.git(&to, &["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_database_that_was_deleted_gets_its_workspaces_back() {
    let yard = Yard::new();
    let there = yard.inside("there", "echo mine > mine.txt");
    fs::remove_dir_all(yard.root.join(".agentos")).expect("it is there");
    assert_eq!(yard.path("there"), Some(there.clone()));
    yard.run(&["workspace", "clean", "there"]).exits(4);
    yard.run(&["workspace", "clean", "there", "--force"]).exits(0);
    yard.run(&["workspace", "restore", "there"]).exits(0);
    assert!(there.join("mine.txt").exists());
}

#[test]
fn whoever_deletes_a_folder_is_told_what_was_kept_of_it() {
    let yard = Yard::new();
    let path = yard.inside("box", "echo staged > staged.txt; git add .");
    fs::remove_dir_all(&path).expect("it is there");
    let done = yard.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    assert!(done.err.contains("was gone; it was made again"), "{done:#?}");
    assert!(done.err.contains("agentos workspace restore box 1"), "{done:#?}");
    yard.run(&["workspace", "clean", "box"]).exits(0);
    yard.run(&["workspace", "restore", "box", "1"]).exits(0);
    assert_eq!(yard.git(&path, &["show", ":staged.txt"]), "staged");
}

#[test]
fn a_worktree_of_the_users_that_is_removed_is_no_longer_listed() {
    let yard = Yard::new();
    let mine = yard.stand.at("mine");
    let name = mine.to_string_lossy();
    yard.git(&yard.root, &["worktree", "add", "--quiet", "-b", "feature", &name]);
    yard.run(&["workspace", "adopt", &name]).exits(0);
    assert_eq!(yard.path("mine"), Some(mine.clone()));
    yard.git(&yard.root, &["worktree", "remove", "--force", &name]);
    assert_eq!(yard.path("mine"), None);
}

#[test]
fn backups_go_by_age_and_only_if_so_configured() {
    let yard = Yard::new();
    yard.inside("box", "echo mine > mine.txt");
    yard.run(&["workspace", "clean", "box", "--force"]).exits(0);
    let refs = || yard.git(&yard.root, &["for-each-ref", "--format=%(refname)", "refs/agentos"]);
    yard.configured("[workspace]\nkeep_backups = \"52000w\"\n");
    yard.run(&["workspace", "gc"]).exits(0);
    assert_eq!(refs(), "refs/agentos/backup/box/1");
    // One from long ago, as far as its age is concerned.
    let old = "!GIT_COMMITTER_DATE=2001-01-01T00:00:00Z git commit-tree HEAD^{tree} -m old";
    let old = yard.git(&yard.root, &["-c", &format!("alias.old={old}"), "old"]);
    yard.git(&yard.root, &["update-ref", "refs/agentos/backup/other/1", &old]);
    yard.configured("[workspace]\nkeep_backups = \"52w\"\n");
    let told = yard.run(&["workspace", "gc", "--dry-run"]).exits(0);
    assert!(told.out.contains("refs/agentos/backup/other/1: would be removed"), "{told:#?}");
    assert!(refs().contains("other"));
    yard.run(&["workspace", "gc"]).exits(0);
    assert_eq!(refs(), "refs/agentos/backup/box/1");
    yard.run(&["workspace", "restore", "box"]).exits(0);
}

#[test]
fn a_run_that_ends_on_no_branch_says_so() {
    let yard = Yard::new();
    let done = yard.run(&["run", "detach"]).exits(0);
    assert!(done.err.contains("its work is on no branch, at "), "{done:#?}");
}
