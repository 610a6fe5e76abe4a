//! Coding agents on the command line: who performs their sessions, who takes whose place, and the hidden verb under which
//! this program plays scenarios.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use agentos_agent::permission::Permission;
use agentos_agent::roster::Roster;
use agentos_agent::scripted::play::{Play, play};
use agentos_agent::scripted::scenario::Scenario;
use agentos_agent::usage::Usage;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_engine::agent::{AgentPerformer, KnownSession, Sessions, Settings};
use agentos_process::bounds::INPUT_BYTES;
use agentos_store::records::{Records as _, SessionRecord};
use agentos_store::sqlite::SqliteStore;
use async_trait::async_trait;

use crate::error::{Cause, CommandError, Result};
use crate::lines::FileLines;
use crate::output;
use crate::session::Session;
use crate::supervise;

/// The hidden verb.
const VERB: &str = "agent-script";

/// Where the scripted agent remembers sessions, among the folders of runs: a run that mends another one goes on with them.
const MEMORY: &str = "scripted";

/// How long an agent may be left alone: an upgrade or a lost terminal takes less, and agents cost money.
const ORPHAN: Duration = Duration::from_secs(3_600);

/// Plays a scenario, if that is what the arguments ask for.
pub(crate) fn asked_for(arguments: &[OsString]) -> Option<ExitCode> {
    let arguments = arguments.get(1..)?;
    let (verb, flags) = arguments.split_first()?;
    if verb != VERB {
        return None;
    }
    let played = part(flags).and_then(|part| {
        play(&part, &mut std::io::stdout()).map_err(|error| CommandError::failed(error.to_string()))
    });
    Some(played.map_or_else(
        |error| {
            output::complain(&error);
            ExitCode::FAILURE
        },
        ExitCode::from,
    ))
}

/// What is to be played: as [`Roster`] writes it down.
fn part(flags: &[OsString]) -> Result<Play> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let given: BTreeMap<String, String> =
        flags.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect();
    let flag = |name: &str| given.get(name).cloned();
    let needed = |name: &str| {
        flag(name).ok_or_else(|| CommandError::usage(format!("`{VERB}` needs {name}")))
    };
    let resumed = flag("--resume");
    let mut prompt = String::new();
    std::io::stdin().lock().take(INPUT_BYTES as u64).read_to_string(&mut prompt)?;
    Ok(Play {
        scenario: PathBuf::from(needed("--scenario")?),
        agent: needed("--as")?,
        name: needed("--name")?,
        attempt: flag("--attempt").and_then(|number| number.parse().ok()).unwrap_or(1),
        is_resumed: resumed.is_some(),
        session: resumed.map_or_else(|| needed("--session"), Ok)?,
        prompt,
        model: flag("--model"),
        max_turns: flag("--max-turns").and_then(|number| number.parse().ok()),
        permission: flag("--permission")
            .and_then(|name| Permission::named(&name))
            .unwrap_or(Permission::ReadOnly),
        state: PathBuf::from(needed("--state")?),
        workspace: std::env::current_dir()?,
    })
}

/// Which agents there are here. The scripted one remembers its sessions in that folder.
pub(crate) fn roster(session: &Session, memory: &Path) -> std::io::Result<Roster> {
    let program = std::env::current_exe()?.to_string_lossy().into_owned();
    let folder = session.location().ok().and_then(|location| location.project_path().ok());
    let specs = session.config.agents.specs.value.clone();
    let memory = memory.to_string_lossy().into_owned();
    let player = vec![program, VERB.to_owned(), "--state".to_owned(), memory];
    Ok(Roster::new(specs, player, folder.unwrap_or(Path::new("."))))
}

/// Who performs sessions of the runs of this database.
pub(crate) fn performer(
    session: &Session,
    store: &SqliteStore,
    lines: FileLines,
) -> std::io::Result<AgentPerformer> {
    let environment = session.surroundings.environment.iter();
    let environment = environment
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let specs = session.config.agents.specs.value.values();
    let given = specs.flat_map(|spec| spec.env.clone()).collect();
    let root = supervise::commands_folder(store.path());
    let roster = roster(session, &root.join(MEMORY))?;
    Ok(AgentPerformer::new(Settings {
        launcher: supervise::launcher()?,
        root,
        grounds: Box::new(supervise::grounds(session, store)?),
        roster,
        prices: session.config.prices.table.value.clone(),
        environment: environment.collect(),
        secrets: supervise::secrets(session, &given),
        orphan: Some(ORPHAN),
        output: Box::new(lines),
        sessions: Box::new(Kept(store.clone())),
    }))
}

/// Sessions as the store's rows have them.
struct Kept(SqliteStore);

#[async_trait]
impl Sessions for Kept {
    async fn of(&self, run: RunId) -> Result<Vec<KnownSession>, Failure> {
        let detail = self.0.run_detail(run).await.map_err(|error| {
            let message = format!("the run's sessions can't be read: {error}");
            Failure::new(FailureKind::Error, message)
        })?;
        Ok(detail.agent_sessions.into_iter().map(known).collect())
    }
}

fn known(record: SessionRecord) -> KnownSession {
    let tokens = |count: Option<i64>| count.and_then(|count| count.try_into().ok());
    let usage = || {
        Some(Usage {
            input_tokens: tokens(record.input_tokens)?,
            output_tokens: tokens(record.output_tokens)?,
            cached_tokens: tokens(record.cached_tokens)?,
        })
    };
    KnownSession {
        usage: usage(),
        name: record.name,
        agent: record.agent,
        session_id: record.session_id,
        cost_usd: record.cost_usd,
    }
}

/// Who works in the place of which agent or plays which of these roles, as the command line says: `NAME=OTHER`, or
/// `NAME=OTHER:FILE` for one that plays scenarios.
pub(crate) fn replacements(
    session: &Session,
    roles: &BTreeMap<String, String>,
    said: &[String],
    folder: &Path,
) -> Result<BTreeMap<String, String>> {
    let roster = roster(session, Path::new(""))?;
    let mut found = BTreeMap::new();
    for said in said {
        let wrong = || {
            CommandError::usage(format!("`{said}` names no agents"))
                .because(Cause::Agents)
                .cli_hint("say `--agent NAME=OTHER`, or `--agent NAME=scripted:FILE`")
                .api_hint("say `{\"NAME\": \"OTHER\"}`, or `{\"NAME\": \"scripted:FILE\"}`")
        };
        let (name, other) = said.split_once('=').ok_or_else(wrong)?;
        let field = format!("/agents/{}", name.replace('~', "~0").replace('/', "~1"));
        if name.is_empty() || other.is_empty() {
            return Err(wrong().field(field));
        }
        let known: Vec<String> = roles.keys().cloned().chain(roster.names()).collect();
        if !known.iter().any(|known| known == name) {
            let role = if roles.is_empty() { "" } else { "role or " };
            let known = known.join(", ");
            let wrong = format!("`{said}`: there is no {role}agent `{name}`; there are {known}");
            return Err(CommandError::usage(wrong).because(Cause::Agents).field(field));
        }
        if found.contains_key(name) {
            let wrong = format!("`{said}`: the place of `{name}` is taken already");
            return Err(CommandError::usage(wrong)
                .because(Cause::Agents)
                .hint("say it once")
                .field(field));
        }
        let other = match other.split_once(':') {
            Some((other, file)) => {
                let file = scenario(&folder.join(file)).map_err(|error| error.field(&field))?;
                format!("{other}:{}", file.display())
            }
            None => other.to_owned(),
        };
        found.insert(name.to_owned(), other);
        let member = roster.member(name, &found);
        member.map_err(|error| {
            CommandError::usage(error.to_string()).because(Cause::Agents).field(field)
        })?;
    }
    Ok(found)
}

/// A scenario that can be played, wherever the run is gone on with.
fn scenario(path: &Path) -> Result<PathBuf> {
    Scenario::load(path)
        .map_err(|error| CommandError::usage(error.to_string()).because(Cause::Agents))?;
    Ok(path.canonicalize()?)
}
