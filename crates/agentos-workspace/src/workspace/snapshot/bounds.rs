//! Every limit of snapshots, in one place.

/// Largest file that a snapshot keeps, in bytes.
pub const FILE_BYTES: u64 = 1 << 30;

/// Most snapshots of one run.
pub const SNAPSHOTS: u32 = 10_000;

/// Most entries that a workspace may have for us to look at them.
pub(super) const ENTRIES: usize = 5_000_000;

/// Most files that something half done (a merge, a rebase) may have, and how large each may be, in bytes.
pub(super) const PRIVATE_FILES: usize = 2_000;
/// Largest of those files, in bytes.
pub(super) const PRIVATE_BYTES: u64 = 64 << 20;

/// Longest note of a label, in bytes.
pub(super) const NOTE_BYTES: usize = 1 << 10;

/// How often a workspace is looked at that changes meanwhile.
pub(super) const LOOKS: usize = 8;

/// How often the chain of a run is tried that somebody else makes longer at the same time.
pub(super) const LINKS: usize = 20;

/// Longest list of changed files, and longest text of them, in an answer.
pub(super) const DIFF_FILES: usize = 10_000;
/// Longest text of a difference, in bytes.
pub const DIFF_BYTES: usize = 16 << 20;
