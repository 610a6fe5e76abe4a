//! The places at which a process of the start protocol may die and it matters.
//!
//! Between two of these, dying is the same as dying at the first: nothing has changed outside of the process. Tests die
//! at each of them; the product passes them.

/// A place at which a supervisor, or whoever starts one, may die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Point {
    /// Client: the directory is there; no supervisor was started in it.
    Ordered,
    /// Client: a supervisor was started; nobody has heard of it.
    Launched,
    /// Client: the leftovers of a dead supervisor are ended; that is not written down.
    Cleared,
    /// Supervisor: it lives, and has no lock.
    Begun,
    /// Supervisor: it has the lock; nothing says that it has started.
    Locked,
    /// Supervisor: `started.json` is there; no child is.
    Recorded,
    /// Supervisor: the child is there.
    Spawned,
    /// Supervisor: the child has exited and its output is kept; what it left behind may live.
    Exited,
    /// Supervisor: nothing is left; that is not written down.
    Ended,
    /// Supervisor: `exit.json` is there.
    Written,
}

impl Point {
    /// All of them, in the order in which they are passed.
    pub const ALL: [Self; 10] = [
        Self::Ordered,
        Self::Launched,
        Self::Cleared,
        Self::Begun,
        Self::Locked,
        Self::Recorded,
        Self::Spawned,
        Self::Exited,
        Self::Ended,
        Self::Written,
    ];
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
