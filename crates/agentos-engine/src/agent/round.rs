//! One process of a session: what is started, and following it to its end.

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use agentos_agent::agent::{Command, Request, Session};
use agentos_core::failure::Failure;
use agentos_core::id::Try;
use agentos_core::value::Value;
use agentos_process::attached::{Event, FollowError, is_out_of_room};
use agentos_process::bounds::STARTS;
use agentos_process::directory::Directory;
use agentos_process::environment::built_up;
use agentos_process::exit::Exit;
use agentos_process::launch::request_stop;
use agentos_process::secret::{Secrets, is_secret_name};
use agentos_process::spec::{CommandSpec, Limits, Program};

use serde_json::json;

use super::budget::Spent;
use super::conduct::{Conduct, Told, Turn};
use super::listener::{Listener, Round};
use super::{failed, refused};
use crate::room::{self, IsWanted, wait_for_room};
use crate::shell::{Refusal, directory_name, run_folder};

/// How long until it is noticed that nobody wants to know any more.
const LOOK: Duration = Duration::from_millis(500);

/// Shortest header of an MCP server that is masked, in bytes: shorter ones are no keys.
const HEADER_BYTES: usize = 8;

impl Conduct {
    /// What the agent is asked in a round.
    pub(super) fn request(&self, turn: &Turn, spent: &Spent) -> Request {
        let name = self.whose.operation.name();
        let left = self.asked.budget.usd.map(|usd| (usd - spent.known_usd()).max(0.0));
        // Whoever goes on counts from the beginning of the conversation.
        let before = match turn.session {
            Session::New(_) => 0.0,
            Session::Resumed(_) => turn.before.cost_usd,
        };
        Request {
            name: name.map(|name| name.to_string()).unwrap_or_default(),
            attempt: self.whose.operation.scope().attempt().0,
            prompt: turn.prompt.clone(),
            session: turn.session.clone(),
            model: self.model().map(ToOwned::to_owned),
            system_prompt: self.asked.system_prompt.clone(),
            permission: self.asked.permission,
            allowed_tools: self.asked.allowed_tools.clone(),
            max_turns: self.asked.max_turns,
            max_usd: left.map(|left| left + before),
            mcp_servers: self.asked.mcp_servers.clone(),
            folder: self.folder(),
        }
    }

    /// What is started for a request, with so much time gone.
    pub(super) fn spec(
        &self,
        request: &Request,
        secrets: &Secrets,
        gone: Duration,
    ) -> Result<CommandSpec, Refusal> {
        let command = self.member.agent.command(request);
        let Command { argv, input, env, files } =
            command.map_err(|error| refused(error.to_string()))?;
        for (path, text) in &files {
            write(path, text).map_err(|error| match is_out_of_room(&error) {
                true => Refusal::Held(room::hold("what the agent is given to read")),
                false => failed(format!("{} can't be written: {error}", path.display())).into(),
            })?;
        }
        let env = self.environment(env);
        let limits = Limits {
            wall: self.asked.time_left(gone),
            idle: self.asked.idle(),
            orphan: self.settings.orphan,
            ..Limits::default()
        };
        let cwd = self.ground.inside(self.asked.cwd.as_deref())?;
        let spec = CommandSpec::new(Program::Argv(argv), cwd);
        let spec = spec.map_err(|error| failed(format!("no mark could be drawn: {error}")))?;
        Ok(CommandSpec { env, secrets: secrets.clone(), limits, input, ..spec })
    }

    /// What must not be seen of this session.
    pub(super) fn secrets(&self) -> Secrets {
        let env = self.environment(BTreeMap::new());
        let named = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let of_servers = self.asked.mcp_servers.values().flat_map(secrets_of_server);
        let declared = self.settings.secrets.iter().map(String::as_str);
        Secrets::of(named, declared.chain(of_servers))
    }

    /// Refuses a limit that could never be noticed, before anything costs money.
    pub(super) fn check_budget(&self) -> Result<(), Failure> {
        let (agent, budget) = (&self.member, self.asked.budget);
        if budget.tokens.is_some() && !agent.agent.tells_usage() {
            let advice = "it does not say what it uses; use `timeout`";
            return Err(refused(format!("`{}` can't have a budget: {advice}", agent.name)));
        }
        let has_price =
            || self.model().is_some_and(|model| self.settings.prices.of(model).is_some());
        if budget.usd.is_some() && !agent.agent.tells_cost() && !has_price() {
            let advice = "it does not say what it costs; name its `model` and add [prices.\"MODEL\"] to the configuration, or use `budget: { tokens }`";
            return Err(refused(format!(
                "`{}` can't have a budget in dollars: {advice}",
                agent.name
            )));
        }
        match budget.exceeded(&self.carried()) {
            Some(said) => {
                let refusal = refused(format!("{said} before it was interrupted"));
                Err(Failure { detail: Some(json!({ "exit_reason": "budget" })), ..refusal })
            }
            None => Ok(()),
        }
    }

    /// What earlier tries have used.
    pub(super) fn carried(&self) -> Spent {
        let Some(before) = self.whose.r#try.0.checked_sub(1).filter(|before| *before > 0) else {
            return Spent::default();
        };
        let text = std::fs::read(self.spent_path(Try(before))).unwrap_or_default();
        // Where nothing is on record, it is not known what it used.
        serde_json::from_slice(&text).unwrap_or_else(|_| Spent::default().short())
    }

    /// The next try finds what was used up to here.
    pub(super) fn carry(&self, spent: &Spent, is_wanted: IsWanted<'_>) -> Result<(), Failure> {
        let path = self.spent_path(self.whose.r#try);
        let text = json!(spent).to_string();
        wait_for_room(is_wanted, || write(&path, &text))
            .map_err(|error| failed(format!("{} can't be written: {error}", path.display())))
    }

    fn spent_path(&self, r#try: Try) -> PathBuf {
        let name = directory_name(&self.whose.operation, r#try);
        self.folder().join(format!("spent-{name}.json"))
    }

    /// Where files of the run's sessions are that are nobody else's.
    fn folder(&self) -> PathBuf {
        run_folder(&self.settings.root, self.whose.run).join("agents")
    }

    /// The agent's own keys and addresses and nobody else's; what its user has configured counts more.
    fn environment(&self, switches: BTreeMap<String, String>) -> BTreeMap<String, String> {
        let own = self.settings.environment.iter();
        let own = own.filter(|(name, _)| self.member.takes(name));
        let own = own.map(|(name, value)| (name.clone(), value.clone()));
        let asked = self.member.env.iter().chain(&self.asked.env).chain(&self.ground.env);
        let asked = asked.map(|(name, value)| (name.clone(), value.clone()));
        let inherited = self.settings.environment.iter();
        let inherited = inherited.map(|(name, value)| (name.into(), value.into()));
        built_up(inherited, own.chain(switches).chain(asked))
    }

    /// Starts the process or finds it, and follows it to its end. Nothing if nobody wants to know any more.
    pub(super) fn follow(
        &self,
        (path, spec): (&Path, &CommandSpec),
        (listener, round): (&mut Listener<'_>, &mut Round),
        tell: &Told,
    ) -> Result<Option<Exit>, FollowError> {
        for _ in 0..STARTS {
            let directory = Directory::at(path)?;
            let mut attached = self.settings.launcher.start_or_attach(path, spec)?;
            let mut is_stopped = false;
            loop {
                let event = attached.next(LOOK)?;
                if tell.is_closed() {
                    return Ok(None);
                }
                match event {
                    Event::Output(frame) => listener.output(round, &frame),
                    Event::Gap(_) => listener.gap(round),
                    Event::Ended(exit) => return Ok(Some(*exit)),
                    Event::Vacant => break,
                    Event::Quiet => listener.quiet(),
                }
                if round.excess.is_some() && !is_stopped {
                    is_stopped = match request_stop(&directory) {
                        // It is asked again.
                        Err(error) if is_out_of_room(&error) => false,
                        asked => asked.map(|()| true)?,
                    };
                }
            }
        }
        Err(self.settings.launcher.no_supervisor())
    }
}

/// What must not be seen of an MCP server: what it is sent to show who asks, and variables whose names say so.
fn secrets_of_server(server: &Value) -> Vec<&str> {
    let fields = |name| server.get(name).and_then(Value::as_object).into_iter().flatten();
    let headers = fields("headers").chain(fields("http_headers"));
    let values = headers.chain(fields("env").filter(|(name, _)| is_secret_name(name)));
    let values = values.filter_map(|(_, value)| value.as_str());
    // `Bearer KEY`: the key alone is secret too.
    values
        .flat_map(|value| [value, value.rsplit(' ').next().unwrap_or(value)])
        .filter(|value| value.len() >= HEADER_BYTES)
        .collect()
}

/// Writes a file that only its user may read: there may be keys in it.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    use std::io::Write as _;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut options = std::fs::OpenOptions::new();
    options.create(true).truncate(true).write(true).mode(0o600);
    options.open(path)?.write_all(text.as_bytes())
}
