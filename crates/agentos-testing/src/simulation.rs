//! A single-threaded world in which a run is driven, and from time to time killed.

mod campaign;
mod check;
mod driver;
mod follower;
mod plan;
mod scenario;
mod world;

pub use campaign::{Campaign, Finding, Tally};
pub use check::{Check, Mismatch, check, check_plan, check_sabotaged};
pub use driver::{Driver, Ending, Report};
pub use plan::{Fault, Plan, Point, Sabotage};
pub use scenario::{Mail, Scenario};
pub use world::World;
