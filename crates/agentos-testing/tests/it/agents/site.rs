//! Where these tests happen: a model server, a home, a folder to work in, and one call of an agent.

use std::fs;
use std::io::{BufRead as _, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};

use agentos_testing::agents::{AgentHome, RealAgent};
use agentos_testing::model::{ModelServer, Request, Scenario};
use agentos_testing::wait::{TIMEOUT, wait_until};
use serde_json::Value;
use tempfile::TempDir;

/// One agent with a model of its own.
pub(crate) struct Site {
    pub(crate) agent: RealAgent,
    program: PathBuf,
    server: ModelServer,
    home: AgentHome,
    folder: TempDir,
}

/// How a call ended, and what it said.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) events: Vec<Value>,
    #[expect(dead_code, reason = "shown when a test fails")]
    err: String,
}

impl Site {
    pub(crate) fn new(agent: RealAgent, scenario: Scenario) -> Self {
        let program = agent.installed().unwrap_or_else(|error| panic!("{error}"));
        let folder = TempDir::new().expect("a folder");
        let server = ModelServer::start(scenario).expect("a server");
        let home = AgentHome::new(folder.path(), &server.url());
        fs::create_dir(folder.path().join("work")).expect("a folder");
        Self { agent, program, server, home, folder }
    }

    /// The folder that the agent works in.
    pub(crate) fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// What a file says, once it says something.
    #[track_caller]
    pub(crate) fn until_written(&self, file: &str) -> String {
        let mut text = String::new();
        wait_until(&format!("{file} is written"), || {
            text = self.read(file).unwrap_or_default();
            text.ends_with('\n')
        });
        text
    }

    pub(crate) fn read(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.work().join(file)).ok()
    }

    pub(crate) fn home(&self) -> &AgentHome {
        &self.home
    }

    /// What the model was asked.
    pub(crate) fn requests(&self) -> Vec<Request> {
        self.server.requests()
    }

    /// A prompt in a new session, to its end.
    pub(crate) fn ask(&self, prompt: &str) -> Done {
        self.begin(&self.words(None, prompt)).done()
    }

    /// A prompt in an earlier session, to its end.
    pub(crate) fn resume(&self, session: &str, prompt: &str) -> Done {
        self.begin(&self.words(Some(session), prompt)).done()
    }

    /// The arguments for a prompt; everything is allowed, since all of it happens in a folder of the test.
    pub(crate) fn words(&self, session: Option<&str>, prompt: &str) -> Vec<String> {
        let words: &[&str] = match self.agent {
            RealAgent::Claude => &[
                "-p",
                "--output-format",
                "stream-json",
                "--verbose",
                "--model",
                "claude-sonnet-4-5",
                "--permission-mode",
                "acceptEdits",
                "--allowedTools=Bash",
            ],
            RealAgent::Codex if session.is_some() => &["exec", "resume"],
            RealAgent::Codex => &["exec"],
            RealAgent::Gemini => {
                &["-o", "stream-json", "--yolo", "--skip-trust", "-m", "gemini-2.5-flash"]
            }
        };
        let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut push = |more: &[&str]| words.extend(more.iter().map(|word| (*word).to_owned()));
        match (self.agent, session) {
            (RealAgent::Codex, session) => {
                push(&["--json", "--skip-git-repo-check", "--disable", "plugins"]);
                push(&["--dangerously-bypass-approvals-and-sandbox"]);
                push(&session.into_iter().chain([prompt]).collect::<Vec<_>>());
            }
            (RealAgent::Claude, session) => {
                push(&session.map_or(vec![], |session| vec!["--resume", session]));
                push(&[prompt]);
            }
            (RealAgent::Gemini, session) => {
                push(&session.map_or(vec![], |session| vec!["--resume", session]));
                push(&["-p", prompt]);
            }
        }
        words
    }

    /// Begins a call.
    #[expect(clippy::disallowed_methods, reason = "a test ends what it has started")]
    pub(crate) fn begin(&self, words: &[String]) -> Call {
        let mut command = Command::new(&self.program);
        command.args(words).current_dir(self.work());
        command.env_clear().envs(self.home.environment(self.agent));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the agent starts");
        let out = lines_of(child.stdout.take().expect("a pipe"));
        let err = lines_of(child.stderr.take().expect("a pipe"));
        Call { child, out, err }
    }
}

/// A call that goes on. It is killed with the test at the latest.
pub(crate) struct Call {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Call {
    /// Waits for the end.
    #[track_caller]
    pub(crate) fn done(mut self) -> Done {
        let mut events = Vec::new();
        loop {
            match self.out.recv_timeout(TIMEOUT) {
                Ok(line) => events.extend(serde_json::from_str::<Value>(&line)),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the agent hangs after {events:#?}"),
            }
        }
        let err: Vec<String> = self.err.iter().collect();
        let code = self.child.wait().expect("it ends").code();
        Done { code, events, err: err.join("\n") }
    }

    /// The session, once it is told.
    #[track_caller]
    pub(crate) fn session(&self, agent: RealAgent) -> String {
        let mut events = Vec::new();
        loop {
            let line = self.out.recv_timeout(TIMEOUT).expect("a session is told");
            events.extend(serde_json::from_str::<Value>(&line));
            if let Some(session) = session(agent, &events) {
                return session;
            }
        }
    }

    /// Kills the agent itself, and nothing of what it has started.
    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}

/// The lines that come out of a pipe, until it is closed.
fn lines_of(pipe: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}

/// The session, by the agent's own id, if it was told.
fn session(agent: RealAgent, events: &[Value]) -> Option<String> {
    let (kind, key) = match agent {
        RealAgent::Claude => ("system", "session_id"),
        RealAgent::Codex => ("thread.started", "thread_id"),
        RealAgent::Gemini => ("init", "session_id"),
    };
    let told = events.iter().find(|event| event["type"] == kind)?;
    told[key].as_str().map(str::to_owned)
}

impl Done {
    /// The session, by the agent's own id.
    #[track_caller]
    pub(crate) fn session(&self, agent: RealAgent) -> String {
        session(agent, &self.events).unwrap_or_else(|| panic!("no session in {self:#?}"))
    }

    /// Whether the agent itself says that all went well, and its exit status agrees.
    pub(crate) fn is_success(&self, agent: RealAgent) -> bool {
        let last = self.events.last().unwrap_or(&Value::Null);
        let says_so = match agent {
            RealAgent::Claude => last["type"] == "result" && last["is_error"] == false,
            RealAgent::Codex => last["type"] == "turn.completed",
            RealAgent::Gemini => last["type"] == "result" && last["status"] == "success",
        };
        says_so && self.code == Some(0)
    }
}

/// All files below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}
