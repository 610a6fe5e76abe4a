//! Where state lives and where runs work, with real git and jj.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]

mod conformance;
mod crowd;
mod fixture;
mod identity;
mod jujutsu;
mod layouts;
mod named;
mod part;
mod place;
mod prepared;
mod refusals;
mod variables;
mod workspaces;
