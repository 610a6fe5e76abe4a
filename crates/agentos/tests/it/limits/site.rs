//! A repository whose workflows say when they are at work, and go on when they are told to.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Call, Done, Process, Stand, lines, name, wait_until};

/// Says that it is at work, and is until the file `go` is there.
pub(super) const HOLD: &str = r#"ctx.shell('echo + >> "$LOG"; while [ ! -e go ]; do sleep 0.02; done; echo - >> "$LOG"', { env: { LOG } })"#;

pub(super) struct Site {
    pub(super) stand: Stand,
    pub(super) root: PathBuf,
}

impl Site {
    pub(super) fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        Self { stand, root }
    }

    /// A workflow of this name with this config and body.
    pub(super) fn template(&self, name: &str, config: &str, body: &str) {
        let folder = self.root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow, claude }} from \"agentos\";\n\
             const LOG = \"{}\";\n\
             export default createWorkflow({{ name: \"{name}\", {config} }}, async (ctx) => {{ {body} }});\n",
            self.log().display()
        );
        fs::write(folder.join(format!("{name}.ts")), text).expect("a template");
    }

    /// The workflow `hold` with this config, which is at work until it is told to end.
    pub(super) fn hold(&self, config: &str) {
        self.template("hold", config, &format!("await {HOLD};"));
    }

    /// Where those at work say so.
    fn log(&self) -> PathBuf {
        self.root.join("at-work.log")
    }

    /// How many have begun.
    pub(super) fn begun(&self) -> usize {
        lines(&self.log()).iter().filter(|line| *line == "+").count()
    }

    #[track_caller]
    pub(super) fn until_begun(&self, count: usize) {
        wait_until(&format!("{count} are at work"), || self.begun() >= count);
    }

    /// How many were at work at once, at most.
    pub(super) fn most_at_once(&self) -> i32 {
        let (mut now, mut most) = (0, 0);
        for line in lines(&self.log()) {
            now += if line == "+" { 1 } else { -1 };
            most = most.max(now);
        }
        assert_eq!(now, 0, "everybody has said that he is done");
        most
    }

    /// Those at work may end.
    pub(super) fn go(&self) {
        fs::write(self.root.join("go"), "").expect("a file");
    }

    pub(super) fn configure(&self, text: &str) {
        fs::create_dir_all(self.root.join(".agent")).expect("a folder");
        fs::write(self.root.join(".agent/config.toml"), text).expect("a file");
    }

    /// What the user has configured for all repositories.
    pub(super) fn configure_user(&self, text: &str) {
        let environment = self.stand.environment();
        let home = environment.get(std::ffi::OsStr::new("XDG_CONFIG_HOME"));
        let folder = home.map_or_else(|| self.stand.home().join(".config"), PathBuf::from);
        let folder = folder.join("agentos");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("config.toml"), text).expect("a file");
    }

    pub(super) fn call(&self, arguments: &[&str]) -> Call {
        let program = std::path::Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, &self.root, arguments)
    }

    pub(super) fn run(&self, arguments: &[&str]) -> Done {
        self.call(arguments).done()
    }

    /// A run that this process drives; its readable id.
    pub(super) fn foreground(&self, workflow: &str) -> (Process, String) {
        let known: Vec<String> = self.runs().iter().map(name).collect();
        let process = self.call(&["run", workflow, "--json"]).start();
        let mut id = String::new();
        wait_until("there is another run", || {
            let all = self.runs();
            let new = all.iter().map(name).find(|name| !known.contains(name));
            id = new.unwrap_or_default();
            !id.is_empty()
        });
        (process, id)
    }

    /// A run that the background executor drives; its readable id.
    pub(super) fn detached(&self, workflow: &str) -> String {
        self.run(&["run", workflow, "--detach"]).exits(0).out.trim().to_owned()
    }

    pub(super) fn runs(&self) -> Vec<Value> {
        let listed = self.run(&["status", "--json", "--limit", "1000"]).exits(0).document();
        listed["items"].as_array().expect("a list").clone()
    }

    pub(super) fn show(&self, run: &str) -> Value {
        self.run(&["show", "--json", run]).exits(0).document()
    }

    #[track_caller]
    pub(super) fn until_it_waits(&self, run: &str, kind: &str) -> Value {
        let mut document = Value::Null;
        wait_until(&format!("{run} waits for {kind}"), || {
            document = self.show(run);
            document["waiting"]["kind"] == kind
        });
        document
    }

    #[track_caller]
    pub(super) fn until_status(&self, run: &str, status: &str) {
        wait_until(&format!("{run} is {status}"), || {
            let document = self.show(run);
            let is_over = document["completed_at"].is_string();
            assert!(!is_over || document["status"] == status, "{document:#}");
            document["status"] == status
        });
    }

    /// How many runs wait for a slot.
    pub(super) fn waiting(&self) -> usize {
        self.runs().iter().filter(|run| run["waiting"]["kind"] == "slot").count()
    }
}
