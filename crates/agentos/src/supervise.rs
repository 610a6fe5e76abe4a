//! Who performs what runs order, and the hidden verb under which this program supervises one command.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use agentos_core::operation::OperationKind;
use agentos_engine::artifact::ArtifactPerformer;
use agentos_engine::files::FilesPerformer;
use agentos_engine::git::{ForgeSettings, GitPerformer, GitSettings};
use agentos_engine::performer::Performers;
use agentos_engine::shell::{Settings, ShellPerformer};
use agentos_engine::workspaces::{CheckedWorkspaces, Watched};
use agentos_process::launch::Launcher;
use agentos_process::secret::{Secrets, is_secret_name};
use agentos_process::supervisor;
use agentos_store::sqlite::SqliteStore;

use crate::agents;
use crate::lines::FileLines;
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::keeper::DeskKeeper;
use crate::workspace::setup;

/// The hidden verb.
const VERB: &str = "supervise";

/// What the folder beside the database is called in which commands have their directories: two databases in one folder have
/// one each.
const SUFFIX: &str = ".commands";

/// Supervises a command, if that is what the arguments ask for. It is looked at before anything else, because it has to be
/// quick and needs nothing of the rest.
pub(crate) fn asked_for(arguments: &[OsString]) -> Option<ExitCode> {
    match arguments {
        [_, verb, directory] if verb == VERB => Some(supervisor::main(Path::new(directory))),
        _ => None,
    }
}

/// Where the commands of a database's runs have their directories.
pub(crate) fn commands_folder(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(SUFFIX);
    name.into()
}

/// How supervisors are started: this program does it.
pub(crate) fn launcher() -> std::io::Result<Launcher> {
    Ok(Launcher::new(std::env::current_exe()?, [VERB]))
}

/// Those who perform what the runs of this database order.
pub(crate) fn performers(
    session: &Session,
    store: &SqliteStore,
    lines: FileLines,
) -> std::io::Result<Performers> {
    let grounds = grounds(session, store)?;
    let agents = agents::performer(session, store, lines.clone())?;
    let env = environment(session);
    let secrets = secrets(session, &env);
    let git = GitSettings {
        grounds: Box::new(grounds.clone()),
        env: env.clone(),
        secrets: secrets.clone(),
        root: commands_folder(store.path()),
        forge: forge(session),
        template: session.config.git.template(),
        records: Some(Arc::new(store.clone())),
        output: Box::new(lines.clone()),
    };
    let settings = Settings {
        secrets,
        env,
        output: Box::new(lines),
        grounds: Box::new(grounds.clone()),
        ..Settings::new(launcher()?, commands_folder(store.path()))
    };
    let shell = Watched::new(ShellPerformer::new(settings), grounds.clone());
    let git = Watched::new(GitPerformer::new(git), grounds.clone());
    let agents = Watched::new(agents, grounds.clone());
    Ok(Performers::new()
        .with(OperationKind::Shell, shell)
        .with(OperationKind::Files, FilesPerformer::new(grounds.clone()))
        .with(OperationKind::Artifact, ArtifactPerformer::new(grounds))
        .with(OperationKind::Git, git)
        .with(OperationKind::Agent, agents))
}

/// What is known of forges. Tokens are looked for in our own environment, which nothing that runs start inherits.
fn forge(session: &Session) -> ForgeSettings {
    let config = &session.config.forge;
    let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let token_env = said(&config.token_env.value);
    let variables = ForgeSettings::names(token_env.as_deref()).filter_map(|name| {
        let value = session.surroundings.variable(name)?.to_str()?;
        Some((name.to_owned(), value.to_owned()))
    });
    ForgeSettings {
        variables: variables.collect(),
        host: said(&config.host.value),
        kind: config.kind.value.0,
        api_url: said(&config.api_url.value),
        token_env,
        ..ForgeSettings::default()
    }
}

/// Where runs work: in their workspaces, which are looked at and set up before anything is done in them.
pub(crate) fn grounds(
    session: &Session,
    store: &SqliteStore,
) -> std::io::Result<CheckedWorkspaces> {
    let setup = setup::of(session, store)?;
    let records = Arc::new(store.clone());
    let grounds = CheckedWorkspaces::new(records, session.surroundings.clone());
    let keeper = DeskKeeper { desk: Desk::open(session, store).ok(), store: store.clone() };
    let has_direnv = session.config.workspace.has_direnv();
    Ok(grounds.set_up(setup).kept_by(keeper).direnv(has_direnv))
}

/// What every command finds in its environment besides what it needs.
pub(crate) fn environment(session: &Session) -> BTreeMap<String, String> {
    let shell = &session.config.shell;
    let passed = shell.pass.value.iter().filter_map(|name| {
        let value = session.surroundings.variable(name)?.to_str()?;
        Some((name.clone(), value.to_owned()))
    });
    passed.chain(shell.env.value.clone()).collect()
}

/// What nobody may see of whatever runs are asked to do.
pub(crate) fn masks(session: &Session) -> Secrets {
    let values = secrets(session, &environment(session));
    Secrets::of([], values.iter().map(String::as_str))
}

/// Values that nobody may see: those of variables that were declared, wherever they are.
pub(crate) fn secrets(session: &Session, env: &BTreeMap<String, String>) -> Vec<String> {
    let ours = session.surroundings.environment.iter();
    let ours = ours.filter_map(|(name, value)| Some((name.to_str()?, value.to_str()?)));
    let given = env.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let of_forge = &session.config.forge.token_env.value;
    let is_secret =
        |name: &str| session.config.secrets.has(name) || is_secret_name(name) || name == of_forge;
    let values = ours.chain(given).filter(|(name, _)| is_secret(name));
    values.map(|(_, value)| value.to_owned()).collect()
}
