//! What an operation outside of a step is called.
//!
//! It forms a step of its own, and many of those are named by a hash, which says nothing. So the step is named by what it
//! does, alike in the terminal, in documents and in SQL.

use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use serde_json::Value;

use super::operation::{about, name_of, text};

/// The operation's kind, and what it was asked for: `shell: make test`, `approve: Deploy?`, `invoke: review`.
#[must_use]
pub fn operation_title(operation: &OperationId, args: &Value) -> String {
    let Some(kind) = operation.kind() else { return name_of(operation) };
    let name = name_of(operation);
    let said = match kind {
        OperationKind::Approve => text(args, "question"),
        OperationKind::Shell if is_hash(&name) => text(args, "command"),
        _ => Some(name).filter(|name| name != kind.as_str()),
    };
    let said = said.as_deref().and_then(about);
    said.map_or_else(|| kind.to_string(), |said| format!("{kind}: {said}"))
}

/// Whether a name was made of what is done, because none was given.
fn is_hash(name: &str) -> bool {
    name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn titled(path: &str, args: &Value) -> String {
        operation_title(&path.parse().expect("an operation"), args)
    }

    #[test]
    fn operations_are_named_by_what_they_do() {
        let hashed = "/shell:061612ea057f7b91#1";
        assert_eq!(titled(hashed, &json!({ "command": "make\n  test" })), "shell: make test");
        assert_eq!(titled("/shell:setup#1", &json!({ "command": "make" })), "shell: setup");
        assert_eq!(
            titled("/approve:00a1#1", &json!({ "question": "Deploy?" })),
            "approve: Deploy?"
        );
        assert_eq!(titled("/invoke:review#1", &json!({})), "invoke: review");
        assert_eq!(titled("/sleep:sleep#1", &json!(null)), "sleep");
        assert_eq!(titled("/approve:approve#1", &json!(null)), "approve");
        let long = titled(hashed, &json!({ "command": "x".repeat(10_000) }));
        assert!(long.chars().count() < 220 && long.ends_with('…'), "{long}");
    }
}
