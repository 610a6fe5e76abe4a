//! What clients say over a WebSocket.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::problem::Problem;

/// Longest name that a client may give to a wish, in bytes of its JSON.
const NAME: usize = 256;

/// What a client wants.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wish {
    /// Whatever the client calls it; what is answered has the same.
    pub(super) id: Option<Value>,
    pub(super) ask: Ask,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Ask {
    Subscribe(Target),
    Unsubscribe(Target),
    Cancel { run: String, reason: Option<String> },
}

/// What is to be heard of.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Target {
    Run {
        name: String,
        /// The position after which it begins; if left out, at the end of the log.
        after: Option<u64>,
        /// Whether log lines are wanted.
        progress: bool,
    },
    Project(Uuid),
}

#[derive(Deserialize)]
struct Envelope {
    r#type: String,
    #[serde(default)]
    data: Option<Data>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Data {
    #[serde(alias = "executionId")]
    execution_id: Option<String>,
    #[serde(alias = "projectId")]
    project_id: Option<Uuid>,
    after: Option<u64>,
    progress: Option<bool>,
    reason: Option<String>,
}

impl Wish {
    /// Understands a message. If it can't be, its name is told all the same where it has one.
    pub(super) fn understand(text: &str) -> Result<Self, (Option<Value>, Box<Problem>)> {
        let wrong = |why: &dyn std::fmt::Display| {
            Box::new(Problem::bad_request(format!("the message can't be understood: {why}")))
        };
        let said: Value = serde_json::from_str(text).map_err(|error| (None, wrong(&error)))?;
        let id = said.get("id").and_then(named);
        let parts = [Some(&said), said.get("data")];
        if !parts.into_iter().flatten().all(|part| part.is_object() || part.is_null()) {
            return Err((id, wrong(&"it and its `data` have to be objects")));
        }
        let Envelope { r#type, data } =
            serde_json::from_value(said).map_err(|error| (id.clone(), wrong(&error)))?;
        match ask(&r#type, data.unwrap_or_default()) {
            Ok(ask) => Ok(Self { id, ask }),
            Err(problem) => Err((id, problem.into())),
        }
    }
}

fn named(id: &Value) -> Option<Value> {
    Some(id).filter(|id| id.to_string().len() <= NAME).cloned()
}

fn ask(kind: &str, data: Data) -> Result<Ask, Problem> {
    match kind {
        "workflow:subscribe" => Ok(Ask::Subscribe(target(data)?)),
        "workflow:unsubscribe" => Ok(Ask::Unsubscribe(target(data)?)),
        "workflow:cancel" => match (data.execution_id, data.project_id) {
            (Some(run), None) => Ok(Ask::Cancel { run, reason: data.reason }),
            _ => Err(Problem::field("/data/executionId", "has to name the run")),
        },
        other => {
            let other: String = other.chars().take(80).collect();
            Err(Problem::field("/type", format!("`{other}` is not known"))
                .hint("there are workflow:subscribe, workflow:unsubscribe and workflow:cancel"))
        }
    }
}

fn target(data: Data) -> Result<Target, Problem> {
    match (data.execution_id, data.project_id) {
        (Some(name), None) => {
            let (after, progress) = (data.after, data.progress.unwrap_or(true));
            Ok(Target::Run { name, after, progress })
        }
        (None, Some(_)) if data.after.is_some() => Err(Problem::field(
            "/data/after",
            "is a place in the log of one run; a project's list has none",
        )),
        (None, Some(project)) => Ok(Target::Project(project)),
        _ => Err(Problem::field("/data", "has to have either `executionId` or `projectId`")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn names_may_be_spelled_both_ways() {
        for name in ["executionId", "execution_id"] {
            let said = json!({ "type": "workflow:subscribe", "id": 7, "data": { name: "a-b", "after": 12 } });
            let wish = Wish::understand(&said.to_string()).unwrap();
            let target = Target::Run { name: "a-b".into(), after: Some(12), progress: true };
            assert_eq!(wish, Wish { id: Some(json!(7)), ask: Ask::Subscribe(target) });
        }
    }

    #[test]
    fn what_can_not_be_understood_is_answered_by_its_name() {
        let cases = [
            ("nonsense", None, 400),
            (r#"["workflow:subscribe", 1]"#, None, 400),
            (r#"{"type": "workflow:subscribe", "id": 1, "data": ["a"]}"#, Some(json!(1)), 400),
            (r#"{"type": 1, "id": "a"}"#, Some(json!("a")), 400),
            (r#"{"type": "workflow:dance", "id": "a"}"#, Some(json!("a")), 422),
            (r#"{"type": "workflow:subscribe", "data": {}}"#, None, 422),
            (
                r#"{"type": "workflow:subscribe", "data": {"executionId": "a", "afterwards": 1}}"#,
                None,
                400,
            ),
            (
                r#"{"type": "workflow:subscribe", "data": {"executionId": "a", "after": -1}}"#,
                None,
                400,
            ),
            (r#"{"type": "workflow:cancel"}"#, None, 422),
        ];
        for (said, id, status) in cases {
            let (named, problem) = Wish::understand(said).unwrap_err();
            assert_eq!((named, problem.status), (id, status), "{said}");
        }
    }
}
