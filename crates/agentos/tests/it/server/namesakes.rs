//! Workspaces of one id in several projects, and databases that can't tell theirs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::damaged::names;
use super::stage::{Server, id, template};
use crate::support::{Stand, sqlite};

const DATABASE: &str = ".agentos/issue_workflow.db";

const WORKS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "works" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one\n"); });
});"#;

/// Two projects of one server.
struct Pair {
    server: Server,
    first: String,
    second: String,
}

impl Pair {
    fn new(stand: &Stand, root: &Path, other: &Path) -> Self {
        let server = Server::start(stand, root);
        let first = server.project();
        let second = id(&server.post("/api/projects", &json!({ "path": other })).is(201).json());
        assert_ne!(first, second);
        Self { server, first, second }
    }

    /// A run that has worked in the workspace `tidy` of its project, and where that is.
    fn tidy(&self, project: &str) -> PathBuf {
        let order =
            json!({ "workspace": { "kind": "worktree", "id": "tidy" }, "projectId": project });
        let run = self.server.post("/api/workflows/works/execute", &order).is(201).json();
        let run = self.server.until_status(&id(&run), "COMPLETED");
        let folder = PathBuf::from(run["workspace_dir"].as_str().expect("a folder"));
        assert!(folder.join("made.txt").exists());
        folder
    }

    #[track_caller]
    fn is_told_as_ambiguous(&self, problem: &Value) {
        let hint = problem["hint"].as_str().expect("a hint");
        for part in ["?projectId=", &self.first, &self.second] {
            assert!(hint.contains(part), "{problem}");
        }
    }
}

#[test]
fn of_several_workspaces_of_one_id_the_one_is_dealt_with_whose_project_is_named() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    template(&root, "works", WORKS);
    template(&other, "works", WORKS);
    let pair = Pair::new(&stand, &root, &other);
    let (ours, theirs) = (pair.tidy(&pair.first), pair.tidy(&pair.second));
    assert_ne!(ours, theirs);
    let Pair { server, first, second } = &pair;
    let force = json!({ "force": true });
    let of = |deed: &str, project: &str| format!("/api/workspaces/tidy{deed}?projectId={project}");

    pair.is_told_as_ambiguous(&server.get("/api/workspaces/tidy").refuses("ambiguous-workspace"));
    let clean = server.post("/api/workspaces/tidy/clean", &force).refuses("ambiguous-workspace");
    pair.is_told_as_ambiguous(&clean);
    let restore = server.post("/api/workspaces/tidy/restore", &json!({}));
    pair.is_told_as_ambiguous(&restore.refuses("ambiguous-workspace"));
    assert!(ours.exists() && theirs.exists(), "nothing was done");
    for (project, folder) in [(first, &ours), (second, &theirs)] {
        let shown = server.get(&of("", project)).is(200).json();
        assert_eq!((&shown["project_id"], &shown["path"]), (&json!(project), &json!(folder)));
    }

    server.post(&of("/clean", second), &force).is(200);
    assert!(ours.exists() && !theirs.exists(), "only the one that is named");
    server.post(&of("/clean", second), &force).refuses("workspace-gone");
    assert_eq!(server.get(&of("", second)).is(200).json()["status"], "gone");
    // One is there, and one is gone: so it is clear which one is meant.
    assert_eq!(server.get("/api/workspaces/tidy").is(200).json()["project_id"], first.as_str());
    server.post("/api/workspaces/tidy/restore", &json!({})).is(200);
    assert!(theirs.join("made.txt").exists(), "it is back where it was");
    server.post(&of("/clean", first), &force).is(200);
    server.post("/api/workspaces/tidy/clean", &force).is(200);
    assert!(!ours.exists() && !theirs.exists());
    server.post("/api/workspaces/tidy/restore", &json!({})).refuses("ambiguous-workspace");
    server.post(&of("/restore", first), &json!({})).is(200);
    assert!(ours.join("made.txt").exists() && !theirs.exists());

    let nobody = "0190b6a4-0000-7000-8000-000000000000";
    server.get(&of("", nobody)).refuses("unknown-workspace");
    server.get(&of("", "mine")).refuses("wrong-parameter");
    server.get("/api/workspaces/tidy?all=true").refuses("wrong-parameter");
    pair.server.stop();
}

#[test]
fn a_workspace_is_found_by_each_of_the_checkouts_that_share_its_database() {
    let (stand, root) = Stand::with_repository();
    let side = linked(&stand, &root);
    template(&side, "works", WORKS);
    let pair = Pair::new(&stand, &root, &side);
    let folder = pair.tidy(&pair.second);
    let Pair { server, first, second } = &pair;
    let of = |deed: &str, project: &str| format!("/api/workspaces/tidy{deed}?projectId={project}");
    server.post(&of("/clean", second), &json!({ "force": true })).is(200);
    assert!(!folder.exists());
    server.post(&of("/restore", second), &json!({})).is(200);
    assert!(folder.join("made.txt").exists(), "it is back");
    for project in [second, first] {
        let shown = server.get(&of("", project)).is(200).json();
        assert_eq!(shown["path"], json!(folder), "whoever asks: {shown}");
    }
    pair.server.stop();
}

/// A second worktree of the repository that uses the database of the first.
fn linked(stand: &Stand, root: &Path) -> PathBuf {
    stand.run(root, &["run", "greet", "--name", "Ada"]).exits(0);
    stand.git(root, &["worktree", "add", "-q", "-b", "side", "../side"]);
    let side = stand.at("side");
    stand.run(&side, &["db", "link"]).exits(0);
    side
}

#[test]
fn a_database_that_could_not_be_opened_is_named_with_the_workspaces_of_the_others() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    template(&root, "works", WORKS);
    let pair = Pair::new(&stand, &root, &other);
    pair.tidy(&pair.first);
    let first = pair.first.clone();
    pair.server.stop();
    let database = other.join(DATABASE);
    fs::write(&database, b"no database at all ".repeat(500)).expect("a file");
    let server = Server::start(&stand, &root);
    for query in ["", &format!("?projectId={first}"), "?all=true"] {
        let listed = server.get(&format!("/api/workspaces{query}")).is(200).json();
        assert_eq!(listed["items"][0]["id"], "tidy", "{listed}");
        assert_eq!(listed["unreadable"].as_array().map(Vec::len), Some(1), "once: {listed}");
        assert_eq!(listed["unreadable"][0]["path"], json!(database));
    }
    let runs = server.get("/api/executions").is(200).json();
    let workspaces = server.get("/api/workspaces").is(200).json();
    assert_eq!(workspaces["unreadable"], runs["unreadable"], "as for runs");
    server.stop();
}

#[test]
fn a_database_that_two_checkouts_share_and_nobody_can_read_is_told_to_both() {
    let (stand, root) = Stand::with_repository();
    let side = linked(&stand, &root);
    let Pair { server, first, second } = Pair::new(&stand, &root, &side);
    let database = root.join(DATABASE);
    sqlite(&database, include_str!("sql/lost_tables.sql"));
    for project in [first, second] {
        let refused = server.get(&format!("/api/workspaces?projectId={project}"));
        names(&refused.refuses("database-unusable")["detail"], &database);
    }
    let listed = server.get("/api/workspaces").is(200).json();
    assert_eq!(listed["unreadable"].as_array().map(Vec::len), Some(1), "once: {listed}");
    names(&listed["unreadable"], &database);
    server.stop();
}
