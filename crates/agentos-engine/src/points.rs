//! The places at which a process may die and it matters.
//!
//! Between two of these, dying is the same as dying at the first: nothing has changed outside of the process. So a test
//! that dies at each of them has died everywhere.

/// A place at which a process may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Point {
    /// The run is claimed; nothing of it is loaded.
    Claimed,
    /// Its log is read and executed; nothing new is decided.
    Loaded,
    /// A turn is decided; nothing of it is committed.
    Decided,
    /// A turn is committed; nothing of it is performed.
    Committed,
    /// The next effect of a committed turn is about to be performed.
    Performing,
    /// An effect is over; nobody has heard of it.
    Performed,
    /// A child run is created; its parent has not heard of it.
    Created,
    /// The run only waits; it is about to be given back.
    Parking,
    /// The run was given back.
    Parked,
}

/// What becomes of a process that passes a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It goes on.
    Live,
    /// It is as good as dead: it touches nothing any more.
    Die,
}

/// Watches a process pass its points.
pub trait Points: Send + Sync + 'static {
    /// A point is passed.
    fn pass(&self, point: Point) -> Fate;
}

/// Lets everybody live.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoPoints;

impl Points for NoPoints {
    fn pass(&self, _: Point) -> Fate {
        Fate::Live
    }
}
