//! Something of the user's, executed inside of a workspace: in the user's terminal, with the user's environment less what
//! would lead git elsewhere.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::ExitCode;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::workspaces::SetUp;
use agentos_process::interactive::Interactive;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::direnv::{self, DirenvError};
use agentos_workspace::workspace::occupy::{Ending, Work};
use agentos_workspace::workspace::setup::Setup;
use agentos_workspace::workspace::{State, Workspace, guard, hold};
use agentos_workspace::{metadata, stale_lock};

use crate::databases::locks;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::signals::Signals;
use crate::workspace::desk::Desk;
use crate::workspace::setup;

/// Executes it, and writes down that somebody was at work.
pub(super) async fn execute(
    session: &Session,
    desk: &Desk,
    (mut workspace, more): (Workspace, BTreeMap<String, String>),
    words: &[OsString],
) -> Result<ExitCode> {
    let (program, arguments) =
        words.split_first().ok_or_else(|| CommandError::usage("there is no command"))?;
    let interactive = Interactive {
        program: program.clone(),
        arguments: arguments.to_vec(),
        folder: workspace.path.clone(),
        environment: environment(session, &workspace, more),
    };
    let command = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let work = Work { command: Some(command), ..Work::default() };
    // Whoever is killed holds it no longer, whatever is written down.
    let _holding =
        hold::hold(&workspace).map_err(|error| CommandError::failed(error.to_string()))?;
    let (path, folder) = (workspace.path.clone(), workspace.path.clone());
    let unlocked = tokio::task::spawn_blocking(move || stale_lock::remove_left_in(&path, false));
    if let Ok(Err(error)) = unlocked.await {
        tracing::warn!(%error, "locks of git may be left in the workspace");
    }
    if let Some(user) = user(desk, &workspace).await {
        session.output.note(&format!("{user} works in it too"));
        return beside(interactive).await;
    }
    let mut workspace = desk
        .work(move |yard| {
            yard.occupy(&mut workspace, &work, SystemClock.now())?;
            Ok::<_, agentos_workspace::workspace::occupy::OccupyError>(workspace)
        })
        .await?;
    // Whoever is interrupted at the terminal decides for itself; we wait for its end and write that down.
    let _listening = Signals::listen()?;
    let ran = tokio::task::spawn_blocking(move || interactive.run()).await;
    let ran =
        ran.map_err(|error| CommandError::failed(format!("nobody waited for it: {error}")))?;
    let ending = match &ran {
        Ok(code) => Ending { exit_code: Some(*code), error: None },
        Err(error) => Ending { exit_code: None, error: Some(error.to_string()) },
    };
    let told = guard::end(&session.surroundings, &workspace);
    let kept = desk.work(move |yard| yard.release(&mut workspace, &ending, SystemClock.now()));
    kept.await?.iter().for_each(|line| session.output.note(line));
    told.iter().for_each(|line| session.output.note(&format!("in the repository: {line}")));
    let code = ran.map_err(|error| CommandError::failed(error.to_string()))?;
    if code != 0 {
        locks::tell_of_unseen(session, &folder).await;
    }
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Who has the workspace, if somebody has who has not ended.
async fn user(desk: &Desk, workspace: &Workspace) -> Option<String> {
    let known = desk.find(&workspace.id).await.ok().flatten()?;
    let run = known.run.filter(|_| known.state == State::InUse)?;
    desk.is_open(&run).await.then_some(())?;
    Some(format!("the run {}", desk.name_of(&run).await))
}

/// Executes it where a run works. What is written down stays the run's.
async fn beside(interactive: Interactive) -> Result<ExitCode> {
    let _listening = Signals::listen()?;
    let ran = tokio::task::spawn_blocking(move || interactive.run()).await;
    let ran =
        ran.map_err(|error| CommandError::failed(format!("nobody waited for it: {error}")))?;
    let code = ran.map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// The environment that the workspace's `.envrc` makes.
pub(super) fn direnv(
    session: &Session,
    workspace: &Workspace,
    is_allowed: bool,
) -> Result<BTreeMap<String, String>> {
    if !session.config.workspace.has_direnv() {
        return Ok(BTreeMap::new());
    }
    let surroundings = &session.surroundings;
    let allowed = match is_allowed && workspace.path.join(".envrc").exists() {
        true => direnv::allow(surroundings, workspace),
        false => Ok(()),
    };
    allowed.and_then(|()| direnv::environment(surroundings, workspace)).map_err(|error| match error
    {
        DirenvError::Blocked { .. } => CommandError::refused(error.to_string()).hint(
            "if you trust it, say `--allow-direnv`; `workspace.direnv = \"never\"` does without it",
        ),
        _ => CommandError::failed(error.to_string()),
    })
}

/// Sets it up first, if that was not done before.
pub(super) async fn set_up(
    session: &Session,
    store: &SqliteStore,
    workspace: &Workspace,
) -> Result<()> {
    let SetUp { setup: Some(setup), .. } = setup::of(session, store)? else { return Ok(()) };
    let added = environment(session, workspace, BTreeMap::new());
    let added = added.iter().filter(|(name, _)| name.to_string_lossy().starts_with("AGENT_"));
    let added = added
        .filter_map(|(name, value)| Some((name.to_str()?.to_owned(), value.to_str()?.to_owned())));
    let env = setup.env.clone().into_iter().chain(added).collect();
    let (setup, workspace) = (Setup { env, ..setup }, workspace.clone());
    let done = tokio::task::spawn_blocking(move || setup.ensure(&workspace)).await;
    let done =
        done.map_err(|error| CommandError::failed(format!("nobody waited for it: {error}")))?;
    done.map_err(|error| CommandError::failed(error.to_string()))
}

fn environment(
    session: &Session,
    workspace: &Workspace,
    more: BTreeMap<String, String>,
) -> BTreeMap<OsString, OsString> {
    let inherited = session.surroundings.environment.iter();
    let inherited = inherited.filter(|(name, _)| !name.to_string_lossy().starts_with("GIT_"));
    let mut environment: BTreeMap<OsString, OsString> =
        inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
    environment.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
    environment.extend([
        ("AGENT_WORKSPACE_ID".into(), workspace.id.as_str().into()),
        ("AGENT_WORKSPACE_PATH".into(), workspace.path.clone().into()),
        (metadata::VARIABLE.into(), workspace.path.join(metadata::FILE).into()),
        ("AGENT_WORKSPACE_REPO_ROOT".into(), workspace.repo_root.clone().into()),
        // Shells believe it where it leads to the same folder.
        ("PWD".into(), workspace.path.clone().into()),
    ]);
    environment
}
