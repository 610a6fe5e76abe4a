//! What is worth telling of a run that is executed anew, in the words in which the run is shown: an operation is called by
//! what it does, with the step that it is in.

use std::collections::HashMap;

use agentos_core::entry::{Entry, Record};
use agentos_core::path::OperationId;
use agentos_core::rebase::{Notice, Rebased};
use agentos_store::projection::operation_title;

use crate::travel::step_around;

/// The sentences about what became of this log.
pub(crate) fn sentences(log: &[Record], rebased: &Rebased) -> Vec<String> {
    let about: HashMap<&OperationId, Option<String>> =
        rebased.notices.iter().filter_map(Notice::operation).map(|id| (id, None)).collect();
    let titles = titled(log, rebased, about);
    let words = |operation: &OperationId| {
        let title = titles.get(operation).and_then(Option::as_deref);
        let title = title.unwrap_or(operation.as_str());
        match step_around(operation) {
            Some(step) => format!("`{title}` of the step `{step}`"),
            None => format!("`{title}`"),
        }
    };
    rebased.notices.iter().map(|notice| notice.sentence(words)).collect()
}

/// With what each of these operations is called, by what it was last asked for with.
fn titled<'a>(
    log: &[Record],
    rebased: &Rebased,
    mut about: HashMap<&'a OperationId, Option<String>>,
) -> HashMap<&'a OperationId, Option<String>> {
    let old = log.iter().map(|record| &record.entry);
    let new = rebased.chunks.iter().flat_map(|chunk| &chunk.entries);
    for entry in old.chain(new) {
        if let Entry::OperationOrdered { operation, args, .. } = entry
            && let Some(title) = about.get_mut(operation)
        {
            *title = Some(operation_title(operation, args));
        }
    }
    about
}
