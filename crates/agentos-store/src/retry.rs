//! Whether asking again can help. Part of every error, because only the backend knows.

/// What may be done after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// The same request will get the same answer.
    Never,
    /// The same request may be made again as it is, after a pause.
    SameAgain,
    /// What the request was based on may be outdated, or the request may already have been carried out: claim the run
    /// again, load what is new, decide anew.
    AfterReload,
}
