//! A run that goes on in another database is refused here, with both files and a command that helps.

use std::path::PathBuf;

use agentos_core::id::RunId;
use agentos_process::shell_word::quoted_path;
use agentos_store::counterpart::{Counterpart, Counterparts, ElsewhereError, Reason};
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;

use crate::error::{Cause, CommandError, Result};

/// A run that goes on in another database, or has ended there.
#[derive(Debug, Clone)]
pub(crate) struct Elsewhere {
    pub(crate) counterpart: Counterpart,
    /// This database.
    here: PathBuf,
    /// How the run has ended there, if it has.
    ended: Option<WorkflowStatus>,
}

impl Elsewhere {
    /// Looks for it. The other database is only looked at.
    pub(crate) async fn find(store: &SqliteStore, run: RunId) -> Option<Self> {
        let counterpart = Counterparts::of(store.path()).find(run).ok().flatten()?;
        Some(Self::new(store, run, counterpart).await)
    }

    async fn new(store: &SqliteStore, run: RunId, counterpart: Counterpart) -> Self {
        let ended = status_in(&counterpart, run).await;
        Self { counterpart, here: store.path().to_owned(), ended }
    }

    /// The same refusal with what helps: what ends the run there, or brings it up to date here.
    pub(crate) fn advise(&self, refused: CommandError, name: &str) -> CommandError {
        let (from, to) = (quoted_path(&self.counterpart.database), quoted_path(&self.here));
        match (self.ended, self.counterpart.reason) {
            (Some(_), _) => refused
                .cli_hint(format!(
                    "`agentos db migrate --from {from} --to {to} --run {name}` brings it up to date here"
                ))
                .api_hint("have it brought up to date on the server's machine: `agentos db migrate`"),
            (None, Reason::Copy) => refused
                .cli_hint(format!(
                    "`agentos db migrate --move --from {from} --to {to} --run {name}` moves it here"
                ))
                .api_hint("have it moved here on the server's machine, or go on with it in that database"),
            (None, Reason::Moved) => refused
                .cli_hint(format!(
                    "`AGENTOS_WORKFLOW_DB={from} agentos resume {name}` goes on with it there, and `cancel` ends it"
                ))
                .api_hint("ask a server that serves that database"),
        }
    }

    /// Why it can't be driven, answered or ended here.
    fn message(&self, name: &str) -> String {
        let (here, there) = (self.here.display(), self.counterpart.database.display());
        match (self.counterpart.reason, self.ended) {
            (Reason::Copy, None) => format!(
                "{name} in {here} is a copy of an unfinished run in {there}, and only one of them can go on"
            ),
            (Reason::Copy, Some(status)) => format!(
                "{name} in {here} is an old copy of a run in {there}, which is {} there",
                status.as_str()
            ),
            (Reason::Moved, None) => {
                format!("{name} was moved from {here} to {there}, and goes on there")
            }
            (Reason::Moved, Some(status)) => {
                format!("{name} was moved from {here} to {there}, and is {} there", status.as_str())
            }
        }
    }
}

/// How a run has ended in the other database; none if it has not, or if that can't be read.
async fn status_in(counterpart: &Counterpart, run: RunId) -> Option<WorkflowStatus> {
    let store = SqliteStore::open_to_look(&counterpart.database).ok()?;
    let run = store.run_detail(run).await.ok()?.run;
    run.completed_at.map(|_| run.status)
}

/// Refuses a run that does not go on in this database, before anything is done for it. It may be moved a moment later: what
/// counts is what the store says when the run is claimed or sent a message.
pub(crate) async fn refuse_elsewhere(store: &SqliteStore, run: RunId) -> Result<()> {
    match Counterparts::of(store.path()).check(run) {
        Ok(()) => Ok(()),
        Err(error) => Err(refused(store, run, error).await),
    }
}

/// The refusal of a run that does not go on in this database.
pub(crate) async fn refused(
    store: &SqliteStore,
    run: RunId,
    error: ElsewhereError,
) -> CommandError {
    let detail = store.run_detail(run).await;
    let name = detail.map_or_else(|_| run.to_string(), |detail| detail.run.run_id);
    let refused = match error {
        ElsewhereError::Counterpart(counterpart) => {
            let elsewhere = Elsewhere::new(store, run, counterpart).await;
            elsewhere.advise(CommandError::refused(elsewhere.message(&name)), &name)
        }
        ElsewhereError::Unreadable(note) => {
            CommandError::refused(format!("{name} does not go on: {note}"))
                .hint("if it goes on from no other database, remove that file")
        }
    };
    refused.because(Cause::RunIsElsewhere)
}
