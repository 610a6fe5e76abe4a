//! Newtypes for every id, position and count.
//!
//! A run log is full of small integers that sit next to each other (a position, an attempt, a try, an epoch).
//! Each has a type of its own because that is exactly the kind of pair that gets swapped.

use std::fmt;
use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher24;
use uuid::{Builder, Uuid};

use crate::path::OperationId;

/// Declares a newtype around a number, with ordering, display and transparent encoding.
macro_rules! number {
    ($(#[$doc:meta])* $name:ident($inner:ty)) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $inner);

        impl $name {
            /// The next one.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

number! {
    /// A position in one run's log. The first entry has position 0.
    Seq(u64)
}
number! {
    /// The fencing number of a run's owner: every claim makes it larger, and a commit with an older one fails.
    Epoch(u64)
}
number! {
    /// The number of a step's row, counted per run from 1 in the order in which steps were asked for.
    StepNumber(u32)
}
number! {
    /// One try at a whole step, counted from 1. Steps are retried by policy, after a failure.
    Attempt(u32)
}
number! {
    /// One execution of an operation, counted from 1. Operations are tried again only after an interruption.
    Try(u32)
}
number! {
    /// The how-manieth of its kind and name within its scope, counted from 1.
    Occurrence(u32)
}

impl Attempt {
    /// The first attempt.
    pub const FIRST: Self = Self(1);
}

impl Try {
    /// The first try.
    pub const FIRST: Self = Self(1);
}

impl Seq {
    /// The position of a log's first entry.
    pub const FIRST: Self = Self(0);
}

/// The id of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub Uuid);

impl RunId {
    /// The id of the run that this try of an operation of this run invokes: the same whenever it is asked for. It
    /// sorts beside its parent's.
    #[must_use]
    pub fn child(self, operation: &OperationId, r#try: Try) -> Self {
        let mut chance = [0; 10];
        for (half, bytes) in chance.chunks_mut(5).enumerate() {
            let mut hash = SipHasher24::new_with_keys(half as u64, u64::from(r#try.0));
            hash.write(self.0.as_bytes());
            hash.write(operation.as_str().as_bytes());
            bytes.copy_from_slice(&hash.finish().to_be_bytes()[..bytes.len()]);
        }
        let parent = u64::try_from(self.0.as_u128() >> 80).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(parent, &chance).into_uuid())
    }

    /// The key of the message with which this run tells its parent that it has ended.
    #[must_use]
    pub fn farewell(self) -> InboxKey {
        InboxKey(format!("child:{self}"))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id of a process that drives runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OwnerId(pub Uuid);

impl fmt::Display for OwnerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The unique key of a message in a run's inbox. Whoever sends twice under one key has sent once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InboxKey(pub String);

impl fmt::Display for InboxKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What a run's randomness is derived from: chosen once, stored in the log's first entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seed(pub u64);
