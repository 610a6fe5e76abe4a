//! Where state lives and where runs work, with real git and jj; and what a run may touch, with real files.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]

mod conformance;
mod contained;
mod crowd;
mod direnv;
mod escapes;
mod fixture;
mod guarded;
mod identity;
mod jujutsu;
mod keep;
mod layouts;
mod named;
mod part;
mod place;
mod prepared;
mod refusals;
mod snapshots;
mod trouble;
mod variables;
mod version_control;
mod workspaces;
