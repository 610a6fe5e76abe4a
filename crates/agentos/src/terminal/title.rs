//! What a step is called in front of people.
//!
//! An operation outside of a step forms a step of its own, and many of those are named by a hash. They are shown by what
//! they were asked for: the question, the command.

use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_store::records::StepRecord;
use serde_json::Value;

use super::question::summary;

/// The step's name, or what the operation does.
pub(crate) fn title(step: &StepRecord) -> String {
    match operation(step) {
        Some(operation) => {
            operation.kind().map_or_else(|| step.name.clone(), |kind| of(kind, step))
        }
        None => step.name.clone(),
    }
}

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

fn of(kind: OperationKind, step: &StepRecord) -> String {
    let said = match kind {
        OperationKind::Approve => field(step, "question"),
        OperationKind::Shell => field(step, "command"),
        _ => Some(step.name.as_str()).filter(|name| *name != kind.as_str()),
    };
    said.map_or_else(|| kind.to_string(), |said| format!("{kind}: {said}"))
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
    fn operations_are_shown_by_what_they_do() {
        let mut asked = step(1, "/approve:00a1#1");
        asked.input = Some(json!({ "question": "Deploy?" }));
        assert_eq!(title(&asked), "approve: Deploy?");
        assert_eq!(question(&asked), Some("Deploy?"));
        let mut command = step(2, "/shell:00a2#1");
        command.input = Some(json!({ "command": "make test" }));
        assert_eq!(title(&command), "shell: make test");
        assert_eq!(title(&step(3, "/sleep:sleep#1")), "sleep");
        assert_eq!(title(&step(4, "/invoke:review#1")), "invoke: review");
        assert_eq!(title(&step(5, "/approve#1")), "approve");
        assert_eq!(question(&step(5, "/approve#1")), None);
    }
}
