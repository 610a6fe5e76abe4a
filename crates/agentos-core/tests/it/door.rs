//! The seam between the core and programs: what a door refuses, what a run survives, what a replay notices.

mod approvals;
mod bounds;
mod boxed;
mod children;
mod divergence;
mod endings;
mod forked;
mod happenings;
mod holds;
mod moves;
mod played;
mod reading;
mod retried;
mod same;
mod scopes;
mod sources;
mod timeouts;
mod turns;
mod unaware;
