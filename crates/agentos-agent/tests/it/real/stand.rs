//! One real agent with a model server and a home of its own, asked through the public door.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use agentos_agent::agent::{Request, Session};
use agentos_agent::configured::{AgentSpec, Words};
use agentos_agent::event::AgentEvent;
use agentos_agent::permission::Permission;
use agentos_agent::roster::{Member, Roster};
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::{TroubleKind, Verdict};
use agentos_process::exit::Exit;
use agentos_testing::agents::{AgentHome, RealAgent};
use agentos_testing::model::{ModelServer, Scenario};
use agentos_testing::wait::TIMEOUT;
use tempfile::TempDir;

use crate::part::{exited, told_with};

pub(crate) const SESSION: &str = "11111111-2222-4333-8444-555555555555";

/// Whether there is time for everything.
pub(crate) fn is_soak() -> bool {
    std::env::var_os("AGENTOS_SOAK").is_some()
}

/// Gemini takes seconds to start, so that it is left out where its streams were recorded and there is no time.
pub(crate) fn quick_or_all() -> Vec<RealAgent> {
    let is_wanted = |agent: &RealAgent| is_soak() || *agent != RealAgent::Gemini;
    RealAgent::ALL.into_iter().filter(is_wanted).collect()
}

/// A real agent in a folder of its own.
pub(crate) struct Stand {
    agent: RealAgent,
    member: Member,
    env: BTreeMap<String, String>,
    pub(crate) server: ModelServer,
    folder: TempDir,
}

/// What a session came to.
#[derive(Debug)]
pub(crate) struct Heard {
    pub(crate) events: Vec<AgentEvent>,
    pub(crate) verdict: Verdict,
    pub(crate) exit: Exit,
    #[expect(dead_code, reason = "shown when a test fails")]
    err: String,
}

impl Heard {
    /// The kind of trouble; none is a success.
    pub(crate) fn trouble(&self) -> Option<TroubleKind> {
        self.verdict.trouble.as_ref().map(|trouble| trouble.kind)
    }
}

impl Stand {
    pub(crate) fn new(agent: RealAgent, scenario: Scenario) -> Self {
        let program = agent.installed().unwrap_or_else(|error| panic!("{error}"));
        let folder = TempDir::new().expect("a folder");
        fs::create_dir(folder.path().join("work")).expect("a folder");
        let server = ModelServer::start(scenario).expect("a server");
        let home = AgentHome::new(folder.path(), &server.url());
        let spec = AgentSpec {
            command: Some(Words::One(program.to_str().expect("text").to_owned())),
            model: Some(agent.model().to_owned()),
            ..AgentSpec::default()
        };
        let roster = Roster::new([(agent.name().to_owned(), spec)].into(), vec![], Path::new("/"));
        let member = roster.member(agent.name(), &BTreeMap::new()).expect("an agent");
        Self { agent, member, env: home.environment(agent), server, folder }
    }

    /// The same, without a variable of its environment.
    pub(crate) fn without(mut self, variable: &str) -> Self {
        self.env.remove(variable);
        self
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.work().join(file)).ok()
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// A request for a new session in which everything is allowed that can be without a sandbox of the system.
    pub(crate) fn request(&self, prompt: &str) -> Request {
        Request {
            name: "implement".to_owned(),
            attempt: 1,
            prompt: prompt.to_owned(),
            session: Session::New(SESSION.to_owned()),
            model: self.member.model.clone(),
            system_prompt: None,
            permission: match self.agent {
                RealAgent::Claude => Permission::AcceptEdits,
                RealAgent::Codex | RealAgent::Gemini => Permission::Full,
            },
            allowed_tools: match self.agent {
                RealAgent::Claude => vec!["Bash".to_owned()],
                RealAgent::Codex | RealAgent::Gemini => vec![],
            },
            max_turns: None,
            max_usd: None,
            mcp_servers: BTreeMap::new(),
            folder: self.folder.path().join("own"),
        }
    }

    pub(crate) fn ask(&self, prompt: &str) -> Heard {
        self.hear(&self.request(prompt), Baseline::default())
    }

    /// Starts the agent, hands over the prompt, and reads everything until its end.
    pub(crate) fn hear(&self, request: &Request, before: Baseline) -> Heard {
        let wanted = self.member.agent.command(request).expect("a command");
        for (path, text) in &wanted.files {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let mut child = self.start(&wanted.argv, &wanted.env);
        let mut input = child.0.stdin.take().expect("a pipe");
        // Who does not read has ended, and says so below.
        let _unread = input.write_all(wanted.input.unwrap_or_default().as_bytes());
        drop(input);
        let out = all_of(child.0.stdout.take().expect("a pipe"));
        let err = all_of(child.0.stderr.take().expect("a pipe"));
        let out = out.recv_timeout(TIMEOUT).expect("the agent ends");
        let err = err.recv_timeout(TIMEOUT).expect("the agent ends");
        let exit = exited(child.0.wait().expect("it ends").code().unwrap_or(-1));
        let mut translator = self.member.agent.translator(before);
        let err = String::from_utf8_lossy(&err).into_owned();
        let (events, verdict) = told_with(&mut *translator, &out, &exit, &err);
        Heard { events, verdict, exit, err }
    }

    #[expect(clippy::disallowed_methods, reason = "a test ends what it has started")]
    fn start(&self, argv: &[String], env: &BTreeMap<String, String>) -> Started {
        let (program, words) = argv.split_first().expect("a program");
        let mut command = Command::new(program);
        command.args(words).current_dir(self.work()).env_clear().envs(&self.env).envs(env);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Started(command.spawn().expect("the agent starts"))
    }
}

/// An agent that this test has started, ended with it at the latest.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _gone = self.0.wait();
    }
}

/// Everything that comes out of a pipe, once it is closed.
fn all_of(mut pipe: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _cut = pipe.read_to_end(&mut bytes);
        let _unheard = sender.send(bytes);
    });
    receiver
}
