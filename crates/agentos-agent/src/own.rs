//! Our own dialect, spoken by the scripted agent and by anything that is made to be driven by AgentOS.
//!
//! | `type` | fields |
//! |---|---|
//! | `session` | `session_id`, `model` |
//! | `text`, `thinking` | `text`, `partial` |
//! | `tool_call` | `id`, `name`, `input` |
//! | `tool_result` | `id`, `ok`, `output` |
//! | `usage` | `input_tokens`, `output_tokens`, `cached_tokens`, `cost_usd`: the totals since the process began |
//! | `retrying` | `attempt`, `of`, `why` |
//! | `denied` | `tool`, `why` |
//! | `finished` | `ok`; `text` (the answer), or `kind` and `message` (what went wrong) |

use agentos_process::exit::Exit;
use serde_json::Value;

use crate::account::Account;
use crate::agent::Translator;
use crate::bounds::{MESSAGE_BYTES, TEXT_BYTES, TOOL_BYTES, cut};
use crate::classify::kind_of;
use crate::event::AgentEvent;
use crate::json::{count, money, object, text};
use crate::lines::Loss;
use crate::usage::Usage;
use crate::verdict::{Trouble, TroubleKind, Verdict};

/// Reads a stream.
#[derive(Debug, Default)]
pub(crate) struct Own {
    account: Account,
}

impl Translator for Own {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        let Some(event) = object(line) else {
            self.account.unreadable += 1;
            return Vec::new();
        };
        let field = |name| text(&event, name).unwrap_or_default();
        let partial = event.get("partial") == Some(&Value::Bool(true));
        let ok = event.get("ok") == Some(&Value::Bool(true));
        let said = match text(&event, "/type") {
            Some("session") => self.account.started(field("/session_id"), text(&event, "/model")),
            Some("text") => {
                if !partial {
                    self.account.said(field("/text"));
                }
                AgentEvent::Text { text: cut(field("/text"), TEXT_BYTES), partial }
            }
            Some("thinking") => {
                AgentEvent::Thinking { text: cut(field("/text"), TEXT_BYTES), partial }
            }
            Some("tool_call") => AgentEvent::ToolCall {
                id: cut(field("/id"), 256),
                name: cut(field("/name"), 256),
                input: cut(&plain(event.get("input")), TOOL_BYTES),
            },
            Some("tool_result") => AgentEvent::ToolResult {
                id: cut(field("/id"), 256),
                ok,
                output: cut(&plain(event.get("output")), TOOL_BYTES),
            },
            Some("usage") => self.used(&event),
            Some("retrying") => AgentEvent::Retrying {
                attempt: count(&event, "/attempt"),
                of: count(&event, "/of"),
                why: cut(field("/why"), MESSAGE_BYTES),
            },
            Some("denied") => self.account.denied(field("/tool"), field("/why")),
            Some("finished") => self.finished(&event, ok),
            _ => return Vec::new(),
        };
        vec![said]
    }

    fn feed_cut(&mut self, _: &str, loss: Loss) -> Vec<AgentEvent> {
        self.account.lost(loss);
        Vec::new()
    }

    fn is_piece(&self, line: &str) -> bool {
        line.contains("\"partial\":true")
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        self.account.verdict(exit, complaints, |_| None)
    }
}

impl Own {
    fn used(&mut self, event: &Value) -> AgentEvent {
        self.account.usage = Usage {
            input_tokens: count(event, "/input_tokens"),
            output_tokens: count(event, "/output_tokens"),
            cached_tokens: count(event, "/cached_tokens"),
        };
        self.account.cost_usd = money(event, "/cost_usd").or(self.account.cost_usd);
        self.account.is_counted = true;
        AgentEvent::Usage { usage: self.account.usage, cost_usd: self.account.cost_usd }
    }

    fn finished(&mut self, event: &Value, ok: bool) -> AgentEvent {
        if ok {
            if let Some(answer) = text(event, "/text") {
                self.account.said(answer);
            }
            return self.account.ended(Ok(()));
        }
        let said = text(event, "/message").unwrap_or("it says that it failed");
        let named = event
            .get("kind")
            .and_then(|kind| serde_json::from_value::<TroubleKind>(kind.clone()).ok());
        let kind = named.or_else(|| kind_of(said)).unwrap_or(TroubleKind::Exit);
        self.account.ended(Err(Trouble::new(kind, said)))
    }
}

/// A text as it is, anything else as JSON.
fn plain(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    }
}
