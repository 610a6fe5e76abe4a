//! What is demonstrated: a change to some software, from the plan to the pull request.

use crate::script::Node;

/// The signal that a person sends when they have looked at the change.
pub(super) const APPROVED: &str = "approved";
/// When they do.
pub(super) const APPROVED_AT_MS: i64 = 15 * 60_000;

/// The workflow.
pub(super) fn program() -> Node {
    let of = vec![
        step("plan", 1, "agent plan"),
        step("implement", 3, "agent implement"),
        Node::All { of: vec![step("tests", 1, "cargo test"), step("review", 1, "agent review")] },
        Node::Wait { name: APPROVED.to_owned(), ms: 0 },
        step("pull request", 1, "gh pr create"),
    ];
    Node::Seq { of }
}

fn step(name: &str, attempts: u32, command: &str) -> Node {
    let body = Box::new(Node::Shell { name: command.to_owned() });
    Node::Step { name: name.to_owned(), body, attempts, delay: 30_000, timeout: 0, own: false }
}

/// The workflow as its author would tell it.
pub(super) const TOLD: &str =
    "plan, implement (3 attempts), tests and review at once, approval, pull request";

/// How long a command takes, and what comes of it.
pub(super) fn fate(command: &str, attempt: u32) -> (i64, Result<&'static str, &'static str>) {
    let (seconds, result) = match (command, attempt) {
        ("agent plan", _) => (40, Ok("4 files to change")),
        ("agent implement", 1) => (180, Err("does not compile")),
        ("agent implement", _) => (200, Ok("4 files changed")),
        ("cargo test", _) => (90, Ok("212 passed")),
        ("agent review", _) => (60, Ok("nothing to object")),
        ("gh pr create", _) => (5, Ok("opened")),
        _ => (1, Ok("done")),
    };
    (seconds * 1_000, result)
}
