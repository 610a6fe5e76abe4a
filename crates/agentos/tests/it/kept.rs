//! What becomes of workspaces, by the real binary: nothing in them is lost.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Call, Done, Stand, name, wait_until};

struct Yard {
    stand: Stand,
    root: PathBuf,
}

const LEAVE: &str = r#"
import { createWorkflow } from "agentos";
export default createWorkflow({ name: "leave" }, async (ctx) => {
  await ctx.shell("echo made > made.txt && git add . && git -c user.name=a -c user.email=a@b commit -qm made");
  if (ctx.input?.untidy) await ctx.shell("echo left > left.txt");
});
"#;

impl Yard {
    fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("leave.ts"), LEAVE).expect("a template");
        stand.git(&root, &["add", "."]);
        stand.git(&root, &["commit", "--quiet", "-m", "workflows"]);
        Self { stand, root }
    }

    fn configured(&self, text: &str) {
        fs::write(self.root.join(".agent/config.toml"), text).expect("a file");
    }

    fn call(&self, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        let call = self.stand.call_program(program, &self.root, arguments);
        call.without("AGENTOS_WORKSPACE_KIND")
    }

    fn run(&self, arguments: &[&str]) -> Done {
        self.call(arguments).done()
    }

    /// Executes a script in a workspace.
    fn inside(&self, id: &str, script: &str) -> PathBuf {
        self.run(&["workspace", "run", id, "--", "sh", "-c", script]).exits(0);
        let listed = self.run(&["workspace", "list", "--json"]).exits(0).document();
        let items = listed["items"].as_array().expect("a list");
        let found = items.iter().find(|row| row["id"] == id).expect("it is listed");
        PathBuf::from(found["path"].as_str().expect("a path"))
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.stand.git(&self.root, arguments).trim_end().to_owned()
    }
}

fn items(document: &Value) -> &Vec<Value> {
    document["items"].as_array().expect("a list")
}

#[test]
fn what_would_be_lost_is_refused_and_by_force_backed_up_and_restored() {
    let yard = Yard::new();
    let path = yard.inside("box", "echo A=1 > .env; echo .env > .gitignore; echo x >> README.md");
    let refused = yard.run(&["workspace", "clean", "box"]).exits(4);
    for words in ["1 changed and not staged", "1 untracked", "1 ignored", "not removed", "--force"]
    {
        assert!(refused.out.contains(words), "{words}: {refused:#?}");
    }
    assert!(path.join(".env").exists());
    let told = yard.run(&["workspace", "clean", "--all", "--dry-run", "--json"]).exits(0);
    assert_eq!(items(&told.document())[0]["verdict"]["workspace_id"], "box");
    let done = yard.run(&["workspace", "clean", "box", "--force"]).exits(0);
    assert!(done.out.contains("backed up as refs/agentos/backup/box/1"), "{done:#?}");
    assert!(!path.exists());
    assert_eq!(yard.git(&["branch", "--list", "agentos/*"]), "");
    assert_eq!(yard.git(&["worktree", "list"]).lines().count(), 1);
    let trash = path.parent().and_then(Path::parent).expect("a root").join(".agentos-trash");
    wait_until("the trash is empty", || {
        fs::read_dir(&trash).is_ok_and(|inside| inside.count() == 0)
    });
    yard.run(&["workspace", "clean", "box"]).exits(3);
    let done = yard.run(&["workspace", "restore", "box"]).exits(0);
    assert_eq!(done.out, format!("{}\n", path.display()));
    assert_eq!(fs::read_to_string(path.join(".env")).expect("a file"), "A=1\n");
    assert_eq!(fs::read_to_string(path.join("README.md")).expect("a file"), "# It\nx\n");
    yard.run(&["workspace", "restore", "box"]).exits(4);
    yard.run(&["workspace", "restore", "nope"]).exits(3);
    yard.run(&["workspace", "restore", "../x"]).exits(2);
    assert_eq!(yard.run(&["workspace", "snapshot", "box"]).exits(0).out, "2\n");
    yard.run(&["workspace", "snapshot", "nope"]).exits(3);
    let done = yard.run(&["workspace", "clean", "--all", "--force", "--json"]).exits(0);
    assert_eq!(items(&done.document())[0]["backup"]["number"], 3);
    let back = yard.run(&["workspace", "restore", "box", "1", "--json"]).exits(0).document();
    assert_eq!(back["backup"]["number"], 1);
}

#[test]
fn a_runs_workspace_goes_with_it_if_so_configured_unless_work_would_be_lost() {
    let yard = Yard::new();
    yard.configured("[workspace]\ncleanup_on_complete = true\n");
    let tidy = yard.run(&["run", "leave", "--json"]).exits(0).document();
    let (id, path) = (name(&tidy), tidy["workspace_dir"].as_str().expect("a path").to_owned());
    assert!(!Path::new(&path).exists());
    assert_eq!(yard.git(&["show", &format!("agentos/{id}:made.txt")]), "made");
    let run = yard.stand.show(&yard.root, &id);
    assert_eq!(run["comments"].as_array().map(Vec::len), Some(0), "{run}");
    let call = yard.run(&["run", "leave", "--json", "--input", "untidy=true"]).exits(0);
    let (id, path) = (name(&call.document()), call.document()["workspace_dir"].clone());
    let path = Path::new(path.as_str().expect("a path"));
    assert_eq!(fs::read_to_string(path.join("left.txt")).expect("it is there"), "left\n");
    let run = yard.stand.show(&yard.root, &id);
    let comment = run["comments"][0]["message"].as_str().expect("a comment").to_owned();
    assert!(comment.contains("was kept") && comment.contains("left.txt"), "{comment}");
}

#[test]
fn where_one_has_to_stay_the_next_goes_and_a_limit_that_is_not_reached_is_an_error() {
    let yard = Yard::new();
    let work = yard.inside("work", "head -c 3000000 /dev/zero > work.bin");
    // Ignored, and known to be made by tools: nothing is lost with it.
    fs::write(yard.root.join(".gitignore"), "target/\n").expect("a file");
    yard.git(&["add", ".gitignore"]);
    yard.git(&["commit", "--quiet", "-m", "ignored"]);
    let made = "mkdir target && head -c 3000000 /dev/zero > target/made.bin";
    let free = yard.inside("free", made);
    yard.configured("[workspace]\nmax_total_size = \"4 MB\"\n");
    let foreseen = yard.run(&["workspace", "gc", "--dry-run"]).exits(0);
    for words in ["work: 3.", "  would not be removed\n", "free: 3.", "  would be removed\n"] {
        assert!(foreseen.out.contains(words), "{words}: {foreseen:#?}");
    }
    assert!(work.exists() && free.exists());
    let told = yard.run(&["workspace", "gc"]);
    let is_gone = (!work.exists(), !free.exists());
    assert_eq!((is_gone, told.code), ((false, true), Some(0)), "{told:#?}");
    yard.configured("[workspace]\nmax_total_size = \"1 MB\"\n");
    let told = yard.run(&["workspace", "gc"]).exits(4);
    assert!(told.err.contains("workspace.max_total_size could not be reached"), "{told:#?}");
    let foreseen = yard.run(&["workspace", "gc", "--dry-run"]).exits(4);
    let said = "workspace.max_total_size would not be reached";
    assert!(foreseen.err.contains(said) && foreseen.err.contains("`--force`"), "{foreseen:#?}");
    yard.run(&["workspace", "gc", "--dry-run", "--force"]).exits(0);
    assert!(work.join("work.bin").exists());
    yard.configured("[workspace]\nmin_free_disk = \"1000 TB\"\n");
    let told = yard.run(&["workspace", "gc", "--force"]).exits(4);
    assert!(told.err.contains("workspace.min_free_disk could not be reached"), "{told:#?}");
}

#[test]
fn a_workspace_in_use_counts_for_the_limits_and_is_named_where_they_are_not_reached() {
    let yard = Yard::new();
    let text = "import { createWorkflow } from \"agentos\";\n\
        export default createWorkflow({ name: \"busy\" }, async (ctx) => {\n\
          await ctx.shell(\"head -c 3000000 /dev/zero > large.bin\");\n\
          await ctx.waitFor(\"go\");\n\
        });\n";
    fs::write(yard.root.join(".agent/workflows/templates/busy.ts"), text).expect("a template");
    let mut process = yard.call(&["run", "busy", "--json"]).start();
    let mut run = Value::Null;
    wait_until("it waits", || {
        run = yard.run(&["status", "--json"]).document()["items"][0].clone();
        run["waiting"]["kind"] == "signal"
    });
    let (id, run) = (run["workspace_id"].clone(), run["run_id"].as_str().expect("a name"));
    let id = id.as_str().expect("a workspace");
    for limit in ["max_size = \"1 MB\"", "max_total_size = \"1 MB\""] {
        yard.configured(&format!("[workspace]\n{limit}\n"));
        let told = yard.run(&["workspace", "gc", "--json"]).exits(4);
        assert!(told.err.contains(&format!("could not be reached; in use: {id}")), "{told:#?}");
        assert!(told.err.contains("end what works in the workspaces"), "{told:#?}");
        assert_eq!(told.document()["in_use"], serde_json::json!([id]));
        let foreseen = yard.run(&["workspace", "gc", "--dry-run", "--json"]).exits(4);
        let said = format!("would not be reached; in use: {id}");
        assert!(foreseen.err.contains(&said), "{foreseen:#?}");
        assert_eq!(foreseen.document(), told.document());
    }
    // It is used, so it is not old.
    yard.configured("[workspace]\nmax_age = \"0m\"\nmax_size = \"1 GB\"\n");
    yard.run(&["workspace", "gc"]).exits(0);
    assert!(process.has_ended().is_none());
    yard.run(&["signal", run, "go"]).exits(0);
    process.done().exits(0);
}

#[test]
fn limits_are_applied_and_without_any_nothing_goes() {
    let yard = Yard::new();
    let large = yard.inside("large", "head -c 3000000 /dev/zero > large.bin");
    let small = yard.inside("small", "true");
    let told = yard.run(&["workspace", "gc"]).exits(0);
    assert!(told.err.contains("no limits are set"), "{told:#?}");
    yard.configured("[workspace]\nmax_size = \"1 MB\"\nmax_age = \"30d\"\n");
    let told = yard.run(&["workspace", "gc", "--dry-run"]).exits(4);
    assert!(told.out.contains("large: 3.") && told.out.contains("workspace.max_size"), "{told:#?}");
    assert!(!told.out.contains("small") && large.exists());
    let foreseen = yard.run(&["workspace", "gc", "--dry-run", "--json"]).exits(4).document();
    // There is work in it.
    let kept = yard.run(&["workspace", "gc", "--json"]).exits(4);
    assert_eq!(foreseen, kept.document());
    assert!(kept.err.contains("workspace.max_size could not be reached"), "{kept:#?}");
    let kept = kept.document();
    assert_eq!((items(&kept).len(), &items(&kept)[0]["is_removed"]), (1, &Value::Bool(false)));
    assert_eq!(kept["unreached"], serde_json::json!(["workspace.max_size"]));
    assert!(large.join("large.bin").exists());
    let foreseen = yard.run(&["workspace", "gc", "--dry-run", "--force", "--json"]).exits(0);
    let foreseen = items(&foreseen.document())[0].clone();
    assert_eq!((&foreseen["is_removed"], &foreseen["error"]), (&false.into(), &Value::Null));
    yard.configured("[workspace]\nmax_size = \"1 MB\"\nbackup_max_size = \"1 B\"\n");
    for words in [&["--dry-run"][..], &[]] {
        let words = [&["workspace", "gc", "--force", "--json"], words].concat();
        let stays = yard.run(&words).exits(4).document();
        let why = items(&stays)[0]["error"].as_str().expect("a reason").to_owned();
        assert!(why.contains("workspace.backup_max_size"), "{words:?}: {stays:#}");
    }
    yard.configured("[workspace]\nmax_size = \"1 MB\"\nmax_age = \"30d\"\n");
    let gone = yard.run(&["workspace", "gc", "--force", "--json"]).exits(0).document();
    assert_eq!(items(&gone)[0]["reason"]["why"], "max_size");
    assert_eq!(gone["unreached"], serde_json::json!([]));
    assert!(!large.exists() && small.exists());
    yard.configured("[workspace]\nmax_size = \"much\"\n");
    let wrong = yard.run(&["workspace", "gc"]).exits(2);
    assert!(wrong.err.contains("must be a size"), "{wrong:#?}");
}

#[test]
fn what_the_user_has_made_is_not_removed() {
    let yard = Yard::new();
    let mine = yard.stand.at("mine");
    yard.git(&["worktree", "add", "--quiet", "-b", "feature", &mine.to_string_lossy()]);
    yard.run(&["workspace", "adopt", &mine.to_string_lossy()]).exits(0);
    let refused = yard.run(&["workspace", "clean", "mine", "--force"]).exits(4);
    assert!(refused.out.contains("adopted"), "{refused:#?}");
    yard.run(&["workspace", "clean", "--all", "--force"]).exits(0);
    assert!(mine.join("README.md").exists());
}
