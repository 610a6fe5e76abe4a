//! The server, through its own doors: real requests over real sockets, real databases behind it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that unwraps fails with the right line, also in what it is made of"
)]

mod access;
mod description;
mod live;
