//! What Claude Code writes.

use std::collections::HashMap;

use agentos_process::exit::Exit;
use serde_json::Value;

use crate::account::Account;
use crate::agent::Translator;
use crate::bounds::{MESSAGE_BYTES, OPEN_MESSAGES, TEXT_BYTES, TOOL_BYTES, cut};
use crate::classify::{kind_of, kind_of_status};
use crate::event::AgentEvent;
use crate::json::{count, list, money, object, text};
use crate::lines::Loss;
use crate::usage::{Baseline, Usage};
use crate::verdict::{Trouble, TroubleKind, Verdict};

/// Reads a stream.
#[derive(Debug, Default)]
pub(super) struct Stream {
    account: Account,
    before: Baseline,
    /// What each message has used so far; several are under way where agents start agents.
    messages: HashMap<String, Usage>,
    /// What messages that are not told apart any more have used.
    settled: Usage,
    /// The message that the stream is in.
    current: String,
    /// What the agent calls the trouble that it speaks of in a message.
    named_trouble: Option<TroubleKind>,
}

impl Translator for Stream {
    fn feed(&mut self, line: &str) -> Vec<AgentEvent> {
        let Some(event) = object(line) else {
            self.account.unreadable += 1;
            return Vec::new();
        };
        match text(&event, "/type") {
            Some("system") => self.system(&event),
            Some("stream_event") => self.piece(&event),
            Some("assistant") => self.assistant(&event),
            Some("user") => answers(&event),
            Some("result") => self.result(&event),
            _ => Vec::new(),
        }
    }

    fn feed_cut(&mut self, _: &str, loss: Loss) -> Vec<AgentEvent> {
        self.account.lost(loss);
        Vec::new()
    }

    fn is_piece(&self, line: &str) -> bool {
        line.contains("\"content_block_delta\"") && line.contains("\"stream_event\"")
    }

    fn finish(&mut self, exit: &Exit, complaints: &str) -> Verdict {
        self.account.verdict(exit, complaints, |_| None)
    }
}

impl Stream {
    pub(super) fn new(before: Baseline) -> Self {
        Self { before, ..Self::default() }
    }

    fn system(&mut self, event: &Value) -> Vec<AgentEvent> {
        match text(event, "/subtype") {
            Some("init") => {
                let id = text(event, "/session_id").unwrap_or_default();
                vec![self.account.started(id, text(event, "/model"))]
            }
            Some("api_retry") => {
                let why = text(event, "/error").unwrap_or("the model's server failed");
                let status = event.get("error_status").filter(|status| status.is_number());
                let why = status.map_or(why.to_owned(), |status| format!("{why} ({status})"));
                vec![AgentEvent::Retrying {
                    attempt: count(event, "/attempt"),
                    of: count(event, "/max_retries"),
                    why: cut(&why, MESSAGE_BYTES),
                }]
            }
            Some("permission_denied") => {
                let tool = text(event, "/tool_name").unwrap_or("a tool");
                vec![self.account.denied(tool, text(event, "/message").unwrap_or_default())]
            }
            _ => Vec::new(),
        }
    }

    fn piece(&mut self, event: &Value) -> Vec<AgentEvent> {
        match text(event, "/event/type") {
            Some("message_start") => {
                let id = text(event, "/event/message/id").unwrap_or_default();
                self.current = cut(id, 256);
                self.used(id, event.pointer("/event/message/usage"))
            }
            Some("message_delta") => {
                let id = self.current.clone();
                self.used(&id, event.pointer("/event/usage"))
            }
            // What agents that it has started say is not its own word.
            Some("content_block_delta") if is_own(event) => {
                let said = |kind| text(event, kind).map(|said| cut(said, TEXT_BYTES));
                if let Some(text) = said("/event/delta/text") {
                    return vec![AgentEvent::Text { text, partial: true }];
                }
                said("/event/delta/thinking")
                    .map(|text| AgentEvent::Thinking { text, partial: true })
                    .into_iter()
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    fn assistant(&mut self, event: &Value) -> Vec<AgentEvent> {
        let id = text(event, "/message/id").unwrap_or_default().to_owned();
        let mut events = self.used(&id, event.pointer("/message/usage"));
        if let Some(named) = text(event, "/error") {
            self.named_trouble = kind_of(named).or(self.named_trouble);
        }
        for block in list(event, "/message/content") {
            match text(block, "/type") {
                Some("text") if is_own(event) => {
                    let said = text(block, "/text").unwrap_or_default();
                    self.account.said(said);
                    events.push(AgentEvent::Text { text: cut(said, TEXT_BYTES), partial: false });
                }
                Some("thinking") if is_own(event) => {
                    let text = cut(text(block, "/thinking").unwrap_or_default(), TEXT_BYTES);
                    events.push(AgentEvent::Thinking { text, partial: false });
                }
                Some("tool_use") => events.push(AgentEvent::ToolCall {
                    id: cut(text(block, "/id").unwrap_or_default(), 256),
                    name: cut(text(block, "/name").unwrap_or("a tool"), 256),
                    input: block
                        .get("input")
                        .map(|input| cut(&input.to_string(), TOOL_BYTES))
                        .unwrap_or_default(),
                }),
                _ => {}
            }
        }
        events
    }

    /// A message has used so much by now.
    fn used(&mut self, id: &str, usage: Option<&Value>) -> Vec<AgentEvent> {
        let Some(usage) = usage.filter(|_| !id.is_empty()) else { return Vec::new() };
        if self.messages.len() >= OPEN_MESSAGES && !self.messages.contains_key(id) {
            for (_, used) in self.messages.drain() {
                self.settled += used;
            }
        }
        let used = self.messages.entry(cut(id, 256)).or_default();
        let now = tokens(usage);
        let earlier = *used;
        used.input_tokens = used.input_tokens.max(now.input_tokens);
        used.cached_tokens = used.cached_tokens.max(now.cached_tokens);
        used.output_tokens = used.output_tokens.max(now.output_tokens);
        if *used == earlier {
            return Vec::new();
        }
        let mut total = self.settled;
        self.messages.values().for_each(|used| total += *used);
        self.account.usage = total;
        vec![AgentEvent::Usage { usage: total, cost_usd: None }]
    }

    fn result(&mut self, event: &Value) -> Vec<AgentEvent> {
        self.final_usage(event);
        let mut events =
            vec![AgentEvent::Usage { usage: self.account.usage, cost_usd: self.account.cost_usd }];
        for denial in list(event, "/permission_denials") {
            let tool = text(denial, "/tool_name").unwrap_or("a tool");
            // Told of already where it happened.
            let _known = self.account.denied(tool, "");
        }
        if let Some(said) = text(event, "/result") {
            self.account.said(said);
        }
        let is_ok = event.get("is_error") == Some(&Value::Bool(false))
            && text(event, "/subtype") == Some("success")
            && text(event, "/terminal_reason").is_none_or(|reason| reason == "completed");
        let ending = if is_ok { Ok(()) } else { Err(self.trouble(event)) };
        events.push(self.account.ended(ending));
        events
    }

    fn trouble(&self, event: &Value) -> Trouble {
        let said = text(event, "/result").or_else(|| text(event, "/errors/0"));
        let reason = text(event, "/terminal_reason");
        let said = said.or(reason).unwrap_or("it says that it failed");
        let status = count(event, "/api_error_status");
        let kind = match (text(event, "/subtype"), reason) {
            (Some("error_max_turns"), _) | (_, Some("max_turns")) => TroubleKind::MaxTurns,
            (Some("error_max_budget_usd"), _) => TroubleKind::Budget,
            (_, Some("aborted_tools" | "aborted_streaming")) => TroubleKind::Killed,
            _ => u16::try_from(status)
                .ok()
                .and_then(kind_of_status)
                // A lost connection has no name of its own there.
                .or_else(|| kind_of(said).filter(|kind| *kind == TroubleKind::Dropped))
                .or(self.named_trouble)
                .or_else(|| kind_of(said))
                .unwrap_or(TroubleKind::Api),
        };
        Trouble::new(kind, said)
    }

    /// What this process has used: it says so by itself, else the total of the conversation less what was known.
    fn final_usage(&mut self, event: &Value) {
        self.account.is_counted = true;
        let since = event.get("model_usage_since_last_result").and_then(Value::as_object);
        if let Some(models) = since {
            let mut usage = Usage::default();
            let mut cost = 0.0;
            for used in models.values() {
                usage += tokens_of_model(used);
                cost += money(used, "/costUSD").unwrap_or(0.0);
            }
            (self.account.usage, self.account.cost_usd) = (usage, Some(cost));
            return;
        }
        if let Some(usage) = event.get("usage") {
            self.account.usage = tokens(usage);
        }
        self.account.cost_usd = money(event, "/total_cost_usd").map(|total| {
            if total >= self.before.cost_usd { total - self.before.cost_usd } else { total }
        });
    }
}

/// What it counts as input is only what no cache was asked about.
fn tokens(usage: &Value) -> Usage {
    let cached = count(usage, "/cache_read_input_tokens");
    let kept = count(usage, "/cache_creation_input_tokens");
    Usage {
        input_tokens: count(usage, "/input_tokens").saturating_add(cached).saturating_add(kept),
        output_tokens: count(usage, "/output_tokens"),
        cached_tokens: cached,
    }
}

fn tokens_of_model(used: &Value) -> Usage {
    let cached = count(used, "/cacheReadInputTokens");
    let kept = count(used, "/cacheCreationInputTokens");
    Usage {
        input_tokens: count(used, "/inputTokens").saturating_add(cached).saturating_add(kept),
        output_tokens: count(used, "/outputTokens"),
        cached_tokens: cached,
    }
}

/// Whether it comes from the agent itself and not from one that it has started.
fn is_own(event: &Value) -> bool {
    text(event, "/parent_tool_use_id").is_none()
}

fn answers(event: &Value) -> Vec<AgentEvent> {
    let results =
        list(event, "/message/content").filter(|block| text(block, "/type") == Some("tool_result"));
    let answer = |block: &Value| {
        let content = block.get("content").unwrap_or(&Value::Null);
        let said = content.as_str().map_or_else(|| content.to_string(), ToOwned::to_owned);
        AgentEvent::ToolResult {
            id: cut(text(block, "/tool_use_id").unwrap_or_default(), 256),
            ok: block.get("is_error") != Some(&Value::Bool(true)),
            output: cut(&said, TOOL_BYTES),
        }
    };
    results.map(answer).collect()
}
