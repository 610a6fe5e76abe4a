//! What Gemini writes.

use agentos_process::exit::Exit;
use serde_json::Value;

use crate::account::Account;
use crate::agent::Translator;
use crate::answer::Answer;
use crate::bounds::{MESSAGE_BYTES, TEXT_BYTES, TOOL_BYTES, cut};
use crate::classify::{is_denial, kind_of, kind_of_status};
use crate::event::AgentEvent;
use crate::json::{count, object, text};
use crate::lines::Loss;
use crate::usage::Usage;
use crate::verdict::{Trouble, TroubleKind, Verdict};

/// How it says that it goes round in circles, and has stopped.
const LOOP: &str = "Loop detected";

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    account: Account,
    /// What the agent is saying, piece by piece.
    saying: Answer,
    /// Why a piece of that may be missing.
    lost: Option<Loss>,
}

impl Translator for Stream {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        let Some(event) = object(line) else {
            self.account.unreadable += 1;
            return Vec::new();
        };
        if text(&event, "/type") == Some("message") {
            return self.message(&event);
        }
        let mut events = self.said();
        match text(&event, "/type") {
            Some("init") => {
                let id = text(&event, "/session_id").unwrap_or_default();
                events.push(self.account.started(id, text(&event, "/model")));
            }
            Some("tool_use") => events.push(AgentEvent::ToolCall {
                id: cut(text(&event, "/tool_id").unwrap_or_default(), 256),
                name: cut(text(&event, "/tool_name").unwrap_or("a tool"), 256),
                input: event
                    .get("parameters")
                    .map(|input| cut(&input.to_string(), TOOL_BYTES))
                    .unwrap_or_default(),
            }),
            Some("tool_result") => self.tool(&event, &mut events),
            Some("error") => {
                let why = text(&event, "/message").unwrap_or("it speaks of an error");
                if why.starts_with(LOOP) {
                    // The result that follows says "success".
                    let trouble = Trouble::new(TroubleKind::MaxTurns, why);
                    events.push(self.account.ended(Err(trouble)));
                } else {
                    let why = cut(why, MESSAGE_BYTES);
                    events.push(AgentEvent::Retrying { attempt: 0, of: 0, why });
                }
            }
            Some("result") => self.result(&event, &mut events),
            _ => {}
        }
        events
    }

    /// It may have been a piece of what the agent is saying.
    fn feed_cut(&mut self, _: &str, loss: Loss) -> Vec<AgentEvent> {
        self.lost = Some(loss);
        self.account.lost(loss);
        Vec::new()
    }

    fn is_piece(&self, line: &str) -> bool {
        line.contains("\"delta\":true")
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        self.said();
        self.account.verdict(exit, complaints, of_code)
    }
}

/// What its exit statuses mean: some of its own, else the HTTP status of the last answer, of which only 8 bits are left.
fn of_code(code: i32) -> Option<TroubleKind> {
    match code {
        41 => Some(TroubleKind::Auth),
        42 => Some(TroubleKind::UnknownSession),
        53 => Some(TroubleKind::MaxTurns),
        55 => Some(TroubleKind::Refused),
        144..=255 => u16::try_from(code + 256).ok().and_then(kind_of_status),
        _ => None,
    }
}

impl Stream {
    fn message(&mut self, event: &Value) -> Vec<AgentEvent> {
        if text(event, "/role") != Some("assistant") {
            return self.said();
        }
        let said = text(event, "/content").unwrap_or_default();
        self.saying.push(said);
        if event.get("delta") == Some(&Value::Bool(true)) {
            return vec![AgentEvent::Text { text: cut(said, TEXT_BYTES), partial: true }];
        }
        self.said()
    }

    /// What it was saying is whole now.
    fn said(&mut self) -> Vec<AgentEvent> {
        let lost = self.lost.take();
        if self.saying.is_empty() {
            return Vec::new();
        }
        let whole = std::mem::take(&mut self.saying);
        let text = cut(&whole.text, TEXT_BYTES);
        self.account.said_in_pieces(whole);
        if let Some(loss) = lost {
            self.account.lost(loss);
        }
        vec![AgentEvent::Text { text, partial: false }]
    }

    fn tool(&mut self, event: &Value, events: &mut Vec<AgentEvent>) {
        let ok = text(event, "/status") == Some("success");
        let output = text(event, "/output").or_else(|| text(event, "/error/message"));
        let output = output.unwrap_or_default();
        events.push(AgentEvent::ToolResult {
            id: cut(text(event, "/tool_id").unwrap_or_default(), 256),
            ok,
            output: cut(output, TOOL_BYTES),
        });
        if !ok && (is_denial(output) || text(event, "/error/type").is_some_and(is_denied)) {
            // The name of the call begins with that of the tool.
            let id = text(event, "/tool_id").unwrap_or("a tool");
            let tool = id.split_once("__").map_or(id, |(tool, _)| tool).to_owned();
            events.push(self.account.denied(&tool, output));
        }
    }

    fn result(&mut self, event: &Value, events: &mut Vec<AgentEvent>) {
        self.account.usage = Usage {
            input_tokens: count(event, "/stats/input_tokens"),
            output_tokens: count(event, "/stats/output_tokens"),
            cached_tokens: count(event, "/stats/cached"),
        };
        self.account.is_counted = true;
        events.push(AgentEvent::Usage { usage: self.account.usage, cost_usd: None });
        let ending = if text(event, "/status") == Some("success") {
            Ok(())
        } else {
            let of_type = match text(event, "/error/type") {
                Some("FatalTurnLimitedError") => Some(TroubleKind::MaxTurns),
                Some("FatalAuthenticationError") => Some(TroubleKind::Auth),
                _ => None,
            };
            Err(match text(event, "/error/message") {
                Some(said) => {
                    let kind = of_type.or_else(|| kind_of(said)).unwrap_or(TroubleKind::Api);
                    Trouble::new(kind, said)
                }
                // It has nothing to say about an answer that ended too early.
                None => Trouble::new(
                    of_type.unwrap_or(TroubleKind::Dropped),
                    "the model's answer ended before it was complete",
                ),
            })
        };
        events.push(self.account.ended(ending));
    }
}

fn is_denied(kind: &str) -> bool {
    matches!(kind, "policy_violation" | "permission_denied" | "tool_not_allowed")
}
