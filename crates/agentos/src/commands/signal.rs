//! `agentos signal`: an event for a run.

use std::process::ExitCode;

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::name::Name;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_store::bounds;
use agentos_store::inbox::{SendError, Sent};
use agentos_store::log::load_whole_log;
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use uuid::Uuid;

use crate::databases::counterpart;
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
    let sent = put(store, run, message).await?;
    // Whoever answers a run that was stopped wants it to go on.
    Held::of(store.path()).let_go(run);
    if !foreground::is_driven(store, run).await? {
        opened.ensure_attended().await?;
    }
    Ok(sent)
}

/// Puts a message into a run's inbox. Whoever says the same again under its key is heard; what says something else is never
/// read by the run, and whoever sent it has to know.
pub(super) async fn put(store: &SqliteStore, run: RunId, message: Message) -> Result<Sent> {
    let sent = match store.send(run, message.clone(), SystemClock.now()).await {
        Err(SendError::Ended { .. }) => return Err(foreground::ended(store, run, false).await),
        Err(SendError::Elsewhere { source, .. }) => {
            return Err(counterpart::refused(store, run, source).await);
        }
        sent => sent?,
    };
    if sent == Sent::Duplicate {
        let earlier = earlier(store, run, &message.key).await?;
        if !says_the_same(&earlier, &message.body) {
            return Err(said_otherwise(&earlier));
        }
    }
    Ok(sent)
}

/// What the run was told under this key: it waits, or is in the log.
async fn earlier(store: &SqliteStore, run: RunId, key: &InboxKey) -> Result<MessageBody> {
    // What is taken out of the inbox meanwhile is in the log then.
    let inbox = store.inbox(run, bounds::PAGE).await?;
    let mut waiting = inbox.into_iter().map(|received| received.message);
    if let Some(found) = waiting.find(|message| message.key == *key) {
        return Ok(found.body);
    }
    let log = load_whole_log(store, run).await?;
    let mut records = log.into_iter().flat_map(Chunk::into_records);
    let recorded = records.find_map(|record| match record.entry {
        Entry::SignalArrived { key: found, name, payload } if found == *key => {
            Some(MessageBody::Signal { name, payload })
        }
        Entry::ApprovalGiven { key: found, operation, approved, by, comment } if found == *key => {
            Some(MessageBody::Approval { operation, approved, by, comment })
        }
        _ => None,
    });
    // Nobody can see so far into an inbox.
    recorded.ok_or_else(|| {
        CommandError::failed("the run has been told something under this key, and so much waits for it that nobody can say what")
            .because(Cause::Busy)
            .hint("try again when it has taken some")
    })
}

/// Whether two messages say the same, whoever says it.
fn says_the_same(one: &MessageBody, other: &MessageBody) -> bool {
    match (one, other) {
        (
            MessageBody::Approval { operation, approved, comment, .. },
            MessageBody::Approval {
                operation: other_operation,
                approved: other_approved,
                comment: other_comment,
                ..
            },
        ) => (operation, approved, comment) == (other_operation, other_approved, other_comment),
        _ => one == other,
    }
}

/// The run was told something else before, which is what counts.
fn said_otherwise(earlier: &MessageBody) -> CommandError {
    match earlier {
        MessageBody::Approval { approved, by, .. } => {
            let said = if *approved { "yes" } else { "no" };
            CommandError::refused(format!("{by} has answered this already, and said {said}"))
                .because(Cause::AlreadyAnswered)
                .hint("a question has one answer: the first, with what was said with it")
        }
        _ => CommandError::refused("the run was told something else under this key")
            .because(Cause::KeyUsedOtherwise)
            .hint("choose another key for another event")
            .field("/key"),
    }
}
