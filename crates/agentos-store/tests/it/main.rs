//! The suite on the simulated store, the suite on broken ones, and what the simulated store adds to the promises.

mod broken;
mod catches;
mod conformance;
mod faults;
mod fixture;
mod folder;
#[expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]
mod registry;
#[expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]
mod sqlite;
