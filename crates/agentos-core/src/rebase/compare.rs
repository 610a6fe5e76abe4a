//! What became of the old log's operations under the new program.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::{Beginning, Rebase, RebaseError};
use crate::codec::Chunk;
use crate::entry::{Abandoned, Entry, Record};
use crate::operation::{OperationKind, Treatment};
use crate::path::OperationId;
use crate::value::Value;

/// Something worth telling before a run goes on.
#[derive(Debug, Clone, PartialEq)]
pub enum Notice {
    /// It had finished, and the program has not asked for it. Its answer is kept, should it still be asked for.
    NotAsked {
        /// The operation.
        operation: OperationId,
    },
    /// It had finished, and the program now asks for it with something else. Its answer is kept all the same.
    ChangedArguments {
        /// The operation.
        operation: OperationId,
        /// What it was asked for with.
        recorded: Value,
        /// What it is asked for with now.
        asked: Value,
    },
    /// It was under way, and the program has not asked for it. It is stopped.
    Abandoned {
        /// The operation.
        operation: OperationId,
    },
}

/// Compares the operations of both logs.
pub(super) fn notices(
    rebase: &Rebase<'_>,
    log: &[Record],
    chunks: &[Chunk],
    beginning: &Beginning,
) -> Result<Vec<Notice>, RebaseError> {
    let new: HashMap<&OperationId, &Value> =
        chunks.iter().flat_map(|chunk| &chunk.entries).filter_map(ordered).collect();
    let mut notices = Vec::new();
    for (operation, recorded) in log.iter().filter_map(|record| ordered(&record.entry)) {
        match new.get(operation) {
            Some(asked) => {
                let (old, now) =
                    (rebase.old_names.hidden_in(recorded), rebase.new_names.hidden_in(asked));
                if old != now {
                    notices.push(Notice::ChangedArguments {
                        operation: operation.clone(),
                        recorded: recorded.clone(),
                        asked: (*asked).clone(),
                    });
                }
            }
            None if beginning.early.contains_key(operation) => {
                if let Some(asked) = other_kind(operation, &new) {
                    return Err(RebaseError::OtherKind { recorded: operation.clone(), asked });
                }
                notices.push(Notice::NotAsked { operation: operation.clone() });
            }
            None => {}
        }
    }
    let left =
        abandoned(log, chunks).into_iter().filter(|_| rebase.keep == super::Keep::Everything);
    notices.extend(left.map(|Abandoned { operation, .. }| Notice::Abandoned { operation }));
    Ok(notices)
}

fn ordered(entry: &Entry) -> Option<(&OperationId, &Value)> {
    match entry {
        Entry::OperationOrdered { operation, args, .. } => Some((operation, args)),
        _ => None,
    }
}

/// The operation of another kind that is asked for in the place of this one.
fn other_kind(operation: &OperationId, new: &HashMap<&OperationId, &Value>) -> Option<OperationId> {
    let kind = operation.kind()?;
    let others = OperationKind::ALL.into_iter().filter(|other| *other != kind);
    let mut places = others.filter_map(|other| {
        let place = operation.as_str().replacen(&format!("/{kind}:"), &format!("/{other}:"), 1);
        place.parse::<OperationId>().ok()
    });
    places.find(|place| new.contains_key(place))
}

/// What was under way in the old log and is not asked for in the new one.
pub(super) fn abandoned(log: &[Record], chunks: &[Chunk]) -> Vec<Abandoned> {
    let new: HashSet<&OperationId> = chunks
        .iter()
        .flat_map(|chunk| &chunk.entries)
        .filter_map(ordered)
        .map(|(id, _)| id)
        .collect();
    let mut open: BTreeMap<&OperationId, Abandoned> = BTreeMap::new();
    for record in log {
        match &record.entry {
            Entry::OperationOrdered { operation, r#try, child, .. } if is_stoppable(operation) => {
                let left = Abandoned { operation: operation.clone(), r#try: *r#try, child: *child };
                open.insert(operation, left);
            }
            Entry::OperationRetried { operation, r#try } => {
                open.entry(operation).and_modify(|left| left.r#try = *r#try);
            }
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                open.remove(operation);
            }
            _ => {}
        }
    }
    open.into_values().filter(|left| !new.contains(&left.operation)).collect()
}

/// Whether something of it is alive outside while it is open.
fn is_stoppable(operation: &OperationId) -> bool {
    let treatment = operation.kind().map(OperationKind::treatment);
    matches!(treatment, Some(Treatment::Performed | Treatment::Invoked))
}
