//! How a session ended becomes the answer to the workflow, and the row that people see.

use agentos_agent::verdict::{Trouble, TroubleKind, Verdict};
use agentos_core::entry::OperationResult;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use agentos_process::exit::Exit;
use agentos_process::secret::Secrets;
use serde_json::json;

use super::budget::Spent;
use super::conduct::Conduct;
use super::{files, form};
use crate::performer::Performed;

/// What was heard of the last round.
pub(super) struct Heard<'a> {
    pub(super) verdict: &'a Verdict,
    pub(super) exit: &'a Exit,
    /// In all rounds and tries.
    pub(super) spent: Spent,
}

impl Conduct {
    /// The answer to the workflow.
    pub(super) fn answer(
        &self,
        heard: &Heard<'_>,
        answer: Result<Option<Value>, Trouble>,
        secrets: &Secrets,
    ) -> Performed {
        let trouble = match answer {
            Ok(json) => {
                let mut value = self.document(heard, "completed");
                value["json"] = form::masked(json.unwrap_or(Value::Null), secrets);
                return Performed::Ended(OperationResult::Ok { value });
            }
            Err(trouble) => trouble,
        };
        let mut value = self.document(heard, trouble.kind.as_str());
        let message = secrets.masked(&trouble.message);
        if !self.asked.check {
            value["json"] = Value::Null;
            value["message"] = json!(message);
            return Performed::Ended(OperationResult::Ok { value });
        }
        let name = self.whose.operation.name();
        let name = name.as_ref().map_or("session", |name| name.as_str());
        let message = format!("`{name}` ({}): {message}", self.member.name);
        let failure = Failure { kind: kind_of(trouble.kind), message, detail: Some(value) };
        Performed::Ended(OperationResult::Failed { failure: failure.bounded() })
    }

    /// It was ended by somebody: it is tried again, unless that was what was wanted.
    pub(super) fn interrupted(&self, heard: &Heard<'_>) -> Performed {
        if !self.ticket.stop.is_cancelled() {
            return Performed::Interrupted;
        }
        let detail = Some(self.document(heard, "cancelled"));
        let failure = Failure { detail, ..Failure::cancelled() };
        Performed::Ended(OperationResult::Failed { failure: failure.bounded() })
    }

    fn document(&self, heard: &Heard<'_>, exit_reason: &str) -> Value {
        let Heard { verdict, exit, spent } = heard;
        let (files, tokens) = (files::listed(&self.whose), spent.tokens());
        json!({
            "text": verdict.text,
            "truncated": verdict.is_truncated(),
            "agent": self.member.name,
            "session_id": verdict.session_id,
            "model": verdict.model.as_deref().or(self.model()),
            "exit_reason": exit_reason,
            // As shells count it: a signal is a number over 128.
            "exit_code": exit.exit_code.or_else(|| exit.signal.map(|signal| 128 + signal)),
            "input_tokens": tokens.map(|tokens| tokens.input_tokens),
            "output_tokens": tokens.map(|tokens| tokens.output_tokens),
            "cached_tokens": tokens.map(|tokens| tokens.cached_tokens),
            "cost_usd": spent.cost_usd(),
            "denied": verdict.denied,
            "session_file_path": files::transcript_path(&self.whose),
            "files": files,
        })
    }
}

/// What a step does about it.
const fn kind_of(trouble: TroubleKind) -> FailureKind {
    match trouble {
        TroubleKind::Timeout | TroubleKind::Idle => FailureKind::Timeout,
        _ if trouble.is_passing() => FailureKind::Error,
        _ => FailureKind::NonRetryable,
    }
}
