//! Who calls, as far as that is known: for the record, and nothing is decided by it.

use agentos_workspace::surroundings::Surroundings;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use crate::terminal::text::harmless;

/// The longest name that is kept, in letters.
const LONGEST: usize = 100;

/// Variables in which agents tell what they start which session it belongs to.
const SESSION_VARIABLES: [&str; 1] = ["CLAUDE_CODE_SESSION_ID"];

/// Under which names agents tell their session beside a call.
const SESSION_KEYS: [&str; 4] = ["session_id", "sessionId", "thread_id", "threadId"];

/// Names the workspace that something was started in.
const WORKSPACE: &str = "AGENT_WORKSPACE_ID";

/// Who calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Caller {
    /// The client's own name: `claude-code`.
    pub(super) agent: String,
    version: Option<String>,
    session: Option<String>,
    /// The workspace it was started in, if a run did.
    workspace: Option<String>,
}

impl Caller {
    pub(super) fn of(context: &RequestContext<RoleServer>, surroundings: &Surroundings) -> Self {
        let client = context.client_info();
        let variable = |name: &str| Some(short(&surroundings.variable(name)?.to_string_lossy()));
        let session = session_beside(&context.meta).map(|session| short(&session));
        Self {
            agent: client.as_ref().map_or_else(|| "agent".to_owned(), |known| short(&known.name)),
            version: client.as_ref().map(|known| short(&known.version)),
            session: session.or_else(|| SESSION_VARIABLES.iter().find_map(|name| variable(name))),
            workspace: variable(WORKSPACE),
        }
    }

    /// All that is known, for the record.
    pub(super) fn facts(&self, user: &str) -> Value {
        json!({
            "via": "mcp", "agent": self.agent, "version": self.version, "session": self.session,
            "workspace": self.workspace, "user": user,
        })
    }
}

/// The session that is told beside a call: as it is, or within what the client adds under a name of its own.
fn session_beside(meta: &Map<String, Value>) -> Option<String> {
    let named = |object: &Map<String, Value>| {
        SESSION_KEYS.iter().find_map(|key| object.get(*key)?.as_str().map(str::to_owned))
    };
    named(meta).or_else(|| meta.values().filter_map(Value::as_object).find_map(named))
}

/// A name that can be shown.
fn short(text: &str) -> String {
    harmless(text.trim()).chars().take(LONGEST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_found_wherever_a_client_puts_it() {
        let of = |meta: Value| session_beside(meta.as_object().expect("an object"));
        assert_eq!(of(json!({ "threadId": "a" })), Some("a".to_owned()));
        assert_eq!(of(json!({ "x": 1, "turn": { "session_id": "b" } })), Some("b".to_owned()));
        assert_eq!(of(json!({ "progressToken": 1 })), None);
    }
}
