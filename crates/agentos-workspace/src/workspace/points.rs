//! The places at which a process that makes, backs up, removes or restores a workspace, or takes a snapshot or returns to
//! one, may die and it matters.
//!
//! Between two of these, dying is the same as dying at the first, except within git or jj themselves, which are killed in
//! tests of their own. Tests die at each of them; the product passes them.

/// A place at which whoever makes a workspace may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// It is written down that it is being made; nothing is on disk.
    Recorded,
    /// git or jj has made it; nothing of ours is in it.
    Made,
    /// It has its marker.
    Marked,
    /// Everything is in it; it is not written down that it is ready.
    Furnished,
    /// It is written down that it is ready; nobody was told.
    Ready,
    /// Of a backup: its files are objects, which nothing holds.
    Stored,
    /// Of a backup: its archive is there, and nothing says so.
    Archived,
    /// Of a backup: it is whole.
    BackedUp,
    /// It is written down that it is on its way out; it is still in its place.
    Condemned,
    /// It is in the trash; git or jj do not know.
    Moved,
    /// git or jj have forgotten it; its branch is there.
    Forgotten,
    /// Of one that is taken back: its folder is in the trash; git or jj still know of it.
    Withdrawn,
    /// Of one that is taken back: git or jj have forgotten it; it is still written down, and in the trash.
    Undone,
    /// Of a restored one: its files are there, its private folder is not.
    Filled,
    /// Of a snapshot: its files are in the index of snapshots, nothing says so.
    Developed,
    /// Of a snapshot: its commit is there, nothing leads to it.
    Chained,
    /// Of a snapshot: it is whole, and nobody was told.
    Taken,
    /// Of a return: it is written down where to; nothing has changed.
    Returning,
    /// Of a return: the files that were are there again; those that were not still are too.
    PutBack,
    /// Of a return: the files are as they were; the index, what was half done and the branch are not.
    Cleared,
    /// Of a return: everything is as it was; it is still written down.
    Returned,
}

impl Point {
    /// Those of making one, in the order in which they are passed.
    pub const ALL: [Self; 5] =
        [Self::Recorded, Self::Made, Self::Marked, Self::Furnished, Self::Ready];

    /// Those of removing one.
    pub const OF_REMOVAL: [Self; 6] = [
        Self::Stored,
        Self::Archived,
        Self::BackedUp,
        Self::Condemned,
        Self::Moved,
        Self::Forgotten,
    ];

    /// Those of restoring one.
    pub const OF_RESTORING: [Self; 5] =
        [Self::Recorded, Self::Made, Self::Filled, Self::Furnished, Self::Ready];

    /// Those of taking back what a killed process has left half made.
    pub const OF_TAKING_BACK: [Self; 2] = [Self::Withdrawn, Self::Undone];

    /// Those of taking a snapshot.
    pub const OF_SNAPSHOTS: [Self; 3] = [Self::Developed, Self::Chained, Self::Taken];

    /// Those of returning to one.
    pub const OF_RETURNING: [Self; 4] =
        [Self::Returning, Self::PutBack, Self::Cleared, Self::Returned];

    /// The spelling.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recorded => "recorded",
            Self::Made => "made",
            Self::Marked => "marked",
            Self::Furnished => "furnished",
            Self::Ready => "ready",
            Self::Stored => "stored",
            Self::Archived => "archived",
            Self::BackedUp => "backed-up",
            Self::Condemned => "condemned",
            Self::Moved => "moved",
            Self::Forgotten => "forgotten",
            Self::Withdrawn => "withdrawn",
            Self::Undone => "undone",
            Self::Filled => "filled",
            Self::Developed => "developed",
            Self::Chained => "chained",
            Self::Taken => "taken",
            Self::Returning => "returning",
            Self::PutBack => "put-back",
            Self::Cleared => "cleared",
            Self::Returned => "returned",
        }
    }
}

/// Watches a process pass its points.
pub trait Points: Send + Sync {
    /// A point is passed.
    fn pass(&self, point: Point);
}

/// Lets everybody live.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPoints;

impl Points for NoPoints {
    fn pass(&self, _: Point) {}
}
