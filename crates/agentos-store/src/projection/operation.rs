//! Rows that come from operations: steps that an operation forms by itself, agent sessions, artifacts, git's results.
//!
//! Field names, in the arguments, in what is known at the start, or in the result of an operation:
//!
//! | kind | fields |
//! |---|---|
//! | agent | `agent`, `model`, `session_id`, `session_file_path`, `input_tokens`, `output_tokens`, `cached_tokens`, `cost_usd`, `exit_code`; `exit_reason` and `message` of one that failed; `files`, each an artifact |
//! | artifact | `type`, `storage_path` (else `file`), `mime_type`, `size_bytes`, `sha256` (kept in `metadata`, as is the `attempt` if it was not the first), `metadata`; `agent_session_id`, or the agent's own `session_id`; of several files `entries`, each with `path`, `mime_type`, `size_bytes`, `sha256` |
//! | git | `branch`, `commit_sha`, `pr_url` |

use std::borrow::Cow;

use agentos_core::entry::{Entry, HoldKind, OperationResult, RunOutcome, StepOutcome};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::Seq;
use agentos_core::operation::{OperationKind, Treatment};
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use serde_json::{Map, Value, json};

use super::operation_title;
use super::step::{NewStep, StepPatch, phase_of};
use super::{Changes, Origin, Projection, SessionStatus, StepStatus, to_value};

/// An operation that has no answer yet, or whose answer may still be taken back.
#[derive(Debug)]
pub(super) struct OpenOperation {
    pub(super) kind: OperationKind,
    /// The row of the step that it forms by itself.
    pub(super) number: Option<u32>,
    pub(super) since: Timestamp,
    pub(super) due: Option<Timestamp>,
    /// What it is about, if it only waits: a question, an event, a workflow.
    pub(super) about: Option<String>,
    pub(super) ordered: Seq,
    /// Kept only where a row is made of it in the end.
    args: Value,
    /// What it is held for.
    pub(super) held: Option<Held>,
    /// What it was held for when it was last released, and since when: who is held for the same again has not stopped
    /// waiting. Another question is another one.
    was_held: Option<(HoldKind, Timestamp)>,
    /// Its timer has fired; a signal that came first may still win.
    fired: bool,
    /// When it was answered, if that was before it was asked for here.
    answered_at: Option<Timestamp>,
}

/// What an operation is held for.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) kind: HoldKind,
    pub(super) since: Timestamp,
    /// When it is tried again by itself.
    pub(super) until: Option<Timestamp>,
    /// What is in the way.
    pub(super) why: Option<String>,
    /// What is asked.
    pub(super) about: Option<String>,
}

impl OpenOperation {
    pub(super) const fn is_open(&self) -> bool {
        !self.fired
    }
}

/// The longest text about an operation, in characters: it stands in every row of a list.
const ABOUT: usize = 200;

/// The beginning of a text, on one line; none if there is nothing in it.
pub(super) fn about(text: &str) -> Option<String> {
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.chars().count() > ABOUT {
            let kept: String = words.chars().take(ABOUT - 1).collect();
            return Some(format!("{kept}…"));
        }
    }
    Some(words).filter(|words| !words.is_empty())
}

/// What a row of a session becomes. `None` leaves a column alone.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct SessionPatch {
    pub(crate) new: Option<NewSession>,
    /// Where the work of a new row comes from.
    pub(crate) origin: Origin,
    pub(crate) status: Option<SessionStatus>,
    pub(crate) model: Option<String>,
    pub(crate) session_id: Option<String>,
    pub(crate) session_file_path: Option<String>,
    pub(crate) input_tokens: Option<i64>,
    pub(crate) output_tokens: Option<i64>,
    pub(crate) cached_tokens: Option<i64>,
    pub(crate) cost_usd: Option<f64>,
    pub(crate) exit_code: Option<i64>,
    pub(crate) error: Option<Value>,
    pub(crate) completed_at: Option<Timestamp>,
    /// It begins only now: what stands before was the history of another run.
    pub(crate) restarted_at: Option<Timestamp>,
    /// It was a session of the run that this one was made out of.
    pub(crate) inherited: bool,
}

/// What is said about a session when it is ordered.
#[derive(Debug, PartialEq)]
pub(crate) struct NewSession {
    pub(crate) name: String,
    pub(crate) agent: Option<String>,
    pub(crate) step: Option<u32>,
    pub(crate) at: Timestamp,
}

/// A file kept with the run.
#[derive(Debug, PartialEq)]
pub(crate) struct ArtifactRow {
    pub(crate) operation: OperationId,
    /// Which of the operation's files, if it kept several.
    pub(crate) part: Option<String>,
    /// The session that made it: the id of its row, or the agent's own name for it.
    pub(crate) session: Option<String>,
    pub(crate) step: Option<u32>,
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) storage_path: String,
    pub(crate) mime_type: Option<String>,
    pub(crate) size_bytes: Option<i64>,
    pub(crate) metadata: Option<Value>,
    pub(crate) at: Timestamp,
}

impl Projection {
    pub(super) fn operation_entry(
        &mut self,
        seq: Seq,
        at: Timestamp,
        entry: &Entry,
        changes: &mut Changes,
    ) {
        match entry {
            Entry::OperationOrdered { .. } => self.ordered(seq, at, entry, changes),
            Entry::OperationStarted { operation, detail, .. } => {
                if let Some(open) = self.operations.get(operation)
                    && open.kind == OperationKind::Agent
                {
                    let key = (open.ordered, operation.clone());
                    changes.sessions.entry(key).or_default().take(detail);
                }
            }
            Entry::OperationHeld { operation, hold, .. } => {
                if let Some(open) = self.operations.get_mut(operation) {
                    let is_same = |kind| kind == hold.kind && kind != HoldKind::Approval;
                    let before = open.was_held.filter(|(kind, _)| is_same(*kind));
                    let since = before.map_or(at, |(_, since)| since);
                    let is_question = hold.kind == HoldKind::Approval;
                    let why = (!is_question).then(|| hold.message.clone());
                    let about = is_question.then(|| about(&hold.message)).flatten();
                    let (kind, until) = (hold.kind, hold.until);
                    open.held = Some(Held { kind, since, until, why, about });
                }
            }
            Entry::OperationReleased { operation, .. } => {
                if let Some(open) = self.operations.get_mut(operation) {
                    open.was_held = open.held.take().map(|held| (held.kind, held.since));
                }
            }
            Entry::OperationEnded { operation, result } => {
                self.ended(at, (operation, result), changes);
            }
            Entry::ChildEnded { operation, outcome, .. } => {
                self.ended(at, (operation, &of_child(outcome)), changes);
            }
            Entry::TimerFired { operation } => self.fired(at, operation, changes),
            Entry::SignalConsumed { key, operation } => {
                let value = self.signals.get(key).cloned().unwrap_or(Value::Null);
                self.taken.push(key.clone());
                self.ended(at, (operation, &OperationResult::Ok { value }), changes);
            }
            _ => {}
        }
    }

    fn ordered(&mut self, seq: Seq, at: Timestamp, entry: &Entry, changes: &mut Changes) {
        let Entry::OperationOrdered { operation, number, args, due, .. } = entry else { return };
        let Some(kind) = operation.kind() else { return };
        let number = number.map(|number| number.0);
        let since = self.since(operation, at);
        let (origin, times) = self.origin_of(operation);
        let at = times.map_or(at, |times| times.asked_at);
        if let Some(number) = number {
            let new = NewStep {
                name: operation_title(operation, args),
                path: operation.as_str().to_owned(),
                phase: phase_of(&operation.scope()),
                max_attempts: 1,
                input: Some(args.clone()),
                at,
            };
            let mut patch = StepPatch::pending(new);
            patch.status = StepStatus::Running;
            patch.started_at = Some(at);
            patch.origin = origin;
            changes.steps.insert(number, patch);
        }
        if kind == OperationKind::Agent {
            let step = number.or_else(|| self.step_of(&operation.scope()));
            let patch = changes.sessions.entry((seq, operation.clone())).or_default();
            let agent = text(args, "agent");
            patch.new = Some(NewSession { name: name_of(operation), agent, step, at });
            patch.origin = origin;
            patch.status = Some(SessionStatus::Running);
            patch.take(args);
        }
        let about = match kind {
            OperationKind::Approve => text(args, "question").as_deref().and_then(about),
            OperationKind::Wait | OperationKind::Invoke => about(&name_of(operation)),
            _ => None,
        };
        let keeps = matches!(kind, OperationKind::Artifact);
        let args = if keeps { args.clone() } else { Value::Null };
        let open = OpenOperation {
            kind,
            number,
            since,
            due: *due,
            about,
            ordered: seq,
            args,
            held: None,
            was_held: None,
            fired: false,
            answered_at: times.map(|times| times.answered_at),
        };
        self.operations.insert(operation.clone(), open);
    }

    fn fired(&mut self, at: Timestamp, operation: &OperationId, changes: &mut Changes) {
        let Some(open) = self.operations.get_mut(operation) else { return };
        let number = open.number;
        let outcome = if open.kind.treatment() == Treatment::Signalled {
            open.fired = true;
            StepOutcome::Failed {
                failure: Failure::new(FailureKind::Timeout, "nothing came in time"),
            }
        } else {
            self.operations.remove(operation);
            StepOutcome::Completed { output: Value::Null }
        };
        end_step(number, at, &outcome, changes);
    }

    fn ended(
        &mut self,
        at: Timestamp,
        (operation, result): (&OperationId, &OperationResult),
        changes: &mut Changes,
    ) {
        let Some(open) = self.operations.remove(operation) else { return };
        let at = open.answered_at.unwrap_or(at);
        end_step(open.number, at, &outcome_of(result), changes);
        match (open.kind, result) {
            (OperationKind::Agent, _) => {
                if self.is_history {
                    self.inherited.insert(operation.clone());
                }
                let patch = changes.sessions.entry((open.ordered, operation.clone())).or_default();
                end_session(patch, at, result);
                patch.inherited = self.inherited.contains(operation);
                let step = open.number.or_else(|| self.step_of(&operation.scope()));
                changes.artifacts.extend(session_files(at, step, operation, result));
            }
            (OperationKind::Artifact, OperationResult::Ok { value }) => {
                let step = open.number.or_else(|| self.step_of(&operation.scope()));
                changes.artifacts.extend(artifacts(at, step, operation, (&open.args, value)));
            }
            // Looking at a history is not working on it.
            (OperationKind::Git, OperationResult::Ok { value })
                if !matches!(name_of(operation).as_str(), "status" | "diff" | "log") =>
            {
                let run = &mut changes.run;
                run.branch_name = text(value, "branch").or(run.branch_name.take());
                run.commit_sha = text(value, "commit_sha").or(run.commit_sha.take());
                run.pr_url = text(value, "pr_url").or(run.pr_url.take());
            }
            _ => {}
        }
    }
}

impl SessionPatch {
    /// Takes over whatever a value says about a session.
    fn take(&mut self, value: &Value) {
        let number = |name: &str| value.get(name).and_then(Value::as_i64);
        self.model = text(value, "model").or(self.model.take());
        self.session_id = text(value, "session_id").or(self.session_id.take());
        self.session_file_path = text(value, "session_file_path").or(self.session_file_path.take());
        self.input_tokens = number("input_tokens").or(self.input_tokens);
        self.output_tokens = number("output_tokens").or(self.output_tokens);
        self.cached_tokens = number("cached_tokens").or(self.cached_tokens);
        self.cost_usd = value.get("cost_usd").and_then(Value::as_f64).or(self.cost_usd);
        self.exit_code = number("exit_code").or(self.exit_code);
    }
}

fn end_session(patch: &mut SessionPatch, at: Timestamp, result: &OperationResult) {
    patch.completed_at = Some(at);
    patch.status = Some(match result {
        OperationResult::Ok { value } => {
            patch.take(value);
            // The workflow may want to hear of a failure as an answer; it is one all the same.
            match text(value, "exit_reason").filter(|reason| reason != "completed") {
                Some(kind) => {
                    patch.error = Some(json!({ "kind": kind, "message": text(value, "message") }));
                    SessionStatus::Failed
                }
                None => SessionStatus::Completed,
            }
        }
        // It says how far it came.
        OperationResult::Failed { failure } if result.is_cancelled() => {
            failure.detail.iter().for_each(|detail| patch.take(detail));
            SessionStatus::Cancelled
        }
        OperationResult::Failed { failure } => {
            patch.error = Some(to_value(failure));
            if let Some(detail) = &failure.detail {
                patch.take(detail);
            }
            SessionStatus::Failed
        }
        OperationResult::Cancelled {} => SessionStatus::Cancelled,
    });
}

fn end_step(number: Option<u32>, at: Timestamp, outcome: &StepOutcome, changes: &mut Changes) {
    let Some(number) = number else { return };
    let patch = changes.steps.entry(number).or_insert_with(StepPatch::running);
    patch.end(at, outcome);
}

fn outcome_of(result: &OperationResult) -> StepOutcome {
    match result {
        OperationResult::Ok { value } => StepOutcome::Completed { output: value.clone() },
        OperationResult::Failed { .. } if result.is_cancelled() => StepOutcome::Cancelled {},
        OperationResult::Failed { failure } => StepOutcome::Failed { failure: failure.clone() },
        OperationResult::Cancelled {} => StepOutcome::Cancelled {},
    }
}

fn of_child(outcome: &RunOutcome) -> OperationResult {
    match outcome {
        RunOutcome::Completed { output } => OperationResult::Ok { value: output.clone() },
        RunOutcome::Failed { failure } | RunOutcome::TimedOut { failure } => {
            OperationResult::Failed { failure: failure.clone() }
        }
        RunOutcome::Cancelled { .. } => OperationResult::Cancelled {},
    }
}

/// What tells an artifact from all others of its run. Paths of operations have no line breaks, and neither have files that
/// are kept.
pub(crate) fn artifact_identity(row: &ArtifactRow) -> Cow<'_, str> {
    let operation = row.operation.as_str();
    row.part.as_ref().map_or(Cow::Borrowed(operation), |part| format!("{operation}\n{part}").into())
}

/// One row, or one for each file.
pub(super) fn artifacts(
    at: Timestamp,
    step: Option<u32>,
    operation: &OperationId,
    (args, value): (&Value, &Value),
) -> Vec<ArtifactRow> {
    let whole = artifact(at, step, operation, (args, value));
    let Some(entries) = value.get("entries").and_then(Value::as_array) else {
        return vec![whole];
    };
    let rows = entries.iter().filter_map(|entry| {
        let path = text(entry, "path")?;
        let row = artifact(at, step, operation, (args, entry));
        let name = format!("{}/{path}", whole.name);
        let storage_path = format!("{}/{path}", whole.storage_path);
        Some(ArtifactRow { name, storage_path, part: Some(path), ..row })
    });
    rows.collect()
}

/// The files of a session, whether or not it was a success.
pub(super) fn session_files(
    at: Timestamp,
    step: Option<u32>,
    operation: &OperationId,
    result: &OperationResult,
) -> Vec<ArtifactRow> {
    let said = match result {
        OperationResult::Ok { value } => Some(value),
        OperationResult::Failed { failure } => failure.detail.as_ref(),
        OperationResult::Cancelled {} => None,
    };
    let files = said.and_then(|said| said.get("files")).and_then(Value::as_array);
    let rows = files.into_iter().flatten().filter_map(|file| {
        let (name, part) = (text(file, "name")?, text(file, "part")?);
        let row = artifact(at, step, operation, (&Value::Null, file));
        Some(ArtifactRow { part: Some(part), name, ..row })
    });
    rows.collect()
}

/// Which attempt kept something, if it was not the first: of its step, or of one around it.
fn attempt_of(operation: &OperationId) -> Option<u32> {
    let mut scope = operation.scope();
    while scope.attempt().0 <= 1 {
        scope = scope.owner()?.scope();
    }
    Some(scope.attempt().0)
}

/// What the author said of it, with the hash of the file, and which attempt it comes from.
fn metadata(said: Option<Value>, sha256: Option<String>, attempt: Option<u32>) -> Option<Value> {
    if sha256.is_none() && attempt.is_none() {
        return said;
    }
    let mut metadata = match said {
        Some(Value::Object(fields)) => fields,
        None | Some(Value::Null) => Map::new(),
        Some(other) => Map::from_iter([("value".to_owned(), other)]),
    };
    metadata.extend(sha256.map(|sha256| ("sha256".to_owned(), Value::String(sha256))));
    metadata.extend(attempt.map(|attempt| ("attempt".to_owned(), json!(attempt))));
    Some(Value::Object(metadata))
}

fn artifact(
    at: Timestamp,
    step: Option<u32>,
    operation: &OperationId,
    (args, value): (&Value, &Value),
) -> ArtifactRow {
    let name = name_of(operation);
    let either = |field: &str| text(value, field).or_else(|| text(args, field));
    let any = |field: &str| value.get(field).or_else(|| args.get(field)).cloned();
    ArtifactRow {
        operation: operation.clone(),
        session: either("agent_session_id").or_else(|| either("session_id")),
        step,
        kind: either("type").unwrap_or_else(|| "OTHER".to_owned()),
        storage_path: either("storage_path")
            .or_else(|| either("file"))
            .unwrap_or_else(|| name.clone()),
        mime_type: either("mime_type"),
        size_bytes: any("size_bytes").and_then(|size| size.as_i64()),
        metadata: metadata(any("metadata"), text(value, "sha256"), attempt_of(operation)),
        part: None,
        name,
        at,
    }
}

pub(super) fn text(value: &Value, field: &str) -> Option<String> {
    value.get(field).and_then(Value::as_str).map(str::to_owned)
}

pub(super) fn name_of(operation: &OperationId) -> String {
    operation.name().map_or_else(|| operation.as_str().to_owned(), |name| name.as_str().to_owned())
}
