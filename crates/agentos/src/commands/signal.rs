//! `agentos signal`: an event for a run.

use std::process::ExitCode;

use agentos_core::id::InboxKey;
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_store::inbox::{SendError, Sent};
use agentos_store::store::Store as _;
use uuid::Uuid;

use crate::error::{CommandError, Result};
use crate::session::{Opened, Session};
use crate::{executor, foreground, names};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// The event's name: what `waitFor` waits for
    #[arg(value_name = "EVENT")]
    name: String,

    /// What it carries: JSON, or else a text
    #[arg(value_name = "PAYLOAD")]
    payload: Option<String>,

    /// A key of your own: sent twice under one key, it counts once
    #[arg(long)]
    key: Option<String>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let name = Name::new(&args.name).map_err(|error| CommandError::usage(error.to_string()))?;
    let payload = args.payload.as_ref().map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
    });
    let key = args.key.as_ref().map_or_else(
        || InboxKey(format!("signal:{}", Uuid::new_v4())),
        |key| InboxKey(format!("signal:{key}")),
    );
    let opened = session.open_for(&args.run)?;
    let sent =
        send(&opened, &args.run, Message { key, body: MessageBody::Signal { name, payload } })
            .await?;
    if sent == Sent::Duplicate {
        session.output.note("the run has had this signal already");
    }
    Ok(ExitCode::SUCCESS)
}

/// Sends a message, and sees to it that somebody delivers it.
pub(super) async fn send(opened: &Opened, name: &str, message: Message) -> Result<Sent> {
    let store = &opened.store;
    let run = names::find(store, name).await?;
    let sent = match store.send(run, message, SystemClock.now()).await {
        Err(SendError::Ended { .. }) => return Err(foreground::ended(store, run).await),
        sent => sent?,
    };
    // Whoever answers a run that was stopped wants it to go on.
    Held::of(store.path()).let_go(run);
    if !foreground::is_driven(store, run).await? {
        executor::ensure(store, &opened.prepared.project_path).await?;
    }
    Ok(sent)
}
