//! What a person wants done, done where the run is.

use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_process::token;
use uuid::Uuid;

use super::board::Wish;
use crate::commands::{approve, signal};
use crate::elsewhere;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

/// Does it, and says what became of it.
pub(super) async fn perform(session: &Session, wish: Wish) -> Option<Line> {
    let done = match wish {
        Wish::Cancel(run) => cancel(session, run).await,
        Wish::Answer { run, question, is_approved } => {
            answer(session, run, &question, is_approved).await
        }
        Wish::Nothing | Wish::Look | Wish::Quit => return None,
    };
    Some(match done {
        Ok(said) => Line::of(Tone::Good, &said),
        Err(error) => Line::of(Tone::Bad, &error.message),
    })
}

/// Whoever has the run ends it; if nobody has, the background executor does.
async fn cancel(session: &Session, run: RunId) -> Result<String> {
    let name = run.to_string();
    let moved = elsewhere::at_run(session, &name).await?;
    let session = moved.as_ref().unwrap_or(session);
    let opened = session.open_for(&name)?;
    let key = InboxKey(format!("cancel:{}", Uuid::new_v4()));
    let body = MessageBody::Cancel { reason: None };
    signal::send(&opened, &name, Message { key, body }).await?;
    Ok("it is being cancelled".to_owned())
}

async fn answer(
    session: &Session,
    run: RunId,
    question: &str,
    is_approved: bool,
) -> Result<String> {
    // The same guard as in front of `agentos approve`.
    if session.surroundings.variable(token::VARIABLE).is_some() {
        return Err(CommandError::refused("a process that a run has started can't do this"));
    }
    let name = run.to_string();
    let moved = elsewhere::at_run(session, &name).await?;
    let session = moved.as_ref().unwrap_or(session);
    approve::answer(session, &name, question, is_approved).await?;
    Ok(format!("{}: {question}", if is_approved { "approved" } else { "denied" }))
}
