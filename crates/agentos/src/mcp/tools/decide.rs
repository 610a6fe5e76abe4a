//! What runs wait for: events, and answers to their questions.

use agentos_core::value::Value;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::json;

use super::{Deed, Scene, Tool};
use crate::commands::approve::{self, Decision, user};
use crate::commands::show;
use crate::commands::signal::{self, Event};
use crate::error::Result;
use crate::mcp::answer::Answer;
use crate::mcp::permission::Permission;

/// `signal`
pub(super) struct Signal;

/// What is sent to whom.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Sent {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// The event's name: what the workflow's `waitFor` waits for.
    event: String,
    /// What it carries: any JSON.
    payload: Option<Value>,
    /// A key of your own: sent twice under one key, it counts once.
    key: Option<String>,
}

impl Tool for Signal {
    const NAME: &'static str = "signal";
    const TITLE: &'static str = "Signal a run";
    const DESCRIPTION: &'static str = "Sends an event to a run: it answers every wait of that name that is open, or is kept for the \
        next one. Answers with the run's document. It is no answer to a question of `approve`.";
    const DEED: Deed = Deed::Acts(Permission::Signal);
    type Arguments = Sent;

    async fn call(scene: &Scene, sent: Sent) -> Result<Answer> {
        let event = Event {
            name: &sent.event,
            payload: sent.payload.unwrap_or(Value::Null),
            key: sent.key.as_deref(),
        };
        let session = scene.at(&sent.run).await?;
        signal::signal(&session, &sent.run, event).await?;
        Answer::document(&show::document(&session, &sent.run).await?)
    }
}

/// `approve`
pub(super) struct Approve;

/// An answer to which question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Answered {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// Yes (true) or no (false).
    approved: bool,
    /// Which question, if the run asks several: a part of its text.
    question: Option<String>,
    /// What is to be said with the answer.
    comment: Option<String>,
}

impl Tool for Approve {
    const NAME: &'static str = "approve";
    const TITLE: &'static str = "Answer a question of a run";
    const DESCRIPTION: &'static str = "Answers a question that a run has asked with `ctx.approve`. Only when the person you work for \
        has told you what to answer. Refused to whatever a run has started, and unless a person has allowed it. Who answered is on \
        record.";
    const DEED: Deed = Deed::Acts(Permission::Approve);
    type Arguments = Answered;

    async fn call(scene: &Scene, answered: Answered) -> Result<Answer> {
        let by = format!("{} through {}", user(&scene.session), scene.caller.agent);
        let decision = Decision {
            question: answered.question.as_deref(),
            approved: answered.approved,
            comment: answered.comment,
            by: by.clone(),
        };
        let question =
            approve::decide(&*scene.at(&answered.run).await?, &answered.run, decision).await?;
        Answer::document(&json!({
            "run": answered.run, "question": question, "approved": answered.approved, "by": by,
        }))
    }
}
