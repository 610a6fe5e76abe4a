//! Messages about entries of a log: one for each entry, in their order, written once for everybody.
//!
//! | what the entry is about | type | `data` |
//! |---|---|---|
//! | the run's beginning | `workflow:execution:started` | the run |
//! | a remark of the workflow | `workflow:comment:added` | the comment |
//! | a session of an agent | `workflow:agent:updated` | the session |
//! | something kept | `workflow:artifact:created` | the artifact |
//! | a step | `workflow:step:updated` | the step |
//! | the run's end | `workflow:execution:completed` | the run |
//! | anything else | `workflow:execution:updated` | the run |
//!
//! A message has its entry's position and kind; its documents are as they were when it was written, which is after the
//! entry and perhaps after later ones, too. Positions are counted from 1 here, so that the position of the last message is
//! the `seq` of the run's document.

use std::collections::HashMap;

use agentos_core::codec::Chunk;
use agentos_core::entry::Entry;
use agentos_core::id::RunId;
use agentos_store::moment::written;
use agentos_store::projection::{Touched, WorkflowStatus};
use agentos_store::records::{Remark, RunDetail, RunRecord};
use axum::extract::ws::Utf8Bytes;
use serde::Serialize;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::document::document;

/// Messages about entries that follow one another.
#[derive(Debug)]
pub(super) struct Batch {
    pub(super) run: RunId,
    /// The position of the first.
    pub(super) first: u64,
    pub(super) messages: Vec<Utf8Bytes>,
    /// How long they are together.
    pub(super) bytes: usize,
}

impl Batch {
    /// The position after the last.
    pub(super) fn end(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    /// The messages from this position on.
    pub(super) fn from(&self, position: u64) -> &[Utf8Bytes] {
        let skipped = usize::try_from(position.saturating_sub(self.first)).unwrap_or(usize::MAX);
        self.messages.get(skipped..).unwrap_or_default()
    }
}

/// The rows that these chunks are about.
pub(super) fn touched(run: RunId, chunks: &[Chunk]) -> Touched {
    let mut touched = Touched::default();
    for entry in chunks.iter().flat_map(|chunk| &chunk.entries) {
        touched.add(&Touched::by(run, entry));
    }
    touched
}

/// The messages about these chunks, which follow one another; with rows that were read after them.
pub(super) fn batch(chunks: &[Chunk], rows: &RunDetail) -> Batch {
    let run = rows.run.id;
    let documents = Documents::new(rows);
    let mut messages = Vec::new();
    for chunk in chunks {
        let at = written(chunk.at);
        for (seq, entry) in (chunk.first.0 + 1..).zip(&chunk.entries) {
            let place = Place { run, seq, at: &at };
            messages.push(documents.message(place, entry).into());
        }
    }
    let bytes = messages.iter().map(|message: &Utf8Bytes| message.as_str().len()).sum();
    Batch { run, first: chunks.first().map_or(1, |chunk| chunk.first.0 + 1), messages, bytes }
}

/// The message about a run in the list of a project.
pub(super) fn listed(project: Uuid, run: &RunRecord) -> Utf8Bytes {
    #[derive(Serialize)]
    struct Listed<'a> {
        r#type: &'static str,
        project_id: Uuid,
        execution_id: RunId,
        seq: u64,
        at: String,
        status: WorkflowStatus,
        data: &'a RawValue,
    }
    let r#type = match (run.completed_at, run.seq) {
        (Some(_), _) => COMPLETED,
        (None, 0..=1) => STARTED,
        (None, _) => UPDATED,
    };
    text(&Listed {
        r#type,
        project_id: project,
        execution_id: run.id,
        seq: run.seq,
        at: written(run.updated_at),
        status: run.status,
        data: &document(run),
    })
    .into()
}

/// The message about what a person has remarked. It is about no entry, so it has no position.
pub(super) fn remarked(remark: &Remark) -> Utf8Bytes {
    #[derive(Serialize)]
    struct Remarked<'a> {
        r#type: &'static str,
        execution_id: RunId,
        at: String,
        ephemeral: bool,
        data: &'a RawValue,
    }
    text(&Remarked {
        r#type: COMMENT,
        execution_id: remark.run,
        at: written(remark.comment.created_at),
        ephemeral: true,
        data: &document(&remark.comment),
    })
    .into()
}

const COMMENT: &str = "workflow:comment:added";
pub(super) const STARTED: &str = "workflow:execution:started";
pub(super) const UPDATED: &str = "workflow:execution:updated";
pub(super) const COMPLETED: &str = "workflow:execution:completed";

/// The text of a message.
pub(super) fn text(message: &impl Serialize) -> String {
    // Messages hold only what JSON can hold.
    serde_json::to_string(message).unwrap_or_default()
}

struct Place<'a> {
    run: RunId,
    seq: u64,
    at: &'a str,
}

#[derive(Serialize)]
struct Message<'a> {
    r#type: &'static str,
    execution_id: RunId,
    seq: u64,
    at: &'a str,
    entry: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<WorkflowStatus>,
    current_workflow_step_id: Option<Uuid>,
    data: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    artifacts: Vec<&'a RawValue>,
}

/// Every row once as text.
struct Documents {
    status: WorkflowStatus,
    current: Option<Uuid>,
    /// Without what can be large.
    run: Box<RawValue>,
    whole_run: Box<RawValue>,
    rows: HashMap<Uuid, Box<RawValue>>,
}

impl Documents {
    fn new(detail: &RunDetail) -> Self {
        let mut rows = HashMap::new();
        rows.extend(detail.steps.iter().map(|row| (row.id, document(row))));
        rows.extend(detail.comments.iter().map(|row| (row.id, document(row))));
        rows.extend(detail.artifacts.iter().map(|row| (row.id, document(row))));
        rows.extend(detail.agent_sessions.iter().map(|row| (row.id, document(row))));
        Self {
            status: detail.run.status,
            current: detail.run.current_step.as_ref().map(|step| step.id),
            run: document(&detail.run),
            whole_run: document(&detail.run.whole()),
            rows,
        }
    }

    fn first(&self, ids: &[Uuid]) -> Option<&RawValue> {
        ids.iter().find_map(|id| self.rows.get(id)).map(AsRef::as_ref)
    }

    fn message(&self, Place { run, seq, at }: Place<'_>, entry: &Entry) -> String {
        let touched = Touched::by(run, entry);
        let step = self.first(&touched.steps);
        let artifacts: Vec<&RawValue> = touched
            .artifacts
            .iter()
            .filter_map(|id| self.rows.get(id))
            .map(AsRef::as_ref)
            .collect();
        let session = self.first(&touched.sessions);
        let (r#type, data) = match entry {
            Entry::RunStarted(_) => (STARTED, self.whole_run.as_ref()),
            Entry::RunEnded { .. } => (COMPLETED, self.whole_run.as_ref()),
            _ => None
                .or(self.first(&touched.comments).map(|row| (COMMENT, row)))
                .or(session.map(|row| ("workflow:agent:updated", row)))
                .or(artifacts.first().map(|row| ("workflow:artifact:created", *row)))
                .or(step.map(|row| ("workflow:step:updated", row)))
                .unwrap_or((UPDATED, self.run.as_ref())),
        };
        // What `data` is already is not said twice.
        let is_else = |row: &&RawValue| !std::ptr::eq(*row, data);
        text(&Message {
            r#type,
            execution_id: run,
            seq,
            at,
            entry: entry.kind(),
            status: matches!(entry, Entry::RunEnded { .. }).then_some(self.status),
            current_workflow_step_id: self.current,
            data,
            step: step.filter(is_else),
            artifacts: if artifacts.len() == 1 {
                artifacts.into_iter().filter(is_else).collect()
            } else {
                artifacts
            },
        })
    }
}
