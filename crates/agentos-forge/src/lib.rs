//! Forges: pull requests on GitHub, GitLab and Forgejo behind one door.
//!
//! ```text
//! remote's address ──▶ Remote ──▶ Kind, API address      (whose repository it is)
//! Forge::open ──▶ asked for before ──▶ opened ──▶ PullRequest
//! ```
//!
//! **One pull request for one request.** Whether the forge has taken a request is not known when the answer is lost. So
//! each carries a mark in its body, and nothing is sent before the forge was asked for a pull request with that mark.
//!
//! Nothing in here starts a process, reads the environment or a repository: address, token and retry policy come from outside.

mod dialect;
mod error;
mod forge;
mod pull_request;
mod remote;
mod text;
mod wire;

pub use dialect::Kind;
pub use error::ForgeError;
pub use forge::{Access, Forge, RetryPolicy};
pub use pull_request::{Mark, NewPullRequest, Opened, PullRequest, PullRequestState};
pub use remote::{Remote, RemoteError};
