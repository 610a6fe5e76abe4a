//! A run that goes on in another database is refused here, with both files.

use agentos_core::id::RunId;
use agentos_engine::counterpart::{Counterpart, Counterparts, Reason};
use agentos_process::shell_word::quoted_path;
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;

use crate::error::{Cause, CommandError, Result};

/// Refuses a run that does not go on in this database. A process that drives runs asks after it has enlisted as an owner: a process
/// that moves runs looks for owners after it has made its note, so one of both sees the other.
pub(crate) async fn refuse_elsewhere(store: &SqliteStore, run: RunId) -> Result<()> {
    let Some(found) = Counterparts::of(store.path()).find(run) else { return Ok(()) };
    let name = store.run_detail(run).await?.run.run_id;
    let Counterpart { reason, database } = found;
    let (from, to) = (quoted_path(&database), quoted_path(store.path()));
    let (here, there) = (store.path().display(), database.display());
    let refused = match reason {
        Reason::Copy => CommandError::refused(format!(
            "{name} in {here} is a copy of an unfinished run in {there}, and only one of them can go on"
        ))
        .cli_hint(format!(
            "`agentos db migrate --move --from {from} --to {to} --run {name}` moves it here"
        ))
        .api_hint("have it moved here on the server's machine, or go on with it in that database"),
        Reason::Moved => CommandError::refused(format!(
            "{name} was moved from {here} to {there}, and goes on there"
        ))
        .cli_hint(format!("`AGENTOS_WORKFLOW_DB={from} agentos resume {name}` goes on with it"))
        .api_hint("ask a server that serves that database"),
    };
    Err(refused.because(Cause::RunIsElsewhere))
}
