//! Runs in workspaces of their own, by the real binary.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Call, Done, Stand, name};

/// A repository with a workflow that works.
struct Yard {
    stand: Stand,
    root: PathBuf,
}

const WORK: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "work" }, async (ctx) => {
  const seen = await ctx.shell("pwd; printenv AGENT_WORKSPACE_ID AGENT_WORKSPACE_PATH AGENT_WORKSPACE_METADATA AGENT_WORKSPACE_REPO_ROOT; ls");
  await ctx.shell("echo made > made.txt && git add made.txt && git -c user.name=a -c user.email=a@b commit -qm made");
  return { seen: seen.stdout, workspace: ctx.workspacePath };
});
"#;

const WAIT: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "wait" }, async (ctx) => {
  await ctx.shell("echo before > before.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm before");
  await ctx.waitFor("go");
  return { seen: (await ctx.shell("cat before.txt")).stdout };
});
"#;

const CHECKOUT: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "here", workspace: "none" }, async (ctx) => {
  return { seen: (await ctx.shell("pwd")).stdout };
});
"#;

const PARENT: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "parent" }, async (ctx) => {
  await ctx.shell("echo parent > parent.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm parent");
  const [shared, own] = await Promise.all([
    ctx.invoke("where", {}),
    ctx.invoke("where", {}, { workspace: "own" }),
  ]);
  return { here: ctx.workspacePath, shared, own };
});
"#;

const WHERE: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "where" }, async (ctx) => {
  const seen = await ctx.shell("pwd; echo $AGENT_WORKSPACE_ID; cat parent.txt");
  return seen.stdout.trim().split("\n");
});
"#;

impl Yard {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        Self::furnish(&root);
        stand.git(&root, &["add", "."]);
        stand.git(&root, &["commit", "--quiet", "-m", "workflows"]);
        Self { stand, root }
    }

    fn furnish(root: &Path) {
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let templates = [
            ("work", WORK),
            ("wait", WAIT),
            ("here", CHECKOUT),
            ("parent", PARENT),
            ("where", WHERE),
        ];
        for (name, text) in templates {
            fs::write(folder.join(format!("{name}.ts")), text).expect("a template");
        }
    }

    fn call(&self, folder: &Path, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, folder, arguments).without("AGENTOS_WORKSPACE_KIND")
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.call(&self.root, arguments).done()
    }

    fn workspaces(&self) -> Vec<Value> {
        let listed = self.run(&["workspace", "list", "--json"]).exits(0);
        listed.document()["items"].as_array().expect("a list").clone()
    }

    fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        self.stand.git(folder, arguments).trim_end().to_owned()
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("text")
}

#[test]
fn a_run_works_in_a_worktree_of_its_own_and_says_where_its_work_is() {
    let yard = Yard::new();
    let done = yard.run(&["run", "work", "--json"]).exits(0);
    let run = done.document();
    let (id, path) = (name(&run), text(&run["workspace_dir"]));
    assert_eq!(
        (text(&run["workspace_id"]), text(&run["branch_name"])),
        (&*id, &*format!("agentos/{id}"))
    );
    assert_eq!(text(&run["work_dir"]), yard.root.to_string_lossy());
    let said = format!("its work is on agentos/{id}, in {path}");
    assert!(done.err.contains(&said), "{}", done.err);
    let root = yard.root.to_string_lossy();
    let metadata = format!("{path}/.agent-workflow.json");
    let seen = text(&run["output"]["seen"]);
    assert_eq!(seen, format!("{path}\n{id}\n{path}\n{metadata}\n{root}\nREADME.md\n"));
    assert!(path.starts_with(&*yard.stand.home().join(".cache/ai-workspaces").to_string_lossy()));
    assert_eq!(yard.git(&yard.root, &["show", &format!("agentos/{id}:made.txt")]), "made");
    assert!(!yard.root.join("made.txt").exists());
    assert_eq!(yard.git(&yard.root, &["status", "--porcelain"]), "");
    let document: Value =
        serde_json::from_str(&yard.run(&["workspace", "status", &id]).exits(0).out).expect("JSON");
    assert_eq!((text(&document["status"]), text(&document["workflow"])), ("done", "work"));
    assert_eq!(text(&document["run_id"]), id);
    assert!(document["finished_at"].is_string());
    assert_eq!(text(&yard.workspaces()[0]["status"]), "released");
    let logs = yard.root.join(".agent/workflows/executions");
    assert!(logs.is_dir() && !Path::new(path).join(".agent/workflows/executions").exists());
}

#[test]
fn the_command_line_the_environment_and_the_workflow_may_say_where() {
    let yard = Yard::new();
    let seen = |done: Done| text(&done.exits(0).document()["output"]["seen"]).trim_end().to_owned();
    let root = yard.root.to_string_lossy().into_owned();
    assert_eq!(seen(yard.run(&["run", "here", "--json"])), root, "the workflow says so");
    let own = seen(yard.run(&["run", "here", "--json", "--workspace", "worktree"]));
    assert_ne!(own, root, "the command line is heard first");
    let call =
        yard.call(&yard.root, &["run", "here", "--json"]).env("AGENTOS_WORKSPACE_KIND", "clone");
    assert_ne!(seen(call.done()), root, "then the environment");
    assert_eq!(yard.workspaces().len(), 2);
    let clone = yard.workspaces().into_iter().find(|row| row["kind"] == "clone").expect("a clone");
    assert!(Path::new(text(&clone["path"])).join(".git").is_dir());
    for (arguments, code) in [
        (&["run", "here", "--workspace", "tree"][..], 2),
        (&["run", "here", "--workspace-id", "../x"], 2),
        (&["run", "here", "--workspace", "none", "--workspace-id", "x"], 2),
        (&["run", "here", "--workspace", "worktree", "--base", "no-such"], 2),
        (&["run", "here", "--workspace", "jj"], 2),
    ] {
        let refused = yard.run(arguments).exits(code);
        assert!(refused.err.starts_with("error: "), "{refused:?}");
    }
    assert_eq!(yard.workspaces().len(), 2, "nothing is left of what was refused");
}

#[test]
fn a_named_workspace_is_made_once_and_worked_in_again() {
    let yard = Yard::new();
    let first = yard.run(&["run", "work", "--json", "--workspace-id", "fix"]).exits(0).document();
    let again = yard.run(&["run", "here", "--json", "--workspace-id", "fix"]).exits(0).document();
    assert_eq!(first["workspace_dir"], again["workspace_dir"]);
    assert_eq!(text(&again["output"]["seen"]).trim_end(), text(&first["workspace_dir"]));
    fs::write(yard.root.join("more.txt"), "more").expect("a file");
    yard.git(&yard.root, &["add", "."]);
    yard.git(&yard.root, &["commit", "--quiet", "-m", "more"]);
    let refused = yard.run(&["run", "here", "--workspace-id", "fix", "--base", "HEAD"]).exits(4);
    assert!(refused.err.contains("was made from"), "{}", refused.err);
    let refused =
        yard.run(&["run", "here", "--workspace-id", "fix", "--workspace", "clone"]).exits(4);
    assert!(refused.err.contains("of the kind `worktree`"), "{}", refused.err);
}

#[test]
fn uncommitted_changes_are_told_of_and_a_repository_without_a_commit_has_no_workspace() {
    let yard = Yard::new();
    fs::write(yard.root.join("new.txt"), "new").expect("a file");
    let done = yard.run(&["run", "here", "--workspace", "worktree"]).exits(0);
    assert!(done.err.contains("1 file with uncommitted changes"), "{}", done.err);
    let empty = yard.stand.empty_repository("empty");
    Yard::furnish(&empty);
    let refused = yard.call(&empty, &["run", "here", "--workspace", "worktree"]).done().exits(2);
    assert!(refused.err.contains("has no commit yet"), "{}", refused.err);
    let done = yard.call(&empty, &["run", "work", "--json"]).done();
    assert!(done.err.contains("the repository has no commit yet"), "{}", done.err);
    assert_eq!(text(&done.document()["workspace_dir"]), empty.to_string_lossy());
}

#[test]
fn a_root_inside_of_the_repository_is_refused() {
    let yard = Yard::new();
    let inside = yard.root.join("workspaces");
    let call = yard.call(&yard.root, &["run", "work"]).env("AI_WORKSPACES_ROOT", &inside);
    let refused = call.done().exits(2);
    assert!(refused.err.contains("inside of the repository"), "{}", refused.err);
    assert!(!inside.exists() && yard.workspaces().is_empty());
    let elsewhere = yard.stand.at("elsewhere");
    let call =
        yard.call(&yard.root, &["run", "work", "--json"]).env("AI_WORKSPACES_ROOT", &elsewhere);
    let run = call.done().exits(0).document();
    assert!(text(&run["workspace_dir"]).starts_with(&*elsewhere.to_string_lossy()));
}

#[test]
fn a_run_whose_workspace_is_gone_goes_on_in_one_that_is_made_again() {
    let yard = Yard::new();
    yard.run(&["run", "wait", "--detach"]).exits(0);
    let run = yard.stand.only(&yard.root, "wait");
    let (id, path) = (name(&run), text(&run["workspace_dir"]).to_owned());
    crate::support::wait_until("it waits", || {
        yard.stand.show(&yard.root, &id)["waiting"]["kind"] == "signal"
    });
    fs::remove_dir_all(&path).expect("it is there");
    let resumed = yard.call(&yard.root, &["resume", &id, "--detach"]).done();
    assert!(resumed.err.contains("was gone; it was made again"), "{resumed:?}");
    yard.run(&["signal", &id, "go"]).exits(0);
    let run = yard.stand.until_status(&yard.root, &id, "COMPLETED");
    assert_eq!(text(&run["output"]["seen"]).trim_end(), "before");
}

#[test]
fn a_workspace_that_is_not_what_it_should_be_fails_the_command_and_nothing_is_done_elsewhere() {
    let yard = Yard::new();
    yard.run(&["run", "wait", "--detach"]).exits(0);
    let run = yard.stand.only(&yard.root, "wait");
    let (id, path) = (name(&run), text(&run["workspace_dir"]).to_owned());
    crate::support::wait_until("it waits", || {
        yard.stand.show(&yard.root, &id)["waiting"]["kind"] == "signal"
    });
    fs::remove_file(Path::new(&path).join(".git")).expect("it is there");
    yard.run(&["signal", &id, "go"]).exits(0);
    let run = yard.stand.until_status(&yard.root, &id, "FAILED");
    let error = run["error"].to_string();
    assert!(error.contains("nothing was done"), "{error}");
    assert_eq!(yard.git(&yard.root, &["status", "--porcelain"]), "");
}

#[test]
fn a_command_in_a_workspace_has_its_environment_and_hands_on_its_exit_status() {
    let yard = Yard::new();
    let script = "pwd; echo $AGENT_WORKSPACE_ID; printenv GIT_DIR; echo x > x.txt; exit 7";
    let call = yard.call(&yard.root, &["workspace", "run", "box", "--", "sh", "-c", script]);
    let done = call.env("GIT_DIR", "/nowhere").done().exits(7);
    let path = yard.workspaces()[0]["path"].as_str().expect("a path").to_owned();
    assert_eq!(done.out, format!("{path}\nbox\n"));
    let status = yard.run(&["workspace", "status", "box"]).exits(0).document();
    assert_eq!((text(&status["status"]), &status["exit_code"]), ("error", &7.into()));
    assert_eq!(status["command"], serde_json::json!(["sh", "-c", script]));
    let again = yard.run(&["workspace", "run", "box", "--", "cat", "x.txt"]).exits(0);
    assert_eq!(again.out, "x\n");
    yard.run(&["workspace", "run", "box", "--base", "HEAD", "--", "true"]).exits(0);
    yard.run(&["workspace", "run", "box", "--kind", "clone", "--", "true"]).exits(4);
    yard.run(&["workspace", "run", "a/b", "--", "true"]).exits(2);
    yard.run(&["workspace", "run", "box", "--", "no-such-program"]).exits(1);
    yard.run(&["workspace", "status", "nope"]).exits(3);
    yard.run(&["workspace", "shell", "nope"]).exits(3);
    let shell = yard.call(&yard.root, &["workspace", "shell", "box"]).env("SHELL", "/bin/sh");
    assert_eq!(shell.input("pwd; exit 3\n").done().exits(3).out, format!("{path}\n"));
    let told = yard.run(&["workspace", "status"]).exits(0).out;
    assert!(told.contains("1 file with uncommitted changes"), "{told}");
}

#[test]
fn whoever_runs_inside_joins_the_same_history_and_the_same_workspace() {
    let yard = Yard::new();
    let agentos = env!("CARGO_BIN_EXE_agentos");
    let nested = format!(
        "{agentos} run here --json && {agentos} run work --workspace none && {agentos} db path"
    );
    let done = yard.run(&["workspace", "run", "box", "--", "sh", "-c", &nested]).exits(0);
    let path = yard.workspaces()[0]["path"].as_str().expect("a path").to_owned();
    let runs = yard.stand.runs(&yard.root);
    assert_eq!(runs.len(), 2, "{done:?}");
    for run in &runs {
        assert_eq!((text(&run["workspace_id"]), text(&run["workspace_dir"])), ("box", &*path));
        assert_eq!(text(&run["work_dir"]), yard.root.to_string_lossy());
    }
    let database = yard.root.join(".agentos/issue_workflow.db");
    assert!(done.out.ends_with(&format!("{}\n", database.display())), "{done:?}");
    assert_eq!(yard.workspaces().len(), 1);
}

#[test]
fn a_worktree_of_the_users_can_be_taken_in() {
    let yard = Yard::new();
    let mine = yard.stand.at("mine");
    yard.git(&yard.root, &["worktree", "add", "--quiet", "-b", "feature", &mine.to_string_lossy()]);
    let done = yard.run(&["workspace", "adopt", &mine.to_string_lossy()]).exits(0);
    assert_eq!(done.out, "mine\n");
    yard.run(&["workspace", "adopt", &mine.to_string_lossy()]).exits(0);
    let seen = yard.run(&["run", "here", "--json", "--workspace-id", "mine"]).exits(0).document();
    assert_eq!(text(&seen["output"]["seen"]).trim_end(), mine.to_string_lossy());
    assert_eq!(text(&seen["branch_name"]), "feature");
    assert_eq!(yard.git(&mine, &["status", "--porcelain"]), "");
    let listed = yard.run(&["workspace", "list"]).exits(0).out;
    assert!(listed.contains("worktree (yours)"), "{listed}");
    yard.run(&["workspace", "adopt", "."]).exits(2);
    let other = yard.stand.repository("other");
    yard.run(&["workspace", "adopt", &other.to_string_lossy()]).exits(2);
}

#[test]
fn a_child_run_works_where_its_parent_does_or_in_a_workspace_of_its_own() {
    let yard = Yard::new();
    let run = yard.run(&["run", "parent", "--json"]).exits(0).document();
    let output = &run["output"];
    let here = text(&output["here"]);
    assert_eq!(output["shared"], serde_json::json!([here, name(&run), "parent"]));
    let (path, id) = (text(&output["own"][0]), text(&output["own"][1]));
    assert!(path != here && id.starts_with("where-"), "{output}");
    assert_eq!(text(&output["own"][2]), "parent", "it begins with what the parent has committed");
    let mut rows = yard.workspaces();
    assert_eq!(rows.len(), 2);
    rows.retain(|row| row["id"] == id);
    assert_eq!((text(&rows[0]["path"]), text(&rows[0]["status"])), (path, "released"));
    let child = yard.stand.show(&yard.root, id);
    assert_eq!(
        (text(&child["workspace_id"]), text(&child["work_dir"])),
        (id, &*yard.root.to_string_lossy())
    );
}

#[test]
fn what_a_run_changes_in_the_repository_is_remarked_on_it_and_put_right() {
    let yard = Yard::new();
    let script = "git config user.name Mallory; git config user.email m@example.org; git config remote.evil.url /tmp/evil; git config core.bare true; git tag mine";
    let body = format!("await ctx.git.ensureBranch('feature/own'); await ctx.shell({script:?});");
    let body = format!(
        "{body} await ctx.files.write('a.txt', 'a'); await ctx.git.commit('a', {{ all: true }});"
    );
    let text = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"break\" }}, async (ctx) => {{ {body} }});\n"
    );
    fs::write(yard.root.join(".agent/workflows/templates/break.ts"), text).expect("a template");
    let run = yard.run(&["run", "break", "--json"]).exits(0).document();
    let shown = yard.stand.show(&yard.root, &name(&run));
    let comments: Vec<String> = shown["comments"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|comment| comment["message"].as_str().expect("text").to_owned())
        .collect();
    let begin = "While it ran, in the repository: ";
    let expected = [
        "core.bare was false and is true",
        "core.bare was put back",
        "changed in the configuration of the repository: remote.evil.url, user.email, user.name",
        "changed outside of its branch: refs/tags/mine",
    ];
    assert_eq!(comments, expected.map(|line| format!("{begin}{line}")));
    assert_eq!(yard.git(&yard.root, &["config", "core.bare"]), "false");
}

#[test]
fn a_setup_command_is_executed_once_in_each_workspace_after_it_was_approved() {
    let yard = Yard::new();
    let log = yard.stand.at("setups");
    let config = yard.root.join(".agent/config.toml");
    let command = format!("echo $AGENT_WORKSPACE_ID >> {}; echo ready > ready.txt", log.display());
    fs::write(&config, format!("[workspace]\nsetup = \"{command}\"\n")).expect("a file");
    let refused = yard.run(&["workspace", "run", "box", "--", "true"]).exits(4);
    assert!(refused.err.contains("which you have not approved"), "{}", refused.err);
    assert!(yard.workspaces().is_empty() && !log.exists());
    yard.run(&["run", "here"]).exits(0);
    let run = yard.run(&["run", "work", "--json", "--allow-setup"]).exits(0).document();
    assert!(text(&run["output"]["seen"]).contains("ready.txt"), "{run}");
    let named = ["run", "work", "--workspace-id", "fix"];
    yard.run(&named).exits(0);
    yard.run(&["workspace", "run", "fix", "--", "true"]).exits(0);
    assert_eq!(
        crate::support::lines(&log),
        [name(&run), "fix".to_owned()],
        "approved, and done once"
    );
    fs::write(&config, "[workspace]\nsetup = \"echo no >&2; exit 3\"\n").expect("a file");
    yard.run(&["workspace", "run", "box", "--", "true"]).exits(4);
    let failed = yard.run(&["run", "work", "--json", "--allow-setup"]).exits(1).document();
    let error = failed["error"].to_string();
    assert!(error.contains("exited with 3") && error.contains("no"), "{error}");
}

fn found_in_path(program: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found =
        std::env::split_paths(&path).map(|folder| folder.join(program)).find(|at| at.exists());
    found.unwrap_or_else(|| panic!("`{program}` is missing; `cargo xtask test` installs it"))
}

#[test]
fn an_envrc_is_heeded_while_it_is_what_its_user_has_allowed() {
    let yard = Yard::new();
    let direnv = found_in_path("direnv");
    fs::write(yard.root.join(".envrc"), "export FROM_ENVRC=first\n").expect("a file");
    yard.git(&yard.root, &["add", "."]);
    yard.git(&yard.root, &["commit", "--quiet", "-m", "envrc"]);
    let show = ["workspace", "run", "box", "--", "sh", "-c", "echo $FROM_ENVRC"];
    let refused = yard.run(&show).exits(4);
    assert!(refused.err.contains("of your own checkout is not allowed"), "{}", refused.err);
    assert!(refused.err.contains("--allow-direnv"), "{}", refused.err);
    let allow = yard.stand.call_program(&direnv, &yard.root, &["allow"]);
    allow.done().exits(0);
    assert_eq!(yard.run(&show).exits(0).out, "first\n");
    let path = yard.workspaces()[0]["path"].as_str().expect("a path").to_owned();
    fs::write(Path::new(&path).join(".envrc"), "export FROM_ENVRC=changed\n").expect("a file");
    let refused = yard.run(&show).exits(4);
    assert!(refused.err.contains("not what it was when the workspace was made"), "{}", refused.err);
    let allowed =
        ["workspace", "run", "box", "--allow-direnv", "--", "sh", "-c", "echo $FROM_ENVRC"];
    assert_eq!(yard.run(&allowed).exits(0).out, "changed\n");
    let body = "return (await ctx.shell('echo $FROM_ENVRC')).stdout;";
    let template = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"env\" }}, async (ctx) => {{ {body} }});\n"
    );
    fs::write(yard.root.join(".agent/workflows/templates/env.ts"), template).expect("a template");
    let run = yard.run(&["run", "env", "--json"]).exits(0).document();
    assert_eq!(text(&run["output"]), "first\n");
}

#[test]
fn a_workspace_whose_folder_is_gone_is_listed_as_such() {
    let yard = Yard::new();
    yard.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    let path = yard.workspaces()[0]["path"].as_str().expect("a path").to_owned();
    fs::remove_dir_all(path).expect("deleted by hand");
    let told = yard.run(&["workspace", "list"]).exits(0).out;
    assert!(told.contains("released, its folder is gone"), "{told}");
    let told = yard.run(&["workspace", "status", "box"]).exits(3).err;
    assert!(told.contains("is gone") && told.contains("workspace run box -- true"), "{told}");
}

#[test]
fn where_the_work_of_a_run_is_is_not_read_through_a_link() {
    let yard = Yard::new();
    let root = yard.root.display();
    let swap = format!("W=$PWD; cd / && mv $W $W.away && ln -s {root} $W");
    let template = format!(
        "import {{ createWorkflow }} from \"agentos\";\n\
         export default createWorkflow({{ name: \"swap\" }}, async (ctx) => {{\n\
         await ctx.shell(\"{swap}\"); await ctx.shell(\"ls\"); }});\n"
    );
    fs::write(yard.root.join(".agent/workflows/templates/swap.ts"), template).expect("a template");
    let told = yard.run(&["run", "swap"]).exits(1).err;
    assert!(told.contains("its work is on agentos/"), "{told}");
    assert!(!told.contains("its work is on main"), "{told}");
}

#[test]
fn whoever_is_killed_while_a_workspace_is_made_leaves_nothing_once_somebody_comes() {
    let yard = Yard::new();
    fs::write(yard.root.join(".gitattributes"), "*.slow filter=slow\n").expect("a file");
    fs::write(yard.root.join("a.slow"), "x").expect("a file");
    yard.git(&yard.root, &["add", "."]);
    yard.git(&yard.root, &["commit", "--quiet", "-m", "a slow file"]);
    let (began, go) = (yard.stand.at("began"), yard.stand.at("go"));
    let (start, end) = (began.display(), go.display());
    let wait = format!("touch {start}; until [ -e {end} ]; do sleep 0.01; done; cat");
    yard.git(&yard.root, &["config", "filter.slow.smudge", &wait]);
    let killed = yard.call(&yard.root, &["run", "work"]).start();
    crate::support::wait_until("git is at work", || began.exists());
    killed.kill();
    assert_eq!(text(&yard.workspaces()[0]["status"]), "creating");
    fs::write(&go, "").expect("a file");
    crate::support::wait_until("git has ended", || yard.stand.processes().is_empty());
    let run = yard.run(&["run", "work", "--json"]).exits(0).document();
    let rows = yard.workspaces();
    assert_eq!((rows.len(), text(&rows[0]["id"])), (1, &*name(&run)));
    let branches = yard.git(&yard.root, &["branch", "--list", "--format=%(refname:short)"]);
    assert_eq!(branches, format!("agentos/{}\nmain", name(&run)));
    assert_eq!(yard.git(&yard.root, &["worktree", "list"]).lines().count(), 2);
    assert_eq!(yard.stand.runs(&yard.root).len(), 1);
}
