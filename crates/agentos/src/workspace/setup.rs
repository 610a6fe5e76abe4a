//! The setup command of workspaces: whose word it is, and who has approved it.
//!
//! A repository may be anybody's, and its configuration would be executed with the user's rights. So a command from there
//! is approved once, by whoever runs it; another command needs another approval. What users write into their own
//! configuration is theirs.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use agentos_engine::workspaces::{Approval, SetUp};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::setup::{self, Setup};

use crate::config::setting::Origin;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::supervise;

/// How long it may take.
const TIMEOUT: Duration = Duration::from_secs(3_600);

/// What is executed in each workspace first, and who has a say in it.
pub(crate) fn of(session: &Session, store: &SqliteStore) -> std::io::Result<SetUp> {
    let command = session.config.workspace.setup.value.trim();
    // Also a run that was started with another command asks for its approval.
    let approval: Option<Arc<dyn Approval>> = Some(Arc::new(approvals(session)));
    if command.is_empty() {
        return Ok(SetUp { setup: None, approval });
    }
    let env = supervise::environment(session);
    let setup = Setup {
        command: command.to_owned(),
        launcher: supervise::launcher()?,
        root: supervise::commands_folder(store.path()),
        secrets: supervise::secrets(session, &env),
        env,
        timeout: TIMEOUT,
    };
    Ok(SetUp { setup: Some(setup), approval })
}

/// Approves the setup command, if there is one that has to be.
pub(crate) fn allow(session: &Session) -> Result<()> {
    match unapproved(session) {
        Some((approvals, subject)) => approvals.give(&subject).map_err(CommandError::failed),
        None => Ok(()),
    }
}

/// Refuses a setup that nobody has approved, before anything is made; or approves it, if that is what is asked for.
pub(crate) fn check(session: &Session, is_allowed: bool) -> Result<()> {
    if is_allowed {
        return allow(session);
    }
    if unapproved(session).is_none() {
        return Ok(());
    }
    let command = session.config.workspace.setup.value.trim();
    Err(CommandError::refused(format!(
        "this repository wants to execute a command in each workspace, which you have not approved: `{command}`"
    ))
    .cli_hint("if you trust it, say `--allow-setup` once"))
}

/// What an approval of the present command is given for.
pub(crate) fn subject(session: &Session) -> Option<String> {
    let command = session.config.workspace.setup.value.trim();
    let subject = setup::hash_of(command, &approvals(session).repository);
    (!command.is_empty()).then_some(subject)
}

fn unapproved(session: &Session) -> Option<(Approvals, String)> {
    let command = session.config.workspace.setup.value.trim();
    let approvals = approvals(session);
    let subject = approvals.wanted(command).filter(|_| !command.is_empty())?;
    Some((approvals, subject))
}

/// Who has a say in what comes from the repository; nobody in what users have written themselves.
fn approvals(session: &Session) -> Approvals {
    let setting = &session.config.workspace.setup;
    let is_foreign = matches!(setting.origin, Origin::Repository { .. });
    let own = (!is_foreign).then(|| setting.value.trim().to_owned());
    let file = session.surroundings.state_folder().map(|folder| folder.join("approved-setups"));
    let location = session.location().ok();
    let checkout = location.and_then(|location| {
        location.maker.as_ref().or_else(|| location.checkout.as_ref().ok()?.as_ref())
    });
    let repository = checkout.map(|checkout| checkout.repository.clone()).unwrap_or_default();
    Approvals { file, repository, own }
}

/// Approvals in a file of the user's.
#[derive(Debug)]
struct Approvals {
    /// Without a home, each approval is given anew.
    file: Option<PathBuf>,
    repository: PathBuf,
    /// What users have written themselves needs none.
    own: Option<String>,
}

impl Approval for Approvals {
    fn wanted(&self, command: &str) -> Option<String> {
        let subject = setup::hash_of(command, &self.repository);
        let is_own = self.own.as_deref() == Some(command);
        let is_approved = self.file.as_ref().is_some_and(|file| setup::is_approved(file, &subject));
        (!is_own && !is_approved).then_some(subject)
    }

    fn give(&self, subject: &str) -> std::result::Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        setup::approve(file, subject).map_err(|error| error.to_string())
    }
}
