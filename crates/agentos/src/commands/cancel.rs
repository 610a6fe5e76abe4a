//! `agentos cancel`: ends a run and what it has started, also when nobody drives it.

use std::process::ExitCode;
use std::time::Duration;

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::inbox::SendError;
use agentos_store::records::Records as _;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use uuid::Uuid;

use crate::databases::counterpart;
use crate::error::{Cause, CommandError, ErrorKind, Result};
use crate::session::Session;
use crate::view::Stream;
use crate::{foreground, names};

/// How long whoever drives the run may take to end it.
const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Why
    #[arg(long)]
    reason: Option<String>,

    /// Print the run as a JSON document
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    let run = names::find(store, &args.run).await?;
    let body = MessageBody::Cancel { reason: args.reason.clone() };
    let message = Message { key: InboxKey(format!("cancel:{}", Uuid::new_v4())), body };
    match store.send(run, message, SystemClock.now()).await {
        Ok(_) => end(session, store, run).await?,
        // Terminal stays terminal, and cancelling it changes nothing.
        Err(SendError::Ended { .. }) => session.output.note("the run has ended already"),
        Err(SendError::Elsewhere { source, .. }) => {
            return Err(counterpart::refused(store, run, source).await);
        }
        Err(error) => return Err(error.into()),
    }
    let detail = store.run_detail(run).await?;
    match args.json {
        true => session.output.document(&detail)?,
        false => {
            let (name, status) = (&detail.run.run_id, detail.run.status.as_str());
            session.output.lines([format!("{name}  {status}")])?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Sees to it that the run ends: by whoever has it, or here.
async fn end(session: &Session, store: &SqliteStore, run: RunId) -> Result<()> {
    if !foreground::is_driven(store, run).await? {
        let ours = (foreground::enlist(store)?, run);
        match foreground::drive(session, store, ours, Stream::Error).await {
            Ok(_) => return Ok(()),
            // It was moved in this moment, and what it was told with it.
            Err(error) if error.cause == Some(Cause::RunIsElsewhere) => return Err(error),
            // Another process was faster, and ends it or has ended it.
            Err(error) if matches!(error.kind, ErrorKind::Refused | ErrorKind::Usage) => {}
            Err(error) => return Err(error),
        }
    }
    let mut watch = store.watch()?;
    let ended = async {
        loop {
            if store.head(run).await?.standing.is_ended() {
                return Ok::<(), CommandError>(());
            }
            watch.changed().await;
        }
    };
    tokio::time::timeout(TIMEOUT, ended).await.unwrap_or_else(|_| {
        Err(CommandError::failed("whoever drives the run has been told, and has not ended it yet")
            .hint(
                "if that process hangs, `agentos resume --take-over` ends it, and the run with it",
            ))
    })
}
