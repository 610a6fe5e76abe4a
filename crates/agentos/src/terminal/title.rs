//! What a step is about, beside its name.

use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_store::records::StepRecord;
use serde_json::Value;

use super::question::summary;

/// What a question asks, if the step is one.
pub(super) fn question(step: &StepRecord) -> Option<&str> {
    operation(step).filter(|operation| operation.kind() == Some(OperationKind::Approve))?;
    field(step, "question")
}

/// What was changed when a question was asked, in a few words.
pub(super) fn changed(step: &StepRecord) -> Option<String> {
    step.input.as_ref()?.get("diff").and_then(summary)
}

/// Why a step was skipped.
pub(super) fn skip_reason(step: &StepRecord) -> Option<&str> {
    step.output.as_ref()?.get("skipped")?.as_str()
}

/// The operation that forms the step, if it is not one with a body.
pub(super) fn operation(step: &StepRecord) -> Option<OperationId> {
    step.path.parse().ok()
}

fn field<'a>(step: &'a StepRecord, name: &str) -> Option<&'a str> {
    step.input.as_ref()?.get(name).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::step;
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_question_asks_something() {
        let mut asked = step(1, "/approve:00a1#1");
        asked.input = Some(json!({ "question": "Deploy?" }));
        assert_eq!(question(&asked), Some("Deploy?"));
        assert_eq!(question(&step(5, "/approve#1")), None);
    }
}
