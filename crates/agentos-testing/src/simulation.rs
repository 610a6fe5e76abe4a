//! A single-threaded world in which a run is driven, and from time to time killed.

mod campaign;
mod check;
mod commit;
mod driver;
mod edits;
mod events;
mod follower;
mod forks;
mod life;
mod plan;
mod report;
mod rules;
mod scenario;
mod strike;
mod world;

pub use campaign::{Campaign, Finding, Tally};
pub use check::{Check, Mismatch, check, check_plan, check_sabotaged};
pub use driver::Driver;
pub use edits::{Edits, check_edits};
pub use forks::{Fork, check_forks};
pub use plan::{Fault, Plan, Point, Sabotage};
pub use report::{Ending, Report, edition_of};
pub use rules::broken_rule;
pub use scenario::{Mail, Scenario};
pub use world::{World, result_of};
