//! What a person wants done, done by the command that does it.
//!
//! A process of its own, because two connections of one process to one database share what they know of its log: while one
//! only looks, the other can't write. That way there is also the same guard, and nobody writes over the picture.

use std::ffi::OsString;
use std::time::Duration;

use agentos_process::tool::Tool;

use super::board::Wish;
use crate::session::Session;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

/// How long a command may take; what it has begun goes on.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Does it, and says what became of it.
pub(super) async fn perform(session: &Session, wish: Wish) -> Option<Line> {
    let (arguments, said) = match wish {
        Wish::Cancel(run) => (vec!["cancel".to_owned(), run.to_string()], "cancelled".to_owned()),
        Wish::Answer { run, question, is_approved } => {
            let mut arguments = vec!["approve".to_owned(), run.to_string()];
            arguments.extend(["--question".to_owned(), question.clone()]);
            arguments.extend((!is_approved).then(|| "--deny".to_owned()));
            let word = if is_approved { "approved" } else { "denied" };
            (arguments, format!("{word}: {question}"))
        }
        Wish::Nothing | Wish::Look | Wish::Quit => return None,
    };
    let surroundings = session.surroundings.clone();
    let call = move || {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let tool = Tool::new(program)
            .args(arguments.into_iter().map(OsString::from))
            .in_folder(surroundings.cwd.unwrap_or_default())
            .only_environment(surroundings.environment)
            .timeout(TIMEOUT);
        let answer = tool.run().map_err(|error| error.to_string())?;
        if answer.is_success() { Ok(()) } else { Err(answer.complaint_text()) }
    };
    Some(match tokio::task::spawn_blocking(call).await {
        Ok(Ok(())) => Line::of(Tone::Good, &said),
        Ok(Err(complaint)) => Line::of(Tone::Bad, &complaint),
        Err(_) => Line::of(Tone::Bad, "it could not be done"),
    })
}
