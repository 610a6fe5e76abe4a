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

use crate::error::{Cause, CommandError, Result};
use crate::session::{Opened, Session};
use crate::{foreground, names};

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

/// An event for a run.
pub(crate) struct Event<'a> {
    /// What `waitFor` waits for.
    pub(crate) name: &'a str,
    /// What it carries.
    pub(crate) payload: Value,
    /// Sent twice under one key, it counts once.
    pub(crate) key: Option<&'a str>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let payload = args.payload.as_ref().map_or(Value::Null, |text| {
        serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()))
    });
    let event = Event { name: &args.name, payload, key: args.key.as_deref() };
    signal(session, &args.run, event).await?;
    Ok(ExitCode::SUCCESS)
}

/// Sends an event to a run. One that it has had already is told of.
pub(crate) async fn signal(session: &Session, run: &str, event: Event<'_>) -> Result<()> {
    let name = Name::new(event.name).map_err(|error| {
        CommandError::usage(error.to_string()).because(Cause::Event).field("/event")
    })?;
    let key = match event.key {
        Some(key) => InboxKey(format!("signal:{key}")),
        None => InboxKey(format!("signal:{}", Uuid::new_v4())),
    };
    let opened = session.open_for(run)?;
    let body = MessageBody::Signal { name, payload: event.payload };
    let sent = send(&opened, run, Message { key, body }).await?;
    if sent == Sent::Duplicate {
        session.output.note("the run has had this signal already");
    }
    Ok(())
}

/// Sends a message, and sees to it that somebody delivers it.
pub(crate) async fn send(opened: &Opened, name: &str, message: Message) -> Result<Sent> {
    let store = &opened.store;
    let run = names::find(store, name).await?;
    let sent = match store.send(run, message, SystemClock.now()).await {
        Err(SendError::Ended { .. }) => return Err(foreground::ended(store, run).await),
        sent => sent?,
    };
    // Whoever answers a run that was stopped wants it to go on.
    Held::of(store.path()).let_go(run);
    if !foreground::is_driven(store, run).await? {
        opened.ensure_attended().await?;
    }
    Ok(sent)
}
