//! Who gets in, and what those cost who should not: a small router behind the real listener, and clients that say what they
//! like.

mod crowds;
mod lengths;
mod others;
mod pages;
mod slow;
mod stage;
mod stopping;
mod tokens;
mod unix;
