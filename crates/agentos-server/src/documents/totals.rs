//! Sums over runs, for whoever shows all of them at a glance.

use std::collections::BTreeMap;

use agentos_store::projection::{WaitKind, WorkflowStatus};
use agentos_store::unified::UnifiedTotals;
use serde::Serialize;
use utoipa::ToSchema;

use super::page::Unreadable;

/// How many runs there are, and what their agents have used.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Totals {
    /// Runs, by status. Every status is there.
    #[schema(example = json!({ "PENDING": 0, "RUNNING": 3, "COMPLETED": 40, "FAILED": 2, "CANCELLED": 1, "TIMED_OUT": 0 }))]
    runs: BTreeMap<&'static str, u64>,
    /// Runs that only wait, by what they wait for. Every kind is there.
    #[schema(example = json!({ "approval": 1, "signal": 0, "child": 0, "slot": 0, "disk": 0, "retry": 0, "timer": 1 }))]
    waiting: BTreeMap<&'static str, u64>,
    /// Tokens that their agents have used.
    tokens: Tokens,
    /// What that cost, as far as it is known.
    cost_usd: f64,
    /// Databases that could not be read, so that what is in them is missing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    unreadable: Vec<Unreadable>,
}

/// Tokens of agents.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Tokens {
    /// Read.
    input: u64,
    /// Written.
    output: u64,
    /// Read from a cache.
    cached: u64,
}

impl From<UnifiedTotals> for Totals {
    fn from(UnifiedTotals { totals, unreadable }: UnifiedTotals) -> Self {
        let of_status = |status: WorkflowStatus| {
            (status.as_str(), totals.runs.get(&status).copied().unwrap_or(0))
        };
        let of_kind =
            |kind: WaitKind| (kind.as_str(), totals.waiting.get(&kind).copied().unwrap_or(0));
        Self {
            runs: WorkflowStatus::ALL.into_iter().map(of_status).collect(),
            waiting: WaitKind::ALL.into_iter().map(of_kind).collect(),
            tokens: Tokens {
                input: totals.tokens.input,
                output: totals.tokens.output,
                cached: totals.tokens.cached,
            },
            cost_usd: totals.cost_usd,
            unreadable: unreadable.into_iter().map(Unreadable::from).collect(),
        }
    }
}
