//! Runs that go on in another database are shown as that, and every refusal names a command that helps.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::{DATABASE, Pair};
use crate::server::stage::{Server, template};
use crate::support::{Done, Stand, wait_until};

const LISTENS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "listens" }, async (ctx) => {
  await ctx.run("make", async (ctx) => ctx.files.write("made.txt", "made\n"));
  return await ctx.waitFor("go");
});"#;

/// Two repositories; in the first one a run in a workspace waits for an event, and no process drives it.
struct Repositories {
    stand: Stand,
    one: PathBuf,
    two: PathBuf,
}

impl Repositories {
    fn new() -> Self {
        let stand = Stand::new();
        let (one, two) = (stand.repository("one"), stand.repository("two"));
        let all = Self { stand, one, two };
        template(&all.one, "listens", LISTENS);
        all.run(&all.one, &["run", "listens", "--workspace", "worktree", "--detach"]).exits(0);
        wait_until("it waits", || all.show(&all.one)["waiting"]["kind"] == "signal");
        all.stand.kill_executors();
        wait_until("no process is at work", || all.stand.processes().is_empty());
        all
    }

    fn run(&self, root: &Path, arguments: &[&str]) -> Done {
        self.stand.run(root, arguments)
    }

    fn show(&self, root: &Path) -> Value {
        self.run(root, &["show", "listens", "--json"]).exits(0).document()
    }

    /// Copies what is in the first repository's database into that of the second.
    fn copy(&self, arguments: &[&str]) {
        let from = self.one.join(DATABASE);
        let words = ["db", "migrate", "--from", from.to_str().expect("text")];
        self.run(&self.two, &[&words[..], arguments].concat()).exits(0);
    }

    /// The run is shown in a repository as one that goes on in the database of the other, and counts for nothing there.
    fn shows(&self, root: &Path, reason: &str, other: &Path) {
        let other = other.join(DATABASE).canonicalize().expect("it is there");
        let elsewhere = json!({ "reason": reason, "database": other });
        let words = match reason {
            "moved" => format!("moved to {}", other.display()),
            _ => format!("held, goes on in {}", other.display()),
        };
        let rows = self.stand.runs(root);
        for run in [&rows[0], &self.show(root)] {
            assert_eq!(run["elsewhere"], elsewhere, "{run}");
            assert_eq!((&run["waiting"], &run["interrupted"]), (&Value::Null, &json!(false)));
        }
        for command in [&["status"][..], &["show", "listens"], &["workspace", "list"]] {
            let told = self.run(root, command).exits(0).out;
            assert!(told.contains(&words), "{command:?}: {told}");
        }
        let workspaces = self.run(root, &["workspace", "list", "--json"]).exits(0).document();
        assert_eq!(workspaces["items"][0]["elsewhere"], elsewhere, "{workspaces}");
        let check = self.run(root, &["db", "check", "--json"]).exits(0).document();
        assert_eq!((&check["runs"], &check["interrupted"]), (&json!(1), &json!(0)), "{check}");
        let server = Server::start(&self.stand, root);
        let id = rows[0]["id"].as_str().expect("an id");
        let shown = server.get(&format!("/api/executions/{id}")).is(200).json();
        assert_eq!(shown["elsewhere"], elsewhere);
        let listed = server.get("/api/executions?waiting=signal,approval").is(200).json();
        assert_eq!(listed["total"], 0, "{listed}");
        let totals = server.get("/api/totals").is(200).json();
        assert!(totals["runs"]["RUNNING"].as_u64().is_none_or(|count| count == 0), "{totals}");
        assert!(totals["waiting"]["signal"].as_u64().is_none_or(|count| count == 0), "{totals}");
        let workspaces = server.get("/api/workspaces").is(200).json();
        assert_eq!(workspaces["items"][0]["elsewhere"], elsewhere, "{workspaces}");
        server.stop();
    }

    /// Neither the workspace can be removed nor the run be ended, and the refusals name this command. Nor can it be resumed.
    fn refuses(&self, root: &Path, command: &str) {
        let workspace = self.show(root)["workspace_id"].as_str().expect("an id").to_owned();
        let clean = self.run(root, &["workspace", "clean", &workspace]).exits(4);
        assert!(clean.out.contains(command), "{clean:#?}");
        assert!(!clean.out.contains("`agentos cancel"), "it would be refused: {clean:#?}");
        for arguments in [
            &["cancel", "listens"][..],
            &["resume", "listens"],
            &["resume", "listens", "--latest"],
            &["resume", "listens", "--latest", "--dry-run"],
        ] {
            let refused = self.run(root, arguments).exits(4);
            assert!(refused.err.contains(command), "{refused:#?}");
        }
    }
}

#[test]
fn a_run_that_was_moved_is_shown_where_it_was_until_it_is_brought_up_to_date() {
    let all = Repositories::new();
    let (one, two) = (&all.one, &all.two);
    all.copy(&["--move"]);
    all.shows(one, "moved", two);
    assert_eq!(all.show(two)["elsewhere"], Value::Null);
    let database = two.join(DATABASE).canonicalize().expect("it is there");
    let database = database.to_str().expect("text");
    all.refuses(one, &format!("AGENTOS_WORKFLOW_DB={database} agentos resume"));

    // What it has done can be seen there, though it works in the other repository.
    let diff = all.run(two, &["diff", "listens", "--stat"]).exits(0).out;
    assert!(diff.contains("made.txt"), "{diff}");
    let fork = all.run(two, &["fork", "listens", "--from-step", "make"]).exits(4).err;
    let place = one.canonicalize().expect("it is there");
    assert!(fork.contains(&format!("cd {}", place.display())), "{fork}");

    all.run(two, &["signal", "listens", "go", "1"]).exits(0);
    wait_until("it is done there", || all.show(two)["status"] == "COMPLETED");
    let migrate = format!("agentos db migrate --from {database}");
    all.refuses(one, &migrate);
    all.run(one, &["db", "migrate", "--from", database]).exits(0);
    let after = all.show(one);
    assert_eq!((&after["status"], &after["elsewhere"]), (&json!("COMPLETED"), &Value::Null));
    wait_until("no process is at work", || all.stand.processes().is_empty());
}

#[test]
fn a_held_copy_is_shown_as_one() {
    let all = Repositories::new();
    let (one, two) = (&all.one, &all.two);
    all.copy(&[]);
    all.shows(two, "copy", one);
    assert_eq!(all.show(one)["elsewhere"], Value::Null);
    assert_eq!(all.show(one)["waiting"]["kind"], "signal");
    let from = one.join(DATABASE).canonicalize().expect("it is there");
    all.refuses(two, &format!("agentos db migrate --move --from {}", from.display()));
    let fork = all.run(two, &["fork", "listens", "--from-step", "make"]).exits(4).err;
    assert!(fork.contains(&format!("AGENTOS_WORKFLOW_DB={}", from.display())), "{fork}");
    wait_until("no process is at work", || all.stand.processes().is_empty());
}

#[test]
fn of_two_worktrees_that_have_a_run_that_is_shown_from_which_it_goes_on() {
    let pair = Pair::new();
    let (stand, main, side) = (&pair.stand, &pair.main, &pair.side);
    stand.run(main, &["run", "listen", "--detach"]).exits(0);
    wait_until("it waits", || stand.runs(main)[0]["waiting"]["kind"] == "signal");
    stand.kill_executors();
    wait_until("no process is at work", || stand.processes().is_empty());
    let from = main.join(DATABASE);
    let from = from.to_str().expect("text");
    stand.run(side, &["db", "migrate", "--from", from, "--move"]).exits(0);
    for folder in [main, side] {
        let rows = stand.runs(folder);
        assert_eq!((rows.len(), &rows[0]["elsewhere"]), (1, &Value::Null), "{rows:?}");
        assert_eq!(rows[0]["waiting"]["kind"], "signal");
    }
    stand.run(main, &["signal", "listen", "go", "1"]).exits(0);
    wait_until("it is done", || stand.runs(main)[0]["status"] == "COMPLETED");
    wait_until("no process is at work", || stand.processes().is_empty());
}
