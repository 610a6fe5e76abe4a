//! What happens, as it happens: the tails of all logs, to whoever has subscribed.
//!
//! ```text
//! database ─ follower ──▶ Batch, written once ──▶ mailbox ──▶ socket      one follower for each database
//!    │                                            (bounded)      ▲
//!    └───────────────── pages of the run's log ──────────────────┘        whoever is behind reads by itself
//! ```
//!
//! **The log is the promise, the mailbox is only quick.** Every subscription knows the position that it has to send next.
//! What comes through the mailbox with that position is sent; what has an earlier one was sent already; where there is a
//! gap, and whenever a mailbox was too full, the log is read from that position on. So nothing is missed and nothing is
//! sent twice, whatever is lost on the way, and nobody has to be waited for.
//!
//! **A slow client costs a bound.** Its mailbox is emptied when it is full, and it is told so when it reads again. Nobody
//! who writes ever waits for it: a follower only puts things into mailboxes.
//!
//! **Whoever wrote it.** Followers read the databases, so runs that other processes drive are followed like our own. What
//! those do not write down (the text of an agent that it has not finished) is not seen.
//!
//! While nobody has subscribed nothing is read.

mod batch;
mod bounds;
mod document;
mod events;
mod follow;
mod hub;
mod logs;
mod mailbox;
mod page;
mod progress;
mod socket;
mod wish;

use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(crate) use hub::Audience;
pub use hub::Hub;

use crate::state::AppState;

/// The addresses at which something is followed.
pub(crate) fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(events::events))
        .routes(routes!(logs::logs))
        .route("/ws", get(socket::upgrade))
}
