//! A session as people read it: one paragraph for everything that happened, in plain text.

use crate::event::AgentEvent;

/// How much of a tool's arguments or answer is shown, in characters.
const SHOWN: usize = 300;

/// How an event reads, with a line break at its end; nothing for what is only of passing interest.
#[must_use]
pub fn paragraph(event: &AgentEvent) -> Option<String> {
    Some(match event {
        AgentEvent::SessionStarted { session_id, model } => match model {
            Some(model) => format!("session {session_id} ({model})\n"),
            None => format!("session {session_id}\n"),
        },
        AgentEvent::Text { text, partial: false } => format!("{}\n", text.trim_end()),
        AgentEvent::Thinking { text, partial: false } => indented("thinks: ", text),
        AgentEvent::ToolCall { name, input, .. } => indented(&format!("→ {name} "), &brief(input)),
        AgentEvent::ToolResult { ok, output, .. } => {
            indented(if *ok { "← " } else { "← failed: " }, &brief(output))
        }
        AgentEvent::Retrying { attempt, of: 0, why } => format!("tries again ({attempt}): {why}\n"),
        AgentEvent::Retrying { attempt, of, why } => {
            format!("tries again ({attempt} of {of}): {why}\n")
        }
        AgentEvent::Denied { tool, why } => {
            format!("not allowed: {tool} {}\n", brief(why).trim_end())
        }
        AgentEvent::Finished { ok: true, .. } => "done\n".to_owned(),
        AgentEvent::Finished { ok: false, why } => {
            format!("failed: {}\n", why.as_deref().unwrap_or("it does not say why").trim_end())
        }
        AgentEvent::Text { .. } | AgentEvent::Thinking { .. } | AgentEvent::Usage { .. } => {
            return None;
        }
    })
}

fn indented(first: &str, text: &str) -> String {
    let text = text.trim_end().replace('\n', "\n  ");
    format!("{first}{text}\n")
}

fn brief(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
