//! Which sessions a run has had, as its rows say: a session is gone on with by its name.

use agentos_agent::usage::{Baseline, Usage};
use agentos_core::failure::Failure;
use agentos_core::id::RunId;
use async_trait::async_trait;

/// A session that a run has had.
#[derive(Debug, Clone, PartialEq)]
pub struct KnownSession {
    /// What the run calls it.
    pub name: String,
    /// Which agent.
    pub agent: Option<String>,
    /// What the agent calls it.
    pub session_id: Option<String>,
    /// What it used, if that is known.
    pub usage: Option<Usage>,
    /// What it cost in US dollars.
    pub cost_usd: Option<f64>,
}

/// Knows which sessions runs have had.
#[async_trait]
pub trait Sessions: Send + Sync + 'static {
    /// Those of a run, oldest first.
    ///
    /// # Errors
    /// It can't be found out: a failure of the session that wanted to know.
    async fn of(&self, run: RunId) -> Result<Vec<KnownSession>, Failure>;
}

/// Knows of none.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSessions;

#[async_trait]
impl Sessions for NoSessions {
    async fn of(&self, _: RunId) -> Result<Vec<KnownSession>, Failure> {
        Ok(Vec::new())
    }
}

/// The latest session of this name that an agent could find again.
pub(super) fn latest<'a>(known: &'a [KnownSession], name: &str) -> Option<&'a KnownSession> {
    known.iter().rev().find(|known| known.name == name && known.session_id.is_some())
}

/// What a session has used so far, in all its parts.
pub(super) fn used(known: &[KnownSession], session_id: &str) -> Baseline {
    let mut used = Baseline::default();
    for part in known.iter().filter(|part| part.session_id.as_deref() == Some(session_id)) {
        used.usage += part.usage.unwrap_or_default();
        used.is_short |= part.usage.is_none();
        used.cost_usd += part.cost_usd.unwrap_or(0.0);
    }
    used
}
