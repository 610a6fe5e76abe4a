//! Every limit of the store, in one place. Limits on what a log holds are the core's.

/// Longest key of a message, in bytes.
pub const KEY_BYTES: usize = 1_024;

/// Most messages that wait in one inbox before [`send`](crate::store::Store::send) refuses.
///
/// What other runs commit ([`Outgoing`](crate::commit::Outgoing)) is taken beyond it: a child can't keep its end to
/// itself, and there are only as many children as the run has ordered.
pub const INBOX_MESSAGES: usize = 10_000;

/// Largest chunk that a commit adds to a log, in bytes of its text. Single values have a bound of their own; this one is for
/// many of them at once.
pub const COMMIT_BYTES: usize = 64 * 1024 * 1024;

/// Most items that one page holds, whatever was asked for.
pub const PAGE: usize = 1_000;

/// The number of items that a page asked for with `limit` may hold: at least one, so that paging always moves, and at
/// most [`PAGE`].
#[must_use]
pub const fn page(limit: usize) -> usize {
    match limit {
        0 => 1,
        1..PAGE => limit,
        _ => PAGE,
    }
}
