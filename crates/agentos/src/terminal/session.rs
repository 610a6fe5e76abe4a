//! A session of an agent in a few words: who, with what, how much of it.

use std::collections::HashMap;

use agentos_core::value::Value;
use agentos_store::projection::SessionStatus;
use agentos_store::records::SessionRecord;

use super::FamilyView;
use super::paint::Tone;
use super::text::{Line, brief};

/// How much of what an agent says is shown beside its session, in characters.
const SAID: usize = 60;

/// The line, with the session behind it.
pub(crate) fn pushed(mut line: Line, session: &SessionRecord, doing: Option<&str>) -> Line {
    line.push(Tone::Plain, session.agent.as_deref().unwrap_or("agent"));
    line.push(Tone::Faint, &format!(" {}", session.name));
    if let Some(model) = &session.model {
        line.push(Tone::Faint, &format!("  {model}"));
    }
    let tokens = [session.input_tokens, session.output_tokens].map(Option::unwrap_or_default);
    if tokens != [0, 0] {
        let [input, output] = tokens.map(count);
        line.push(Tone::Faint, &format!("  {input} in, {output} out"));
    }
    if let Some(cost) = session.cost_usd {
        line.push(Tone::Faint, &format!("  ${cost:.2}"));
    }
    if session.inherited {
        line.push(Tone::Faint, "  inherited");
    }
    if session.superseded {
        line.push(Tone::Faint, "  superseded");
    }
    match session.status {
        SessionStatus::Failed => {
            let reason = session.error.as_ref().and_then(reason);
            line.push(Tone::Bad, &format!("  {}", reason.unwrap_or("failed")));
        }
        SessionStatus::Cancelled => line.push(Tone::Warning, "  cancelled"),
        SessionStatus::Running | SessionStatus::Completed => {}
    }
    if let Some(doing) = doing.filter(|_| session.status == SessionStatus::Running) {
        line.push(Tone::Plain, &format!("  {}", brief(doing)));
    }
    line
}

/// In one word, why it failed.
fn reason(error: &Value) -> Option<&str> {
    error.pointer("/detail/exit_reason").or_else(|| error.get("kind")).and_then(Value::as_str)
}

/// A number of tokens as people say it.
fn count(tokens: i64) -> String {
    match tokens {
        0..=9_999 => tokens.to_string(),
        10_000..=999_999 => format!("{}k", tokens / 1_000),
        _ => format!("{}.{}M", tokens / 1_000_000, tokens / 100_000 % 10),
    }
}

/// Puts what is known of sessions that are under way into their rows: rows get their numbers at the end only.
pub(crate) fn overlay(view: &mut FamilyView, progress: &HashMap<String, Value>) {
    for session in &mut view.run.agent_sessions {
        let known = session.session_id.as_ref().and_then(|id| progress.get(id));
        let Some(known) = known.filter(|_| session.status == SessionStatus::Running) else {
            continue;
        };
        let number = |field: &str| known.get(field).and_then(Value::as_i64);
        session.input_tokens = number("input_tokens").or(session.input_tokens);
        session.output_tokens = number("output_tokens").or(session.output_tokens);
        session.cost_usd = known.get("cost_usd").and_then(Value::as_f64).or(session.cost_usd);
        let text = |field: &str| known.get(field).and_then(Value::as_str);
        session.model = session.model.take().or_else(|| text("model").map(ToOwned::to_owned));
        let tool = text("tool").map(|tool| format!("→ {tool}"));
        let said = text("text").and_then(|said| said.lines().rev().find(|line| !line.is_empty()));
        let said = said.map(|said| said.chars().take(SAID).collect());
        if let (Some(doing), Some(id)) = (tool.or(said), session.session_id.clone()) {
            view.doing.insert(id, doing);
        }
    }
    for child in &mut view.children {
        overlay(child, progress);
    }
}
