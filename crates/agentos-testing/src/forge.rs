//! A forge for tests: real HTTP on 127.0.0.1, pull requests in memory, nobody behind it.
//!
//! It speaks as much of GitHub's, GitLab's and Forgejo's REST APIs as it takes to open a pull request, each by its own
//! paths: `/repos/OWNER/NAME/…` is GitHub's, `/api/v4/projects/OWNER%2FNAME/…` GitLab's, `/api/v1/repos/…` Forgejo's. It
//! refuses what they refuse: a wrong token, a second pull request for the same branches, a label or a user that it does
//! not know. [`Fault`]s strike the next requests that fit.

mod fault;
mod pulls;
mod server;

pub use fault::{Fault, Strike};
pub use pulls::Pull;
pub use server::{ForgeServer, Received};

/// The token that is accepted.
pub const TOKEN: &str = "token-of-a-test";

/// The label that there is.
pub const LABEL: &str = "agentos";

/// The user who can be asked for a review.
pub const REVIEWER: &str = "ada";
