//! Programs written by hand, in few words.

use super::Node;

/// One after the other.
#[must_use]
pub fn seq(of: impl IntoIterator<Item = Node>) -> Node {
    Node::Seq { of: of.into_iter().collect() }
}

/// All at once.
#[must_use]
pub fn all(of: impl IntoIterator<Item = Node>) -> Node {
    Node::All { of: of.into_iter().collect() }
}

/// The first to settle.
#[must_use]
pub fn race(of: impl IntoIterator<Item = Node>) -> Node {
    Node::Race { of: of.into_iter().collect() }
}

/// A command.
#[must_use]
pub fn shell(name: &str) -> Node {
    Node::Shell { name: name.into() }
}

/// A child run.
#[must_use]
pub fn invoke(name: &str) -> Node {
    Node::Invoke { name: name.into() }
}

/// An operation that is answered within the turn.
#[must_use]
pub fn pure(name: &str) -> Node {
    Node::Pure { name: name.into() }
}

/// A sleep.
#[must_use]
pub fn sleep(name: &str, ms: u64) -> Node {
    Node::Sleep { name: name.into(), ms }
}

/// A wait for a signal, for ever.
#[must_use]
pub fn wait(name: &str) -> Node {
    Node::Wait { name: name.into(), ms: 0 }
}

/// A wait for a signal, with a timeout.
#[must_use]
pub fn wait_for(name: &str, ms: u64) -> Node {
    Node::Wait { name: name.into(), ms }
}

/// A step with one attempt.
#[must_use]
pub fn step(name: &str, body: Node) -> Node {
    retried(name, 1, body)
}

/// A step with several attempts, one unit of time apart.
#[must_use]
pub fn retried(name: &str, attempts: u32, body: Node) -> Node {
    within(0, name, attempts, body)
}

/// A step whose attempts may take only so long.
#[must_use]
pub fn within(timeout: u64, name: &str, attempts: u32, body: Node) -> Node {
    let body = Box::new(body);
    Node::Step { name: name.into(), body, attempts, delay: 1, timeout, own: false }
}

/// A step whose body touches nothing outside of it.
#[must_use]
pub fn own(name: &str, attempts: u32, body: Node) -> Node {
    let body = Box::new(body);
    Node::Step { name: name.into(), body, attempts, delay: 1, timeout: 0, own: true }
}

/// A question to a person.
#[must_use]
pub fn approve(name: &str, ms: u64) -> Node {
    Node::Approve { name: name.into(), ms }
}

/// A phase.
#[must_use]
pub fn phase(name: &str, body: Node) -> Node {
    Node::Phase { name: name.into(), body: Box::new(body) }
}

/// A write to the state.
#[must_use]
pub fn set(key: &str, value: i64) -> Node {
    Node::Set { key: key.into(), value }
}

/// A read of the state.
#[must_use]
pub fn get(key: &str) -> Node {
    Node::Get { key: key.into() }
}

/// An error that a retry may mend.
#[must_use]
pub fn throw() -> Node {
    Node::Throw { retryable: true }
}

/// `try { body } catch {} finally { cleanup }`
#[must_use]
pub fn try_finally(body: Node, cleanup: Node) -> Node {
    Node::Try { body: Box::new(body), rescue: None, cleanup: Box::new(cleanup) }
}

/// `try { body } catch { rescue } finally { cleanup }`
#[must_use]
pub fn try_catch(body: Node, rescue: Node, cleanup: Node) -> Node {
    Node::Try { body: Box::new(body), rescue: Some(Box::new(rescue)), cleanup: Box::new(cleanup) }
}

/// The same, several times.
#[must_use]
pub fn repeat(times: u32, body: Node) -> Node {
    Node::Repeat { times, body: Box::new(body) }
}

/// A command that nobody awaits and whose failure nobody catches.
#[must_use]
pub fn forget(name: &str) -> Node {
    Node::Forget { name: name.into(), caught: false }
}
