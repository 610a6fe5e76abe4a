//! What became of the old log's operations under the new program.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use super::{Beginning, History, Rebase, RebaseError};
use crate::codec::Chunk;
use crate::entry::{Abandoned, Entry, Record, RunOutcome};
use crate::operation::{OperationKind, Treatment};
use crate::path::{OperationId, StepPath};
use crate::source::Site;
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
    /// The step had finished, and the program has not asked for it. Should it do so later, its outcome is kept if its
    /// body has not changed, or can be played.
    StepNotAsked {
        /// The step.
        step: StepPath,
    },
    /// It was under way, and the program has not asked for it, or asked for something else under its name. It is
    /// stopped.
    Abandoned {
        /// The operation.
        operation: OperationId,
    },
}

impl Notice {
    /// The operation that it is about, if it is about one.
    #[must_use]
    pub const fn operation(&self) -> Option<&OperationId> {
        match self {
            Self::NotAsked { operation }
            | Self::ChangedArguments { operation, .. }
            | Self::Abandoned { operation } => Some(operation),
            Self::StepNotAsked { .. } => None,
        }
    }

    /// The sentence, with other words for its operation than its identity.
    #[must_use]
    pub fn sentence(&self, words: impl Fn(&OperationId) -> String) -> String {
        match self {
            Self::NotAsked { operation } => format!(
                "{} had finished and is not asked for any more; its answer is kept",
                words(operation)
            ),
            Self::ChangedArguments { operation, .. } => format!(
                "{} had finished and is asked for with something else now; its answer is kept",
                words(operation)
            ),
            Self::StepNotAsked { step } => {
                format!("the step `{step}` had finished and is not asked for any more")
            }
            Self::Abandoned { operation } => format!(
                "{} was under way and is not asked for any more; it is stopped",
                words(operation)
            ),
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence(|operation| format!("`{operation}`")))
    }
}

/// Something that was asked for, and the line that asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The identity of the operation or step.
    pub identity: String,
    /// Where in the source.
    pub site: Option<Site>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.identity)?;
        self.site.as_ref().map_or(Ok(()), |site| write!(f, " ({site})"))
    }
}

/// What a log asked for.
#[derive(Default)]
struct Asked<'a> {
    operations: HashMap<&'a OperationId, (&'a Value, Option<&'a Site>)>,
    steps: HashMap<&'a StepPath, Option<&'a Site>>,
}

impl<'a> Asked<'a> {
    fn new(entries: impl Iterator<Item = &'a Entry>) -> Self {
        let mut asked = Self::default();
        for entry in entries {
            match entry {
                Entry::OperationOrdered { operation, args, site, .. } => {
                    asked.operations.insert(operation, (args, site.as_ref()));
                }
                Entry::StepRequested { step, site, .. } => {
                    asked.steps.insert(step, site.as_ref());
                }
                _ => {}
            }
        }
        asked
    }

    /// Everything, by the name it goes by in its scope: in one place, one thing is asked for.
    fn places(&self) -> HashMap<String, Place> {
        let place = |identity: &str, site: Option<&Site>| {
            let (scope, last) = identity.rsplit_once('/').unwrap_or(("", identity));
            let name = last.split_once(':').map_or(last, |(_, name)| name);
            let name = name.strip_prefix('~').unwrap_or(name);
            let place = Place { identity: identity.to_owned(), site: site.cloned() };
            (format!("{scope}/{name}"), place)
        };
        let operations = self.operations.iter().map(|(id, (_, site))| place(id.as_str(), *site));
        operations
            .chain(self.steps.iter().map(|(step, site)| place(step.as_str(), *site)))
            .collect()
    }

    fn has(&self, place: &Place) -> bool {
        let operation = place.identity.parse().ok();
        operation.is_some_and(|id: OperationId| self.operations.contains_key(&id))
            || place
                .identity
                .parse()
                .ok()
                .is_some_and(|step: StepPath| self.steps.contains_key(&step))
    }
}

/// Compares what both logs asked for.
pub(super) fn notices(
    rebase: &Rebase<'_>,
    history: &History<'_>,
    chunks: &[Chunk],
    beginning: &Beginning,
) -> Result<Vec<Notice>, RebaseError> {
    let kept = history.log.iter().filter(|record| history.selection.asked(record));
    let old = Asked::new(kept.map(|record| &record.entry));
    let new = Asked::new(chunks.iter().flat_map(|chunk| &chunk.entries));
    let ever = Asked::new(history.log.iter().map(|record| &record.entry));
    check_kinds(&old, &ever, &new)?;
    let mut notices = Vec::new();
    let finished = history.log.iter().filter_map(|record| ordered(&record.entry));
    let finished = finished.filter(|(operation, _)| history.answers.contains_key(operation));
    for (operation, recorded) in finished {
        match new.operations.get(operation) {
            Some((asked, _)) if rebase.differ(recorded, asked) => {
                notices.push(Notice::ChangedArguments {
                    operation: operation.clone(),
                    recorded: recorded.clone(),
                    asked: (*asked).clone(),
                });
            }
            Some(_) => {}
            None => notices.push(Notice::NotAsked { operation: operation.clone() }),
        }
    }
    let mut gone: Vec<&StepPath> =
        history.finished.keys().filter(|step| !new.steps.contains_key(step)).collect();
    gone.sort();
    notices.extend(gone.into_iter().map(|step| Notice::StepNotAsked { step: step.clone() }));
    let remains = remains(history.log);
    let was_dead = |id| remains.get(id).is_some_and(|(_, was)| *was == Remains::Stopped);
    let left = beginning.abandoned.iter().filter(|left| !was_dead(&left.operation));
    notices.extend(left.map(|left| Notice::Abandoned { operation: left.operation.clone() }));
    Ok(notices)
}

/// In the place of something that is kept and not asked for any more, nothing of another kind may be asked for that was
/// not there before.
fn check_kinds(old: &Asked<'_>, ever: &Asked<'_>, new: &Asked<'_>) -> Result<(), RebaseError> {
    let asked = new.places();
    let mut recorded: Vec<(String, Place)> = old.places().into_iter().collect();
    recorded.sort_by(|a, b| a.0.cmp(&b.0));
    for (name, recorded) in recorded.into_iter().filter(|(_, place)| !new.has(place)) {
        if let Some(asked) = asked.get(&name).filter(|asked| !ever.has(asked)) {
            return Err(RebaseError::OtherKind { recorded, asked: asked.clone() });
        }
    }
    Ok(())
}

fn ordered(entry: &Entry) -> Option<(&OperationId, &Value)> {
    match entry {
        Entry::OperationOrdered { operation, args, .. } => Some((operation, args)),
        _ => None,
    }
}

/// What is left of an operation of the old log.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Remains {
    /// It was under way.
    Open,
    /// It was being stopped.
    Stopping,
    /// It had been stopped.
    Stopped,
}

/// Operations of the old log that the new one leaves behind: those under way that are not asked for, and those that
/// were stopped but not by the new program, which may want them after all.
pub(super) fn abandoned(log: &[Record], chunks: &[Chunk]) -> Vec<Abandoned> {
    let entries = || chunks.iter().flat_map(|chunk| &chunk.entries);
    let wanted: HashMap<&OperationId, &Value> = entries().filter_map(ordered).collect();
    let recorded: HashMap<&OperationId, &Value> =
        log.iter().filter_map(|record| ordered(&record.entry)).collect();
    let stopped: HashSet<&OperationId> = entries().filter_map(stop_ordered).collect();
    let left = remains(log).into_values().filter(|(left, remains)| {
        let asked = wanted.get(&left.operation);
        let is_same = asked == recorded.get(&left.operation);
        let is_stopped = stopped.contains(&left.operation);
        match remains {
            // What is under way with other arguments is another thing.
            Remains::Open => !is_same,
            Remains::Stopping => asked.is_none() || !is_stopped,
            // Asked for now or later, it is another try.
            Remains::Stopped => !is_stopped,
        }
    });
    left.map(|(left, _)| left).collect()
}

/// What is left, by operation.
type Left<'a> = BTreeMap<&'a OperationId, (Abandoned, Remains)>;

fn is_stopping(left: &Left<'_>, operation: &OperationId) -> bool {
    left.get(operation).is_some_and(|(_, was)| *was == Remains::Stopping)
}

fn remains(log: &[Record]) -> Left<'_> {
    let mut left = Left::new();
    for record in log {
        match &record.entry {
            Entry::OperationOrdered { operation, r#try, child, .. } if is_stoppable(operation) => {
                let abandoned =
                    Abandoned { operation: operation.clone(), r#try: *r#try, child: *child };
                left.insert(operation, (abandoned, Remains::Open));
            }
            Entry::OperationRetried { operation, r#try } => {
                left.entry(operation).and_modify(|(left, _)| left.r#try = *r#try);
            }
            Entry::OperationCancelOrdered { operation } => {
                left.entry(operation).and_modify(|(_, remains)| *remains = Remains::Stopping);
            }
            Entry::OperationEnded { operation, result }
                if result.is_cancelled() && is_stopping(&left, operation) =>
            {
                left.entry(operation).and_modify(|(_, remains)| *remains = Remains::Stopped);
            }
            Entry::ChildEnded { operation, outcome: RunOutcome::Cancelled { .. }, .. }
                if is_stopping(&left, operation) =>
            {
                left.entry(operation).and_modify(|(_, remains)| *remains = Remains::Stopped);
            }
            Entry::OperationEnded { operation, .. } | Entry::ChildEnded { operation, .. } => {
                left.remove(operation);
            }
            _ => {}
        }
    }
    left
}

fn stop_ordered(entry: &Entry) -> Option<&OperationId> {
    match entry {
        Entry::OperationCancelOrdered { operation } => Some(operation),
        _ => None,
    }
}

/// Whether something of it is alive outside while it is open.
fn is_stoppable(operation: &OperationId) -> bool {
    let treatment = operation.kind().map(OperationKind::treatment);
    matches!(treatment, Some(Treatment::Performed | Treatment::Invoked))
}
