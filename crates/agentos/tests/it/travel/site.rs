//! A repository with workflows that change files and say how they found them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Call, Done, Process, Stand, name};

/// What stands before every workflow here. `digest` tells everything about the files of a workspace in one number: what
/// there is, modes, links, contents, what git thinks of it. It is written in shell, so it shares nothing with what it checks.
const BEGINNING: &str = r#"
import { createWorkflow, NonRetryableError, claude } from "agentos";
const OURS = "\\( -name .git -o -name .agentos -o -name .agent-workflow.json \\) -prune";
const DIGEST = `(find . ${OURS} -o -printf '%y %m %P %l\\n' | sort; find . ${OURS} -o -type f -print0 | sort -z | xargs -0r sha256sum; `
  + "git status --porcelain --untracked-files=all; git rev-parse HEAD; git ls-files -s) | sha256sum | cut -c1-16";
const digest = async (ctx) => (await ctx.shell(DIGEST, { name: "digest" })).stdout.trim();
"#;

/// A repository with workflows.
pub(crate) struct Site {
    pub(crate) stand: Stand,
    pub(crate) root: PathBuf,
}

impl Site {
    /// With one workflow, `work`, whose body is this.
    pub(crate) fn new(body: &str) -> Self {
        Self::configured("", body)
    }

    /// The same with more in its config.
    pub(crate) fn configured(config: &str, body: &str) -> Self {
        let (stand, root) = Stand::with_repository();
        let folder = root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "{BEGINNING}\nexport default createWorkflow({{ name: \"work\", {config} }}, async (ctx) => {{\n{body}\n}});\n"
        );
        fs::write(folder.join("work.ts"), text).expect("a template");
        stand.git(&root, &["add", "."]);
        stand.git(&root, &["commit", "--quiet", "-m", "workflows"]);
        Self { stand, root }
    }

    pub(crate) fn call(&self, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, &self.root, arguments).without("AGENTOS_WORKSPACE_KIND")
    }

    pub(crate) fn begin(&self, arguments: &[&str]) -> Process {
        self.call(arguments).start()
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Done {
        self.call(arguments).done()
    }

    /// The document of the run that this command sees to its end.
    #[track_caller]
    pub(crate) fn ends(&self, arguments: &[&str], code: i32) -> Value {
        let mut words = arguments.to_vec();
        words.push("--json");
        self.run(&words).exits(code).document()
    }

    /// The only run so far, once there is one.
    pub(crate) fn only(&self) -> String {
        let mut found = None;
        crate::support::wait_until("there is a run", || {
            let listed = self.run(&["status", "--json", "--all"]);
            found = (listed.code == Some(0)).then(|| listed.document()["items"].clone());
            found.as_ref().and_then(Value::as_array).is_some_and(|runs| !runs.is_empty())
        });
        name(&found.expect("it was found")[0])
    }

    /// What there is of a run now.
    pub(crate) fn show(&self, run: &str) -> Value {
        self.run(&["show", "--json", run]).exits(0).document()
    }

    /// A file outside of every workspace, that counts lines.
    pub(crate) fn outside(&self, name: &str) -> PathBuf {
        self.stand.at(name)
    }
}

/// The step of this name: the last one, if there are several.
#[track_caller]
pub(crate) fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let steps = run["steps"].as_array().expect("a list");
    let found = steps.iter().rfind(|step| step["name"] == name);
    found.unwrap_or_else(|| panic!("there is no step {name}: {run:#}"))
}

/// Text of a file in a run's workspace.
#[track_caller]
pub(crate) fn file(run: &Value, path: &str) -> String {
    let workspace = run["workspace_dir"].as_str().expect("a workspace");
    fs::read_to_string(Path::new(workspace).join(path)).unwrap_or_default()
}
