//! What happens outside of a run: commands and children. With a seed, in any order, and not always well.

use agentos_core::effect::{Effect, Happening};
use agentos_core::entry::{OperationResult, RunOutcome};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Try};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_testing::chance;
use serde_json::json;

/// What was ordered and is not done, and what was begun.
pub(crate) struct World {
    chance: Option<u64>,
    pub(crate) performed: Vec<String>,
    orders: Vec<Effect>,
}

impl World {
    pub(crate) fn new(chance: Option<u64>) -> Self {
        Self { chance, performed: Vec::new(), orders: Vec::new() }
    }

    /// Takes orders. What is to be stopped before it began does not begin.
    pub(crate) fn order(&mut self, effects: impl Iterator<Item = Effect>) {
        for effect in effects {
            if matches!(effect, Effect::Stop { .. }) {
                self.orders.retain(|order| order.operation() != effect.operation());
            }
            self.orders.push(effect);
        }
    }

    pub(crate) fn draw(&self, text: &str, len: usize) -> u32 {
        chance::number(&format!("{:?} {text} {len}", self.chance))
    }

    /// The next thing that comes to an end.
    pub(crate) fn next(&mut self, len: usize) -> Option<Happening> {
        while !self.orders.is_empty() {
            let draw = |order: &Effect| self.draw(order.operation().as_str(), len);
            let next = match self.chance {
                Some(_) => (0..self.orders.len()).min_by_key(|nth| draw(&self.orders[*nth]))?,
                None => 0,
            };
            let order = self.orders.remove(next);
            if let Some(happening) = self.perform(order) {
                return Some(happening);
            }
        }
        None
    }

    fn perform(&mut self, order: Effect) -> Option<Happening> {
        let ended = |operation, r#try, result| Some(Happening::Ended { operation, r#try, result });
        match order {
            Effect::Stop { operation, r#try, child: None } => {
                ended(operation, r#try, OperationResult::Cancelled {})
            }
            Effect::Stop { operation, child, .. } => {
                child_ended(operation, child, RunOutcome::Cancelled { failure: None })
            }
            Effect::Perform { operation, kind: OperationKind::Invoke, args, child, .. } => {
                self.performed.push(operation.to_string());
                let output = json!({ "of": operation.name(), "got": args });
                child_ended(operation, child, RunOutcome::Completed { output })
            }
            Effect::Perform { operation, r#try, args, .. } => {
                self.performed.push(operation.to_string());
                let result = self.execute(&operation, r#try, &args)?;
                ended(operation, r#try, result)
            }
        }
    }

    /// A command: some fail, and some go on until they are stopped.
    fn execute(
        &self,
        operation: &OperationId,
        r#try: Try,
        args: &Value,
    ) -> Option<OperationResult> {
        let command = args["command"].as_str().unwrap_or_default();
        let fate = match self.chance {
            Some(_) => self.draw(operation.as_str(), r#try.0 as usize) % 20,
            None => 10,
        };
        let failure = Failure::new(FailureKind::Error, "broken");
        Some(match (command, fate) {
            ("hang", _) | (_, 0) => return None,
            ("break", _) | (_, 1..4) => OperationResult::Failed { failure },
            _ if self.chance.is_some() => {
                OperationResult::Ok { value: json!(chance::number(operation.as_str()) % 1_000) }
            }
            _ => OperationResult::Ok {
                value: json!({ "stdout": command, "exit_code": i32::from(command == "fail") }),
            },
        })
    }
}

fn child_ended(
    operation: OperationId,
    child: Option<RunId>,
    outcome: RunOutcome,
) -> Option<Happening> {
    let body = MessageBody::ChildEnded { operation, outcome };
    Some(Happening::Message(Message { key: child?.farewell(), body }))
}
