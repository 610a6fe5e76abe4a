//! Programs that are run for real.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]

mod tool;
