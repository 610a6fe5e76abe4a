//! What a workflow wants whoever watches it to know: remarks on the run with `{ note: true }`.
//!
//! They are told when they are made, as long as the run is at work, and once more at its end.

use agentos_store::records::{CommentRecord, RunDetail};
use serde_json::Value;

/// The notes of a run, oldest first.
pub(crate) fn notes(run: &RunDetail) -> impl Iterator<Item = &CommentRecord> {
    run.comments.iter().filter(|comment| is_note(comment))
}

/// A person's remark is none, whatever else is said with it.
pub(crate) fn is_note(comment: &CommentRecord) -> bool {
    let said = comment.metadata.as_ref().and_then(|metadata| metadata.get("note"));
    comment.author.is_none() && comment.step_id.is_none() && said == Some(&Value::Bool(true))
}
