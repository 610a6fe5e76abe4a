//! `agentos mcp`, driven by a real client of the protocol, and by bytes that no client would send.

mod acting;
pub(crate) mod client;
mod guarded;
mod protocol;
mod reading;
