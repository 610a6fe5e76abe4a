//! What is done to a run at somebody's request: the same functions as on the command line, and the run is left to whoever
//! attends to its database.

use std::time::Duration;

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::held::Held;
use agentos_server::house::errors::CommentError;
use agentos_server::house::{Approval, DerivedRun, Event, Fork, Remark, Resumption, Words};
use agentos_store::inbox::SendError;
use agentos_store::records::{NewComment, RecordError, Records as _};
use agentos_store::sqlite::SqliteStore;
use agentos_store::store::Store as _;
use serde_json::json;
use uuid::Uuid;

use super::start;
use crate::commands::approve::{self, Decision};
use crate::commands::fork::{self, Wanted};
use crate::commands::retry::{self, How};
use crate::commands::{resume, signal};
use crate::databases::counterpart;
use crate::error::{Cause, CommandError, Result};
use crate::foreground;
use crate::session::Session;

/// How long an answer waits for a run that was cancelled to end.
const TIMEOUT: Duration = Duration::from_secs(20);

/// The longest remark, in bytes.
const LONGEST: usize = 16 << 10;

/// Lets a run go on that nobody drives.
pub(super) async fn resume(session: &Session, run: RunId, how: Resumption) -> Result<Vec<String>> {
    check_open(session, run, how.latest).await?;
    resume::detached(session, &run.to_string(), (how.latest, how.take_over)).await
}

/// A new run that mends this one.
pub(super) async fn retry(session: &Session, run: RunId, latest: bool) -> Result<DerivedRun> {
    let how = How { latest, from_afar: true };
    let (record, notes) = retry::detached(session, &run.to_string(), how).await?;
    Ok(DerivedRun { run: record.id, notes })
}

/// A new run from before some step of this one.
pub(super) async fn fork(session: &Session, run: RunId, fork: Fork) -> Result<DerivedRun> {
    let Fork { step, agents, input, workspace, latest } = fork;
    let location = session.location()?;
    let project =
        location.project_path().map_err(|error| CommandError::failed(error.to_string()))?;
    start::check_scenarios(project, &agents)?;
    let pair = |(key, value): (String, String)| format!("{key}={value}");
    let wanted = Wanted {
        from_step: step,
        agents: agents.into_iter().map(pair).collect(),
        input: input.into_iter().collect(),
        workspace,
        latest,
    };
    let (names, notes) = fork::detached(session, &run.to_string(), wanted).await?;
    Ok(DerivedRun { run: names.run, notes })
}

/// An event for a run.
pub(super) async fn signal(session: &Session, run: RunId, event: Event) -> Result<()> {
    check_open(session, run, false).await?;
    let Event { name, payload, key } = event;
    let event = signal::Event { name: &name, payload, key: key.as_deref() };
    signal::signal(session, &run.to_string(), event).await
}

/// An answer to a question of a run.
pub(super) async fn approve(session: &Session, run: RunId, answer: Approval) -> Result<()> {
    check_open(session, run, false).await?;
    let Approval { approved, question, comment, by } = answer;
    let decision = Decision { question: question.as_deref(), approved, comment, by };
    approve::decide(session, &run.to_string(), decision).await.map(drop)
}

/// Refuses a remark that says nothing, or too much.
pub(super) fn check_message(message: &str) -> Result<(), CommentError> {
    match message.trim().len() {
        1..=LONGEST => Ok(()),
        length => {
            let what = format!("has between 1 and {LONGEST} bytes, and not {length}");
            Err(CommentError::WrongMessage(Words::field("/message", what)))
        }
    }
}

/// A remark on a run.
pub(super) async fn comment(session: &Session, run: RunId, remark: Remark) -> Result<()> {
    let comment = NewComment {
        id: Uuid::new_v4(),
        run,
        step: remark.step,
        message: remark.message.trim().to_owned(),
        metadata: remark.metadata.or_else(|| Some(json!({ "via": "rest" }))),
        author: remark.by,
        at: SystemClock.now(),
    };
    let added = session.open()?.store.add_comment(comment).await;
    added.map_err(|error| match error {
        RecordError::NotFound { .. } if remark.step.is_some() => {
            CommandError::from(error).because(Cause::NoSuchStep).field("/stepNumber")
        }
        RecordError::NotFound { .. } => CommandError::from(error).because(Cause::NoSuchRun),
        error => error.into(),
    })
}

/// What has ended stays so.
async fn check_open(session: &Session, run: RunId, is_latest: bool) -> Result<()> {
    let store = &session.open()?.store;
    match store.head(run).await?.standing.is_ended() {
        true => Err(foreground::ended(store, run, is_latest).await),
        false => Ok(()),
    }
}

/// Has a run end. One that has ended stays as it is, and one that has not need not have yet: [`until_ended`] waits.
pub(super) async fn cancel(session: &Session, run: RunId, reason: Option<String>) -> Result<()> {
    let opened = session.open()?;
    let store = &opened.store;
    let key = InboxKey(format!("cancel:{}", Uuid::new_v4()));
    let message = Message { key, body: MessageBody::Cancel { reason } };
    match store.send(run, message, SystemClock.now()).await {
        Ok(_) => {}
        Err(SendError::Ended { .. }) => return Ok(()),
        Err(SendError::Elsewhere { source, .. }) => {
            return Err(counterpart::refused(store, run, source).await);
        }
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
    tokio::time::timeout(TIMEOUT, ended).await.unwrap_or(Ok(()))
}
