//! Programs behind a pointer: whoever drives runs of several languages keeps them like this.

use agentos_core::entry::RunOutcome;
use agentos_core::execution::{Execution, Options};
use agentos_core::program::{Delivery, Door, Program, ScopeId};
use agentos_core::time::Timestamp;
use agentos_core::{failure::Failure, program::BodyOutcome, value::Value};

use crate::support::fact::{error, name};
use crate::support::log::Log;

/// Hands its door on, returns at once, and leaves a rejection that nobody handled.
struct Careless;

impl Program for Careless {
    fn resume(&mut self, delivery: Delivery, door: &mut Door<'_>) {
        let Delivery::Run { scope, .. } = delivery else { return };
        let mut lent = door.reborrow();
        lent.set(scope, name("x"), Some(Value::Null)).expect("it is written");
        door.finish(scope, BodyOutcome::Returned(Value::Null));
    }

    fn unhandled(&self, _: ScopeId) -> Option<Failure> {
        Some(error("nobody looked"))
    }
}

#[test]
fn a_boxed_program_is_resumed_and_asked_like_the_one_inside() {
    let program: Box<dyn Program + Send> = Box::new(Careless);
    let journal = Log::started().journal();
    let (execution, turn) =
        Execution::replay(program, journal, Options::default(), Timestamp(0)).unwrap();
    assert_eq!(turn.chunk.entries[0].kind(), "state.written");
    let failure = error("nobody looked");
    assert_eq!(execution.outcome(), Some(&RunOutcome::Failed { failure }));
}
