//! A repository with workflows, and the binary in it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Call, Done, Stand, name, wait_until};

/// Commits with an author, wherever it is.
pub(super) const COMMIT: &str = "git -c user.name=a -c user.email=a@b commit -qm";

/// Asks between two commands.
const ASK: &str = r#"
  await ctx.shell("echo before > before.txt");
  await ctx.approve("Go on?");
  return (await ctx.shell("cat before.txt")).stdout;
"#;

pub(super) struct Site {
    pub(super) stand: Stand,
    pub(super) root: PathBuf,
}

impl Site {
    pub(super) fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let site = Self { stand, root };
        site.template("ask", ASK);
        site.template("work", r#"return (await ctx.shell("pwd")).stdout.trim();"#);
        site.template("wait", r#"await ctx.shell("true"); await ctx.waitFor("go");"#);
        site.commit("workflows");
        site
    }

    /// A workflow whose body is this.
    pub(super) fn template(&self, name: &str, body: &str) {
        let folder = self.root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ claude, createWorkflow }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"{name}\" }}, async (ctx) => {{ {body} }});\n"
        );
        fs::write(folder.join(format!("{name}.ts")), text).expect("a template");
    }

    pub(super) fn configure(&self, text: &str) {
        fs::create_dir_all(self.root.join(".agent")).expect("a folder");
        fs::write(self.root.join(".agent/config.toml"), text).expect("a file");
    }

    pub(super) fn commit(&self, message: &str) {
        self.git(&["add", "."]);
        self.git(&["commit", "--quiet", "-m", message]);
    }

    pub(super) fn git(&self, arguments: &[&str]) -> String {
        self.stand.git(&self.root, arguments).trim_end().to_owned()
    }

    pub(super) fn call_in(&self, folder: &Path, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, folder, arguments).without("AGENTOS_WORKSPACE_KIND")
    }

    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        self.call_in(&self.root, arguments)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Done {
        self.call(arguments).done()
    }

    pub(super) fn show(&self, run: &str) -> Value {
        self.run(&["show", "--json", run]).exits(0).document()
    }

    /// Starts a run in the background and waits until it waits for this; its readable id, and where it works.
    pub(super) fn waits(&self, arguments: &[&str], kind: &str) -> (String, PathBuf) {
        let arguments = [&["run"], arguments, &["--detach"]].concat();
        let id = self.run(&arguments).exits(0).out.trim().to_owned();
        self.until_it_waits(&id, kind);
        let path = self.show(&id)["workspace_dir"].as_str().expect("a path").to_owned();
        (id, PathBuf::from(path))
    }

    pub(super) fn until_it_waits(&self, run: &str, kind: &str) {
        wait_until(&format!("{run} waits for {kind}"), || {
            self.show(run)["waiting"]["kind"] == kind
        });
    }

    pub(super) fn until_status(&self, run: &str, status: &str) -> Value {
        let mut document = Value::Null;
        wait_until(&format!("{run} is {status}"), || {
            document = self.show(run);
            let is_over = document["completed_at"].is_string();
            assert!(!is_over || document["status"] == status, "{document:#}");
            document["status"] == status
        });
        document
    }

    /// What was remarked on a run.
    pub(super) fn comments(&self, run: &str) -> Vec<String> {
        let shown = self.show(run);
        let comments = shown["comments"].as_array().expect("a list").iter();
        comments.map(|comment| comment["message"].as_str().expect("text").to_owned()).collect()
    }

    /// The workspace of this id, as it is listed.
    pub(super) fn workspace(&self, id: &str) -> Value {
        let listed = self.run(&["workspace", "list", "--json"]).exits(0).document();
        let items = listed["items"].as_array().expect("a list");
        items.iter().find(|row| row["id"] == id).unwrap_or(&Value::Null).clone()
    }
}

/// What a run that was started in the foreground is called.
pub(super) fn name_of(done: &Done) -> String {
    name(&done.document())
}

/// The steps of a run: their names and how they stand.
pub(super) fn steps(run: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let steps = run["steps"].as_array().expect("a list").iter();
    steps.map(|step| (text(&step["name"]), text(&step["status"]))).collect()
}
