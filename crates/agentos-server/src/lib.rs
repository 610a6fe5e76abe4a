//! The server: REST, WebSocket, the dashboard, and who may use them.
//!
//! ```text
//! listen ──▶ access ──▶ routes/<resource> ──▶ store (reading) · House (everything else)
//!                       live/             ──▶ the logs' tails, to whoever has subscribed
//! ```
//!
//! **One truth.** What is answered here is read from the same databases that the command line reads, by whatever process
//! they are written; the documents are the ones that `--json` prints.
//!
//! **Nobody gets in unknown.** Every connection comes in by [`listen`], and every request through [`access`], which puts the
//! [`Caller`](access::Caller) beside it.
//!
//! **The server has no opinion.** How a run is started, a workspace judged or a project found is the program's business,
//! which it hands over as a [`House`](house::House); in here are addresses, documents, access and streams.

pub mod access;
mod asked;
pub mod documents;
mod file;
pub mod house;
mod layers;
pub mod listen;
pub mod live;
pub mod problem;
mod routes;
mod state;
mod traffic;

pub use routes::{openapi, router};
pub use state::AppState;
