//! How a command ended becomes the answer to the workflow.

use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use agentos_process::exit::{Exit, Reason};
use agentos_process::outcome::Outcome;
use agentos_process::secret::Secrets;
use serde_json::json;

use super::request::Request;
use crate::performer::Performed;

/// How much of what a command said last is in the message of its failure, in bytes.
const LAST_WORDS: usize = 2_000;

/// Longest part of a command in a message, in characters.
const TITLE: usize = 80;

impl Request {
    /// The answer to the workflow.
    pub(super) fn answer(
        &self,
        outcome: Outcome,
        is_stopped: bool,
        secrets: &Secrets,
    ) -> Performed {
        let title: String = secrets.masked(self.title()).chars().take(TITLE).collect();
        let fails = |kind, message: String| failed(kind, secrets.masked(&message), &outcome);
        match outcome.exit.reason {
            Reason::Exited if outcome.exit.exit_code == Some(0) || !self.check => {
                Performed::Ended(OperationResult::Ok { value: document(&outcome) })
            }
            Reason::Exited => {
                let how = match outcome.exit.signal {
                    Some(signal) => format!("was ended by signal {signal}"),
                    None => format!("exited with {}", exit_code(&outcome.exit)),
                };
                fails(FailureKind::Error, format!("`{title}` {how}{}", last_words(&outcome)))
            }
            Reason::Timeout => {
                let message = format!("`{title}` took longer than it may and was ended");
                fails(FailureKind::Timeout, message)
            }
            Reason::Idle => {
                let message =
                    format!("`{title}` said nothing for longer than it may and was ended");
                fails(FailureKind::Timeout, message)
            }
            Reason::NotStarted => {
                let message = outcome.exit.message.clone();
                fails(
                    FailureKind::NonRetryable,
                    message.unwrap_or_else(|| format!("`{title}` can't be started")),
                )
            }
            Reason::Stopped | Reason::Orphaned | Reason::Lost if is_stopped => {
                Performed::Ended(OperationResult::Cancelled {})
            }
            // Nobody in this run has wanted it: it is executed again.
            Reason::Stopped | Reason::Orphaned | Reason::Lost => Performed::Interrupted,
        }
    }
}

fn failed(kind: FailureKind, message: String, outcome: &Outcome) -> Performed {
    let detail = Some(document(outcome));
    Performed::Ended(OperationResult::Failed {
        failure: Failure { kind, message, detail }.bounded(),
    })
}

/// As shells count it: a signal is a number over 128.
fn exit_code(exit: &Exit) -> i32 {
    exit.exit_code.unwrap_or_else(|| 128 + exit.signal.unwrap_or(0))
}

fn document(outcome: &Outcome) -> Value {
    json!({
        "stdout": outcome.stdout,
        "stderr": outcome.stderr,
        "exitCode": exit_code(&outcome.exit),
        "signal": outcome.exit.signal,
        "durationMs": outcome.exit.duration_ms,
        "truncated": outcome.truncated,
    })
}

/// What it complained of, or else what it said.
fn last_words(outcome: &Outcome) -> String {
    let said = [&outcome.stderr, &outcome.stdout].into_iter().find(|said| !said.trim().is_empty());
    let Some(said) = said.map(|said| said.trim()) else { return String::new() };
    let start = said.ceil_char_boundary(said.len().saturating_sub(LAST_WORDS));
    format!(": {}", &said[start..])
}
