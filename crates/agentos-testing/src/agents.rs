//! The real command lines of coding agents, for tests: pinned, installed once, and kept away from everything real.
//!
//! [`installed`](RealAgent::installed) fetches one from npm into a cache of the developer, never globally. [`AgentHome`]
//! is where it lives during a test: a home of its own, a key that opens nothing, a [model server](crate::model) on
//! loopback, and a proxy that leads nowhere for whatever else it would like to reach.

mod home;
mod install;

use std::fmt;

pub use home::AgentHome;
pub use install::InstallError;

/// One of the agents that AgentOS knows, in the version that it is tested with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RealAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini's command line.
    Gemini,
}

impl RealAgent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// What workflows call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// Its package in the registry of npm.
    #[must_use]
    pub fn package(self) -> &'static str {
        match self {
            Self::Claude => "@anthropic-ai/claude-code",
            Self::Codex => "@openai/codex",
            Self::Gemini => "@google/gemini-cli",
        }
    }

    /// The version that is tested. It is always named: npm would pick an older one on an old Node without a word.
    #[must_use]
    pub fn version(self) -> &'static str {
        match self {
            Self::Claude => "2.1.325",
            Self::Codex => "0.166.0",
            Self::Gemini => "0.61.0",
        }
    }

    /// A model that it knows what to do with. It is always named: Gemini would ask another model which one to use.
    #[must_use]
    pub fn model(self) -> &'static str {
        match self {
            Self::Claude => "claude-sonnet-4-5",
            Self::Codex => "gpt-5.5",
            Self::Gemini => "gemini-2.5-flash",
        }
    }
}

impl fmt::Display for RealAgent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
