//! The setup command of workspaces: whose word it is, and who has approved it.
//!
//! A repository may be anybody's, and its configuration would be executed with the user's rights. So a command from there
//! is approved once, by whoever runs it; another command needs another approval. What users write into their own
//! configuration is theirs.

use std::path::PathBuf;
use std::time::Duration;

use agentos_engine::workspaces::SetUp;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::setup::{self, Setup};

use crate::config::setting::Origin;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::supervise;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// What is executed in each workspace first.
pub(crate) fn of(session: &Session, store: &SqliteStore) -> std::io::Result<SetUp> {
    let setting = &session.config.workspace.setup;
    let command = setting.value.trim();
    if command.is_empty() {
        return Ok(SetUp::Nothing);
    }
    if !is_approved(session) {
        return Ok(SetUp::NotApproved { command: command.to_owned() });
    }
    let env = supervise::environment(session);
    Ok(SetUp::With(Setup {
        command: command.to_owned(),
        launcher: supervise::launcher()?,
        root: supervise::commands_folder(store.path()),
        secrets: supervise::secrets(session, &env),
        env,
        timeout: TIMEOUT,
    }))
}

/// Refuses a setup that nobody has approved, before anything is made; or approves it, if that is what is asked for.
pub(crate) fn check(session: &Session, is_allowed: bool) -> Result<()> {
    if is_approved(session) {
        return Ok(());
    }
    let command = session.config.workspace.setup.value.trim();
    let Some((file, hash)) = key(session) else { return Ok(()) };
    if is_allowed {
        return setup::approve(&file, &hash)
            .map_err(|error| CommandError::failed(error.to_string()));
    }
    Err(CommandError::refused(format!(
        "this repository wants to execute a command in each workspace, which you have not approved: `{command}`"
    ))
    .hint("if you trust it, say `--allow-setup` once; `--workspace none` does without"))
}

fn is_approved(session: &Session) -> bool {
    let setting = &session.config.workspace.setup;
    let is_foreign = matches!(setting.origin, Origin::Repository { .. });
    let is_empty = setting.value.trim().is_empty();
    is_empty
        || !is_foreign
        || key(session).is_some_and(|(file, hash)| setup::is_approved(&file, &hash))
}

/// Where approvals are kept, and what this one is given for.
fn key(session: &Session) -> Option<(PathBuf, String)> {
    let file = session.surroundings.state_folder()?.join("approved-setups");
    let location = session.location().ok()?;
    let checkout = location.checkout.as_ref().ok()?.as_ref();
    let repository = &location.maker.as_ref().or(checkout)?.repository;
    Some((file, setup::hash_of(session.config.workspace.setup.value.trim(), repository)))
}
