//! What somebody wants who enters the queue.

use serde::{Deserialize, Serialize};

/// One limit that something counts against, or would count against if there were one: who is at work is counted also by those
/// who know of a limit that was set meanwhile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The name of the limit: who has the same shares its slots.
    pub key: String,
    /// How many there may be at once; none if that is not limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// What is counted, for people: ``runs of `build` in this repository``.
    pub what: String,
    /// Who is counted. However many tickets say the same, it is one.
    pub who: String,
}

/// What is written on a ticket.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Wish {
    /// The run, for people.
    pub(crate) name: String,
    /// Where it works, as what it starts knows it.
    pub(crate) place: String,
    /// Where the run works whose process wants this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) within: Option<String>,
    pub(crate) claims: Vec<Claim>,
}

impl Wish {
    pub(crate) fn claim(&self, key: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.key == key)
    }
}
