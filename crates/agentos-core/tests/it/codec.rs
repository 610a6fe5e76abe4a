//! The log's text: spelled so for ever, and read back without a guess.

mod damage;
pub(crate) mod examples;
mod round_trip;
