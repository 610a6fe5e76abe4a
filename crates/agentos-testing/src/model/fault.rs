//! What can go wrong between a client and a model, as far as a server can make it go wrong.

use serde::{Deserialize, Serialize};

/// One way in which a request is not simply answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// Refused with this HTTP status and an error document of the dialect.
    Status(u16),
    /// Half of the answer, then something that is no event, and a proper end.
    Malformed,
    /// Half of the answer, then the connection is closed.
    Drop,
    /// The same in the middle of an event.
    DropWithin,
    /// Half of the answer, and a proper end.
    Short,
    /// Not even the head of an answer, and the connection stays open.
    Hang,
    /// Half of the answer, then silence, and the connection stays open.
    Stall,
    /// The whole answer, with so many milliseconds before each of its events.
    Slow(u64),
}
