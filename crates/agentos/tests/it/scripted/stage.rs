//! A repository with a workflow and a scenario.

use std::fs;

use serde_json::Value;

use crate::commands::site::{Done, Process, Site, files_below};

/// Waits for the file `go`.
pub(crate) const GATE: &str = r#"{ run = "while [ ! -e go ]; do sleep 0.02; done" }"#;

/// A repository with one workflow, `work`, whose agents play a scenario.
pub(crate) struct Stage {
    pub(crate) site: Site,
}

impl Stage {
    /// The workflow's body, and what is played.
    pub(crate) fn new(body: &str, scenario: &str) -> Self {
        let site = Site::new();
        let folder = site.repo.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow, claude, codex, gemini, agent }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"work\" }}, async (ctx) => {{\n{body}\n}});\n"
        );
        fs::write(folder.join("work.ts"), text).expect("a template");
        fs::write(site.repo.join("scenario.toml"), scenario).expect("a scenario");
        Self { site }
    }

    /// A workflow of one session, `build`, of `claude`, that plays these items.
    pub(crate) fn of_items(options: &str, items: &str) -> Self {
        let body = format!(
            "return await ctx.run(\"step\", async () => ctx.runCli(\"build\", claude, \"Build it\", {{ {options} }}), \
             {{ retry: {{ maxAttempts: 1 }} }});"
        );
        Self::new(&body, &format!("[[session]]\nplay = [\n{items}\n]\n"))
    }

    const RUN: [&'static str; 9] = [
        "run",
        "work",
        "--json",
        "--workspace",
        "none",
        "--agent",
        "claude=scripted:scenario.toml",
        "--agent",
        "codex=scripted:scenario.toml",
    ];

    /// Begins the run.
    pub(crate) fn begin(&self) -> Process {
        Process::start(self.site.command(&Self::RUN))
    }

    /// Sees a run to its end.
    pub(crate) fn run(&self) -> Done {
        self.begin().done()
    }

    pub(crate) fn resume(&self) -> Done {
        let run = self.site.only_run();
        self.site.call(&["resume", "--json", &run])
    }

    /// The lines of a file in the repository.
    pub(crate) fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.site.repo.join(file)).unwrap_or_default();
        text.lines().map(ToOwned::to_owned).collect()
    }

    /// What the sessions said, as the steps' logs have it.
    pub(crate) fn said(&self) -> Vec<String> {
        self.site.spoken().into_iter().map(|(_, line)| line).collect()
    }

    /// Remarks of AgentOS itself in the steps' logs.
    pub(crate) fn remarks(&self) -> String {
        let logs = files_below(&self.site.repo.join(".agent/workflows/executions"));
        let logs = logs.iter().filter(|path| {
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("step-"))
        });
        logs.map(|path| fs::read_to_string(path).unwrap_or_default()).collect()
    }
}

/// The only session of a run.
#[track_caller]
pub(crate) fn session(run: &Value) -> &Value {
    let sessions = run["agent_sessions"].as_array().expect("a list");
    let [session] = &sessions[..] else { panic!("not one session: {sessions:#?}") };
    session
}

/// What a failed run says about its session.
#[track_caller]
pub(crate) fn trouble(done: Done) -> (String, String) {
    let run = done.exits(1).document();
    let error = &session(&run)["error"];
    let reason = error["detail"]["exit_reason"].as_str().unwrap_or_default().to_owned();
    (reason, error["message"].as_str().unwrap_or_default().to_owned())
}
