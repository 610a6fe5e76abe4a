//! The store in a file: it keeps every promise, and what it does besides.

mod child;
mod crowd;
mod deletes;
mod differential;
mod disk;
mod elsewhere;
mod faults;
mod fixture;
mod given;
mod hazards;
mod here;
mod looking;
mod older;
mod owners;
mod processes;
mod records;
mod rows;
mod switches;
mod unified;

use fixture::SqliteFixture;

mod conformance {
    use super::SqliteFixture;

    agentos_store::conformance_tests!(SqliteFixture::new());
}
