//! One process of a session: what is started, and following it to its end.

use std::collections::BTreeMap;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::Duration;

use agentos_agent::agent::{Command, Request, Session};
use agentos_core::failure::Failure;
use agentos_process::attached::{Event, FollowError};
use agentos_process::bounds::STARTS;
use agentos_process::directory::Directory;
use agentos_process::environment::built_up;
use agentos_process::exit::Exit;
use agentos_process::launch::request_stop;
use agentos_process::secret::Secrets;
use agentos_process::spec::{CommandSpec, Limits, Program};

use super::conduct::{Conduct, Told};
use super::listener::{Listener, Round};
use super::{failed, refused};
use crate::shell::run_folder;

/// How long until it is noticed that nobody wants to know any more.
const LOOK: Duration = Duration::from_millis(500);

impl Conduct {
    /// What the agent is asked in a round.
    pub(super) fn request(&self, session: Session, prompt: String) -> Request {
        let name = self.whose.operation.name();
        Request {
            name: name.map(|name| name.to_string()).unwrap_or_default(),
            attempt: self.whose.operation.scope().attempt().0,
            prompt,
            session,
            model: self.model().map(ToOwned::to_owned),
            system_prompt: self.asked.system_prompt.clone(),
            permission: self.asked.permission,
            allowed_tools: self.asked.allowed_tools.clone(),
            max_turns: self.asked.max_turns,
            max_usd: self.asked.budget.usd,
            mcp_servers: self.asked.mcp_servers.clone(),
            folder: run_folder(&self.settings.root, self.whose.run).join("agents"),
        }
    }

    /// What is started for a request, with so much time gone.
    pub(super) fn spec(&self, request: &Request, gone: Duration) -> Result<CommandSpec, Failure> {
        let command = self.member.agent.command(request);
        let Command { argv, input, env, files } =
            command.map_err(|error| refused(error.to_string()))?;
        for (path, text) in &files {
            write(path, text)
                .map_err(|error| failed(format!("{} can't be written: {error}", path.display())))?;
        }
        let env = self.environment(env);
        let named = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let secrets = Secrets::of(named, self.settings.secrets.iter().map(String::as_str));
        let limits = Limits {
            wall: self.asked.time_left(gone),
            idle: self.asked.idle(),
            orphan: self.settings.orphan,
            ..Limits::default()
        };
        let cwd = self.ground.inside(self.asked.cwd.as_deref())?;
        let spec = CommandSpec::new(Program::Argv(argv), cwd);
        let spec = spec.map_err(|error| failed(format!("no mark could be drawn: {error}")))?;
        Ok(CommandSpec { env, secrets, limits, input, ..spec })
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
                    is_stopped = true;
                    request_stop(&directory)?;
                }
            }
        }
        Err(self.settings.launcher.no_supervisor())
    }
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
