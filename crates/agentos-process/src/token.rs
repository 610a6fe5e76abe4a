//! The mark that every process of an operation carries in its environment.
//!
//! A process may leave its session and its parents, but not its environment. A command that runs inside another one
//! carries the marks of both, so that ending the outer one also finds the inner one.

use std::fmt::Write as _;
use std::io;

use serde::{Deserialize, Serialize};

use crate::processes::Process;

/// The variable of the marks.
pub const VARIABLE: &str = "AGENTOS_OPERATION";

/// Between two marks.
const BETWEEN: char = ':';

/// The mark of one try of one operation. Never used for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers to give.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; 16];
        let mut filled = 0;
        while filled < bytes.len() {
            let rest = &mut bytes[filled..];
            filled += rustix::rand::getrandom(rest, rustix::rand::GetRandomFlags::empty())?;
        }
        let mut text = String::with_capacity(32);
        for byte in bytes {
            // Writing to a text can't fail.
            let _written = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// The one that anybody can tell again who knows what it stands for: for short programs that leave no record of their
    /// own. What can't be part of a mark is written as `-`.
    #[must_use]
    pub fn of(what: &str) -> Self {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric();
        Self(what.chars().map(|letter| if is_plain(letter) { letter } else { '-' }).collect())
    }

    /// The mark.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The value of [`VARIABLE`] for a process of this operation, inside of whatever `outer` already says.
    #[must_use]
    pub fn within(&self, outer: Option<&str>) -> String {
        match outer.filter(|outer| !outer.is_empty()) {
            Some(outer) => format!("{outer}{BETWEEN}{}", self.0),
            None => self.0.clone(),
        }
    }

    /// Whether an environment, as `/proc` shows it, carries the mark.
    pub(crate) fn is_in(&self, environment: &[u8]) -> bool {
        environment.split(|byte| *byte == 0).any(|variable| {
            variable
                .strip_prefix(VARIABLE.as_bytes())
                .and_then(|rest| rest.strip_prefix(b"="))
                .is_some_and(|marks| {
                    marks.split(|byte| *byte == BETWEEN as u8).any(|mark| mark == self.0.as_bytes())
                })
        })
    }
}

/// How many generations are looked at.
const GENERATIONS: usize = 64;

/// Whether whoever started this process carries a mark, or whoever started that, and so on. Some programs hand on only a
/// part of their environment, so that what they start can't tell by its own.
#[must_use]
pub fn is_carried_by_ancestor() -> bool {
    let own = i32::try_from(std::process::id()).ok().and_then(Process::load);
    own.is_some_and(|own| generations(own).skip(1).any(carries_mark))
}

/// Whether this process carries a mark, or whoever started it, and so on.
pub(crate) fn is_carried_from(process: Process) -> bool {
    generations(process).any(carries_mark)
}

/// A process, whoever started it, and so on.
fn generations(process: Process) -> impl Iterator<Item = Process> {
    let above = |process: &Process| Process::load(process.parent).filter(|_| process.parent > 1);
    // Our own process comes first.
    std::iter::successors(Some(process), above).take(GENERATIONS + 1)
}

fn carries_mark(process: Process) -> bool {
    is_marked(&process.environment())
}

/// Whether an environment, as `/proc` shows it, carries any mark.
fn is_marked(environment: &[u8]) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let value = variable.strip_prefix(VARIABLE.as_bytes());
        value.and_then(|rest| rest.strip_prefix(b"=")).is_some_and(|marks| !marks.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_found_among_others_and_only_whole() {
        let (outer, inner) = (Token("aa".into()), Token("bb".into()));
        let marks = inner.within(Some(&outer.within(None)));
        let environment = format!("PATH=/bin\0{VARIABLE}={marks}\0X=cc\0");
        assert!(outer.is_in(environment.as_bytes()) && inner.is_in(environment.as_bytes()));
        assert!(!Token("a".into()).is_in(environment.as_bytes()));
        assert!(!Token("cc".into()).is_in(environment.as_bytes()));
        assert!(!outer.is_in(format!("X{VARIABLE}=aa\0").as_bytes()));
        assert!(is_marked(environment.as_bytes()));
        assert!(!is_marked(format!("X{VARIABLE}=aa\0{VARIABLE}=\0").as_bytes()));
    }
}
