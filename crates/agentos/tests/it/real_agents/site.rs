//! Where these tests happen: a repository with workflows that use an agent, and a model server that the agent talks to.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::agents::{AgentHome, RealAgent};
use agentos_testing::model::{ModelServer, Request, Scenario};
use serde_json::{Value, json};

use crate::support::{Done, Process, Stand, is_alive, wait_until};

/// A repository in which an agent works.
pub(crate) struct Site {
    pub(crate) agent: RealAgent,
    stand: Stand,
    pub(crate) repo: PathBuf,
    server: ModelServer,
}

/// Whether there is time for everything.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("AGENTOS_SOAK").is_some()
}

impl Site {
    pub(crate) fn new(agent: RealAgent, scenario: Scenario) -> Self {
        Self::of(&[agent], scenario)
    }

    /// A site for several agents, of which the first is the usual one.
    pub(crate) fn of(agents: &[RealAgent], scenario: Scenario) -> Self {
        let (stand, repo) = Stand::with_repository();
        let server = ModelServer::start(scenario).expect("a server");
        configure(&stand, &repo, agents, &server.url());
        Self { agent: agents[0], stand, repo, server }
    }

    /// Writes the workflow `work` with this body. `run(name, prompt, options)` in it is a session of the usual agent with
    /// all permissions that it needs to write files and to execute commands.
    pub(crate) fn workflow(&self, body: &str) {
        let name = self.agent.name();
        let allowed = match self.agent {
            RealAgent::Claude => "allowedTools: [\"Bash\"]",
            RealAgent::Codex | RealAgent::Gemini => "permissionMode: \"full\"",
        };
        let text = format!(
            "import {{ agent, claude, codex, createWorkflow, gemini }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"work\" }}, async (ctx) => {{\n\
             const run = (name: string, prompt: string, options = {{}}) =>\n\
             \x20 ctx.runCli(name, {name}, prompt, {{ {allowed}, ...options }});\n\
             const keyless = agent(\"keyless\");\n\
             {body}\n}});\n"
        );
        let folder = self.repo.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join("work.ts"), text).expect("a template");
    }

    /// Calls the program and waits for its end.
    pub(crate) fn call(&self, arguments: &[&str]) -> Done {
        self.begin(arguments).done()
    }

    pub(crate) fn begin(&self, arguments: &[&str]) -> Process {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, &self.repo, arguments).start()
    }

    /// Runs the workflow to its end, which is its document.
    #[track_caller]
    pub(crate) fn run(&self, code: i32) -> Value {
        self.call(&["run", "work", "--workspace", "none", "--json"]).exits(code).document()
    }

    /// The document of the only run, with everything that belongs to it.
    #[track_caller]
    pub(crate) fn show(&self) -> Value {
        let listing = self.call(&["status", "--json"]).exits(0).document();
        let run = listing["items"][0]["run_id"].as_str().expect("a run").to_owned();
        self.call(&["show", "--json", &run]).exits(0).document()
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.repo.join(file)).ok()
    }

    /// What a file says, once it says something.
    #[track_caller]
    pub(crate) fn until_written(&self, file: &str) -> String {
        let mut text = String::new();
        wait_until(&format!("{file} is written"), || {
            text = self.read(file).unwrap_or_default();
            text.ends_with('\n')
        });
        text.trim().to_owned()
    }

    /// What the model was asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// The processes of the latest session: the supervisor, and the agent under it.
    pub(crate) fn processes(&self) -> (i32, i32) {
        let (_, supervisor) = self.supervisors().into_iter().max().expect("a session has begun");
        let path = format!("/proc/{supervisor}/task/{supervisor}/children");
        let below = fs::read_to_string(path).expect("Linux");
        let agent = below.split_whitespace().next().expect("an agent");
        (supervisor, agent.parse().expect("an id"))
    }

    /// When each supervisor began, and its process.
    fn supervisors(&self) -> Vec<(u64, i32)> {
        let begun = self.sessions().into_iter().filter_map(|directory| {
            let text = fs::read_to_string(directory.join("started.json")).ok()?;
            let started: Value = serde_json::from_str(&text).ok()?;
            let supervisor = i32::try_from(started["supervisor"].as_i64()?).ok()?;
            Some((started["at_ms"].as_u64()?, supervisor))
        });
        begun.collect()
    }

    /// The directories of all processes that were supervised.
    fn sessions(&self) -> Vec<PathBuf> {
        let runs = children(&self.repo.join(".agentos/issue_workflow.db.commands"));
        runs.iter().flat_map(|run| children(run)).collect()
    }
}

/// Tells a repository where these agents are, and keeps them away from everything but a model server.
pub(crate) fn configure(stand: &Stand, repo: &Path, agents: &[RealAgent], url: &str) {
    let home = AgentHome::new(&stand.at("agent"), url);
    let mut specs = serde_json::Map::new();
    for agent in agents {
        let program = agent.installed().unwrap_or_else(|error| panic!("{error}"));
        let env = home.variables(*agent);
        let mut keyless = env.clone();
        keyless.remove(AgentHome::key_variable(*agent));
        for (name, env) in [(agent.name(), env), ("keyless", keyless)] {
            let (kind, model) = (agent.name(), agent.model());
            let spec = json!({ "kind": kind, "command": program, "model": model, "env": env });
            specs.insert(name.to_owned(), spec);
        }
    }
    fs::create_dir_all(repo.join(".agent")).expect("a folder");
    let config = toml::to_string(&json!({ "agents": specs })).expect("TOML");
    fs::write(repo.join(".agent/config.toml"), config).expect("a file");
}

/// All files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let (folders, mut files): (Vec<_>, Vec<_>) =
        children(folder).into_iter().partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| files_below(folder)));
    files
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

impl Drop for Site {
    /// Whatever a failed test has left: supervisors end what is below them when they are asked to. The folder in which they
    /// are asked goes away with the test, so that it waits for them.
    fn drop(&mut self) {
        for directory in self.sessions() {
            let _stopped = fs::write(directory.join("stop"), "");
        }
        let supervisors = self.supervisors();
        let is_over = || !supervisors.iter().any(|(_, supervisor)| is_alive(*supervisor));
        if std::thread::panicking() {
            wait_until("what was left has ended", is_over);
        }
    }
}
