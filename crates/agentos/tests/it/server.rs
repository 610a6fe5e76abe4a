//! `agentos serve`: the real server, asked over real sockets, with real runs. Every answer is checked against the description
//! that the server gives of itself.

mod answers;
mod artifacts;
mod catalog;
mod damaged;
mod deeds;
mod full;
mod fuzzed;
pub(crate) mod http;
mod leaving;
mod life;
mod listing;
mod live;
mod locked;
mod mistakes;
mod namesakes;
mod places;
mod readiness;
mod refusals;
pub(crate) mod stage;
mod starting;
mod telling;
mod totals;
mod worktrees;
