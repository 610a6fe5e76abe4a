//! What may go wrong with a forge.

/// What happens instead of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// This status, and nothing is done.
    Status(u16),
    /// A limit is reached: 403 with the headers that say so.
    Limited,
    /// Nothing is done, and no answer comes.
    Silence,
    /// It is done, and the answer is lost.
    LostAnswer,
    /// It is done, and no answer comes.
    HeldAnswer,
}

/// A fault for the next requests of a method whose path ends so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strike {
    /// `GET` or `POST`.
    pub method: &'static str,
    /// The end of the path, such as `/pulls`.
    pub path: &'static str,
    /// What happens.
    pub fault: Fault,
    /// How often.
    pub times: u32,
}
