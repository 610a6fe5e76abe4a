//! What Codex writes.

use agentos_process::exit::Exit;
use serde_json::Value;

use crate::account::Account;
use crate::agent::Translator;
use crate::bounds::{MESSAGE_BYTES, TEXT_BYTES, TOOL_BYTES, cut};
use crate::classify::{is_denial, is_refused_patch, kind_of};
use crate::event::AgentEvent;
use crate::json::{count, list, object, text};
use crate::lines::Loss;
use crate::usage::{Baseline, Usage};
use crate::verdict::{Trouble, TroubleKind, Verdict};

/// Fields of an item that say nothing about what a tool was called with.
const NOT_INPUT: [&str; 6] = ["id", "type", "status", "aggregated_output", "exit_code", "result"];

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    account: Account,
    before: Baseline,
}

impl Translator for Stream {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        let Some(event) = object(line) else {
            self.account.unreadable += 1;
            return Vec::new();
        };
        match text(&event, "/type") {
            Some("thread.started") => {
                let id = text(&event, "/thread_id").unwrap_or_default();
                vec![self.account.started(id, None)]
            }
            Some("item.started") => call(&event["item"]).into_iter().collect(),
            Some("item.completed") => self.item(&event["item"]),
            Some("error") => retry(text(&event, "/message").unwrap_or_default()),
            Some("turn.completed") => self.completed(&event),
            Some("turn.failed") => {
                let said = text(&event, "/error/message").unwrap_or("it says that it failed");
                let kind = kind_of(said).unwrap_or(TroubleKind::Api);
                vec![self.account.ended(Err(Trouble::new(kind, said)))]
            }
            _ => Vec::new(),
        }
    }

    fn feed_cut(&mut self, _: &str, loss: Loss) -> Vec<AgentEvent> {
        self.account.lost(loss);
        Vec::new()
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        // A patch that was refused is no item of the stream: only the complaints tell.
        if is_refused_patch(complaints) {
            self.account.denied("apply_patch", complaints);
        }
        self.account.verdict(exit, complaints, |_| None)
    }
}

impl Stream {
    pub(super) fn new(before: Baseline) -> Self {
        Self { before, ..Self::default() }
    }

    fn item(&mut self, item: &Value) -> Vec<AgentEvent> {
        let said = || cut(text(item, "/text").unwrap_or_default(), TEXT_BYTES);
        match text(item, "/type") {
            Some("agent_message") => {
                self.account.said(text(item, "/text").unwrap_or_default());
                vec![AgentEvent::Text { text: said(), partial: false }]
            }
            Some("reasoning") => vec![AgentEvent::Thinking { text: said(), partial: false }],
            Some("error" | "todo_list") | None => Vec::new(),
            Some(kind) => self.tool(kind, item),
        }
    }

    /// A tool has answered.
    fn tool(&mut self, kind: &str, item: &Value) -> Vec<AgentEvent> {
        let status = text(item, "/status").unwrap_or_default();
        let output = text(item, "/aggregated_output")
            .or_else(|| text(item, "/error/message"))
            .unwrap_or(status);
        let ok = matches!(status, "completed" | "success")
            && item["exit_code"].as_i64().unwrap_or(0) == 0;
        let mut events = vec![AgentEvent::ToolResult {
            id: cut(text(item, "/id").unwrap_or_default(), 256),
            ok,
            output: cut(output, TOOL_BYTES),
        }];
        if status == "declined" || (!ok && is_denial(output)) {
            events.push(self.account.denied(kind, output));
        }
        events
    }

    fn completed(&mut self, event: &Value) -> Vec<AgentEvent> {
        let total = Usage {
            input_tokens: count(event, "/usage/input_tokens"),
            output_tokens: count(event, "/usage/output_tokens"),
            cached_tokens: count(event, "/usage/cached_input_tokens"),
        };
        if self.before.is_short {
            // What of the total was used before is not known, so the rest is not known either.
            return vec![self.account.ended(Ok(()))];
        }
        self.account.usage = total.since(self.before.usage);
        self.account.is_counted = true;
        let used = AgentEvent::Usage { usage: self.account.usage, cost_usd: None };
        vec![used, self.account.ended(Ok(()))]
    }
}

/// A tool is used.
fn call(item: &Value) -> Option<AgentEvent> {
    let name = match text(item, "/type")? {
        "agent_message" | "reasoning" | "error" | "todo_list" => return None,
        "mcp_tool_call" => text(item, "/tool").unwrap_or("mcp_tool_call"),
        kind => kind,
    };
    let input = match name {
        "command_execution" => text(item, "/command").unwrap_or_default().to_owned(),
        "file_change" => {
            let paths = list(item, "/changes").filter_map(|change| text(change, "/path"));
            paths.collect::<Vec<_>>().join(" ")
        }
        _ => {
            let mut fields = item.as_object().cloned().unwrap_or_default();
            fields.retain(|field, _| !NOT_INPUT.contains(&field.as_str()));
            Value::Object(fields).to_string()
        }
    };
    Some(AgentEvent::ToolCall {
        id: cut(text(item, "/id").unwrap_or_default(), 256),
        name: cut(name, 256),
        input: cut(&input, TOOL_BYTES),
    })
}

/// `Reconnecting... 2/5 (why)`. Other errors are followed by the end, which says the same.
fn retry(message: &str) -> Vec<AgentEvent> {
    let Some(rest) = message.strip_prefix("Reconnecting") else { return Vec::new() };
    let mut numbers = rest
        .split(|letter: char| !letter.is_ascii_digit())
        .filter_map(|number| number.parse::<u64>().ok());
    let (attempt, of) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    let why = rest.split_once('(').map_or(rest, |(_, why)| why.trim_end_matches(')'));
    vec![AgentEvent::Retrying { attempt, of, why: cut(why, MESSAGE_BYTES) }]
}
