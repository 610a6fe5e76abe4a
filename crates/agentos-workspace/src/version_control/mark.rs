//! What a commit is found again by.
//!
//! Between the moment in which git has made a commit and the moment in which the run knows of it, anybody may be killed.
//! Whoever goes on looks for the mark among the latest commits before it makes another one.

use std::fmt;
use std::hash::Hasher as _;

use siphasher::sip::SipHasher24;

/// The trailer of a commit that carries a mark.
pub const TRAILER: &str = "AgentOS-Operation";

/// The mark of one operation: the same however often it is tried, and no other operation's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl Mark {
    /// Of an operation of a run. Operations have long names, and these end up in everybody's history: they are hashed.
    #[must_use]
    pub fn of(run: &str, operation: &str) -> Self {
        let mut hash = SipHasher24::new();
        hash.write(operation.as_bytes());
        Self(format!("{run}-{:016x}", hash.finish()))
    }

    /// The line of a message that carries it.
    #[must_use]
    pub fn line(&self) -> String {
        format!("{TRAILER}: {self}")
    }

    /// Whether a message carries it.
    #[must_use]
    pub fn is_in(&self, message: &str) -> bool {
        let line = self.line();
        message.lines().any(|other| other.trim_end() == line)
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_whole_and_only_on_a_line_of_its_own() {
        let mark = Mark::of("run", "save/git:commit#1");
        assert!(mark.is_in(&format!("a\n\nX: y\n{}\r\n", mark.line())));
        assert!(!mark.is_in(&format!("see {}", mark.line())));
        assert!(!mark.is_in(&format!("{}0", mark.line())));
        assert_ne!(mark, Mark::of("run", "save/git:commit#2"));
        assert_ne!(mark, Mark::of("other", "save/git:commit#1"));
    }
}
