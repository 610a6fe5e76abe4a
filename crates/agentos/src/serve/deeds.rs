//! What is done to a run at somebody's request: the same functions as on the command line, and the run is left to whoever
//! attends to its database.

use std::time::Duration;

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_server::house::Deed;
use agentos_store::inbox::SendError;
use agentos_store::records::{NewComment, RecordError, Records as _};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

use crate::commands::approve::{self, Decision};
use crate::commands::fork::{self, Wanted};
use crate::commands::signal::{self, Event};
use crate::commands::{resume, retry};
use crate::error::{CommandError, Result};
use crate::foreground;
use crate::session::{Opened, Session};

/// How long an answer waits for a run that was cancelled to end.
const PATIENCE: Duration = Duration::from_secs(20);

/// The longest remark, in bytes.
const LONGEST: usize = 16 << 10;

/// Does it. The run that it is about afterwards. One that is to end need not have ended yet: [`until_ended`] waits.
pub(super) async fn act(session: &Session, run: RunId, deed: Deed, by: String) -> Result<RunId> {
    let name = run.to_string();
    match deed {
        Deed::Cancel { reason } => cancel(&session.open()?, run, reason).await?,
        Deed::Resume { latest, take_over } => {
            check_open(session, run).await?;
            resume::detached(session, &name, (latest, take_over)).await?;
        }
        Deed::Retry => return Ok(retry::detached(session, &name).await?.id),
        Deed::Fork { step, agents, input, workspace } => {
            let pair = |(key, value): (String, String)| format!("{key}={value}");
            let wanted = Wanted {
                from_step: step,
                agents: agents.into_iter().map(pair).collect(),
                input: input.into_iter().collect(),
                workspace,
            };
            return Ok(fork::detached(session, &name, wanted).await?.run);
        }
        Deed::Signal { event, payload, key } => {
            check_open(session, run).await?;
            let event = Event { name: &event, payload, key: key.as_deref() };
            signal::signal(session, &name, event).await?;
        }
        Deed::Approve { approved, question, comment } => {
            check_open(session, run).await?;
            let question = question.as_deref();
            approve::decide(session, &name, Decision { question, approved, comment, by }).await?;
        }
        Deed::Comment { step, message, metadata } => {
            let message = message.trim();
            if message.is_empty() || message.len() > LONGEST {
                let length = message.len();
                return Err(CommandError::usage(format!(
                    "a comment has between 1 and {LONGEST} bytes; this one has {length}"
                ))
                .field("/message"));
            }
            let comment = NewComment {
                id: Uuid::new_v4(),
                run,
                step,
                message: message.to_owned(),
                metadata: metadata.or_else(|| Some(json!({ "via": "rest" }))),
                author: by,
                at: SystemClock.now(),
            };
            session.open()?.store.add_comment(comment).await.map_err(|error| match error {
                RecordError::NotFound { .. } => CommandError::from(error).field("/stepNumber"),
                error => error.into(),
            })?;
        }
    }
    Ok(run)
}

/// What has ended stays so: that is a matter of how things stand, and not of how it was asked.
async fn check_open(session: &Session, run: RunId) -> Result<()> {
    let store = &session.open()?.store;
    match store.head(run).await?.standing.is_ended() {
        true => {
            let ended = foreground::ended(store, run).await;
            Err(CommandError { kind: crate::error::ErrorKind::Refused, ..ended })
        }
        false => Ok(()),
    }
}

/// Has a run end. One that has ended stays as it is.
async fn cancel(opened: &Opened, run: RunId, reason: Option<String>) -> Result<()> {
    let store = &opened.store;
    let key = InboxKey(format!("cancel:{}", Uuid::new_v4()));
    let message = Message { key, body: MessageBody::Cancel { reason } };
    match store.send(run, message, SystemClock.now()).await {
        Ok(_) => {}
        Err(SendError::Ended { .. }) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    Held::of(store.path()).let_go(run);
    if !foreground::is_driven(store, run).await? {
        opened.ensure_attended().await?;
    }
    Ok(())
}

/// Waits a while until a run that was cancelled has ended.
pub(super) async fn until_ended(store: &SqliteStore, run: RunId) -> Result<()> {
    let mut watch = store.watch()?;
    let ended = async {
        while !store.head(run).await?.standing.is_ended() {
            watch.changed().await;
        }
        Ok::<(), CommandError>(())
    };
    // Whoever asks is told how the run stands then, and can look again.
    tokio::time::timeout(PATIENCE, ended).await.unwrap_or(Ok(()))
}
