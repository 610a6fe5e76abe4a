//! Waiting for several things at once, in an order that never varies.
//!
//! A run must do the same whenever it is executed again. So these look at their futures **in the order of the arguments**,
//! each time at all for which something may have changed, and if two are ready, the first of them counts. What lost was looked at, so its failure is
//! nobody's business any more. Macros that choose by chance, such as an
//! unbiased `select!`, break a run at its first replay. Combinators that keep wakers of their own (`FuturesUnordered`, a
//! shared future) are refused when they wait, because what they wait for can't be seen.
//!
//! What is not finished when one of these returns is dropped. The code of a dropped branch stops where it stands; the
//! operations and steps that it asked for go on until the scope that they belong to closes, which cancels them. To end
//! the losers of a race with it, race them in a step or phase of their own.

mod all;
mod branch;
mod many;
mod tuple;

pub use all::{join_all, race_all, try_join_all};
pub use tuple::{Either, Join, Race, TryJoin, either, join, race, try_join};

use crate::answer::Answer;
use crate::ctx::Ctx;
use agentos_core::failure::Failure;

impl Ctx {
    /// Waits for all of these answers, as [`try_join_all`]: in their order, or the first failure at once.
    ///
    /// # Errors
    /// The first failure that is delivered.
    pub async fn all<T: serde::de::DeserializeOwned>(
        &self,
        answers: impl IntoIterator<Item = Answer<T>>,
    ) -> Result<Vec<T>, Failure> {
        try_join_all(answers).await
    }
}
