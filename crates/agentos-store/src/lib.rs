//! Where runs are kept: what a store promises, a simulated one, and the suite that every real one has to pass.
//!
//! [`store::Store`] is a trait of atomic verbs without driver types. A transaction lives inside one verb, so atomicity
//! is nobody's duty to remember. Every verb has its own error type, and every error says itself whether a retry can
//! help ([`retry::Retry`]): that is known to the backend, not to the caller.
//!
//! [`simulated::SimulatedStore`] keeps everything in memory and fails on demand. [`conformance`] holds a case for every
//! promise; a backend that passes them can take the place of any other.
//!
//! [`sqlite::SqliteStore`] keeps everything in one file that many processes share.
//!
//! The verbs read no clock and interpret no log: times come in with the request, entries are opaque to them (but for
//! the first, which has to belong to the run). What people see of a run is derived from its log by a
//! [`projection`] and read through [`records`]; nothing that drives a run needs it. Files that are kept with a run
//! are in its [`folder`].
//!
//! One view over several databases is in [`unified`]: each run once, whatever file it is in.
//!
//! Which checkouts and databases this user has is remembered by the [`registry`], with whom the server lets in; no run depends on it.

pub mod backend;
pub mod bounds;
pub mod claim;
pub mod commit;
pub mod conformance;
pub mod counterpart;
pub mod due;
mod file_limit;
pub mod folder;
pub mod ids;
pub mod inbox;
pub mod list;
pub mod log;
pub mod moment;
pub mod place;
pub mod projection;
pub mod records;
pub mod registry;
pub mod retry;
pub mod run;
pub mod simulated;
pub mod since;
pub mod sqlite;
pub mod store;
pub mod tail;
pub mod transfer;
pub mod unified;
