//! Every limit of the core, in one place.
//!
//! Whatever a workflow, an agent or a caller can make grow has a number here, so that a program gone wrong ends
//! with a sentence instead of a full disk. The numbers are generous: a run that meets one is broken, not large.

/// Longest name of a step, phase, operation, signal or state key, in bytes.
pub const NAME_BYTES: usize = 256;

/// How deep runs may invoke one another. A workflow that invokes itself has to end somewhere.
pub const INVOKE_DEPTH: u32 = 32;

/// How deep steps and phases may nest.
pub const SCOPE_DEPTH: usize = 32;

/// Longest path text accepted from a stored log: [`SCOPE_DEPTH`] names, each escaped at worst threefold.
pub const PATH_BYTES: usize = SCOPE_DEPTH * (NAME_BYTES * 3 + 32);

/// Largest single value (input, arguments, result, state), in bytes of compact JSON.
pub const VALUE_BYTES: usize = 4 * 1024 * 1024;

/// Longest message of a failure or reason of a skip, in bytes; the rest is cut off.
pub const MESSAGE_BYTES: usize = 64 * 1024;

/// Longest place in the source that is remembered, in bytes.
pub const SITE_BYTES: usize = 512;

/// How deep a value may nest. Below `serde_json`'s own limit of 128, which counts the entry around it too.
pub const VALUE_DEPTH: usize = 100;

/// After this many new entries a turn stops at the next delivery and commits what it has.
pub const TURN_ENTRIES: usize = 1_000;

/// How many requests and notes the code may make between two waits.
pub const DRAIN_REQUESTS: usize = 20_000;

/// How many log lines under one delivery are told apart.
pub const DELIVERY_LINES: u64 = 1 << 24;

/// How often a refused scope answers at once; a program that still asks afterwards is left waiting.
pub const DRAIN_REFUSALS: usize = 1_000;

/// Log length at which a run is reported as unusually long.
pub const LOG_ENTRIES_WARN: u64 = 10_000;

/// Log length at which a run takes no further operations and fails.
pub const LOG_ENTRIES: u64 = 200_000;

/// How often an operation is executed again after being interrupted, before it fails.
pub const OPERATION_TRIES: u32 = 20;

/// Most attempts that a step's retry policy may ask for.
pub const STEP_ATTEMPTS: u32 = 1_000;

/// Longest delay, sleep or timeout: ten years.
pub const DELAY_MS: u64 = 10 * 365 * 24 * 60 * 60 * 1_000;

/// How many kept answers stand in one entry.
pub const KEPT_ANSWERS: usize = 100;

/// Signals kept for waits that have not asked yet.
pub const KEPT_SIGNALS: usize = 10_000;

/// A gap between two turns that counts as nobody having driven the run. Shorter ones are not worth an entry.
pub const AWAY_MS: i64 = 60_000;

/// How long cleanup code of a closing scope may still ask for operations.
pub const GRACE_MS: u64 = 30_000;
