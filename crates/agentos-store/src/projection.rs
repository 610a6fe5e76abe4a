//! Rows for people, derived from the log: what a commit changes about a run, its steps, comments, artifacts and sessions.
//!
//! `Projection` is a fold like the journal, but it judges nothing: the journal has accepted the entries, or nobody will
//! drive the run. Whatever does not fit is passed over. It keeps only what is open, so it stays small however long the
//! log is, and it knows no database: the same entries give the same changes everywhere, and rows can be thrown away and
//! made again.
//!
//! Where rows take something out of values that only the engine knows (which agent, how many tokens, which branch), they
//! look for the field names listed in `projection/operation.rs`; what is not there stays empty.

mod operation;
mod origin;
mod status;
mod step;
mod title;
mod touched;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};

use agentos_core::codec::Chunk;
use agentos_core::entry::{AnswerTimes, CommentOn, Entry, RunOutcome};
use agentos_core::id::{InboxKey, Seq};
use agentos_core::path::{OperationId, ScopePath, StepPath};
use agentos_core::standing::Standing;
use agentos_core::time::Timestamp;
use serde::Serialize;
use serde_json::Value;

pub(crate) use operation::{ArtifactRow, NewSession, SessionPatch, artifact_identity};
pub(crate) use origin::Origin;
pub use status::{SessionStatus, StepStatus, WorkflowStatus};
pub(crate) use step::{NewStep, StepPatch};
pub use title::operation_title;
pub use touched::Touched;
pub use waiting::{WaitKind, Waiting};

use crate::ids::remark_hash;
use operation::OpenOperation;
use step::OpenStep;

/// What one chunk changes.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Changes {
    /// The log begins anew, under another source.
    pub(crate) anew: Option<Anew>,
    /// The log has begun anew before, so there may be rows of what is new here.
    pub(crate) is_switched: bool,
    /// When that was, if rows were kept then. What has no row yet was asked for then at the earliest; the log has the time of the
    /// recorded answer that led to it.
    pub(crate) switched_at: Option<Timestamp>,
    pub(crate) run: RunPatch,
    /// By step number.
    pub(crate) steps: BTreeMap<u32, StepPatch>,
    pub(crate) comments: Vec<CommentRow>,
    /// By the position of the entry that ordered the session, and the operation.
    pub(crate) sessions: BTreeMap<(Seq, OperationId), SessionPatch>,
    pub(crate) artifacts: Vec<ArtifactRow>,
    /// Writes to the run's state, in order; `None` removes.
    pub(crate) state: Vec<(String, Option<Value>)>,
}

/// What becomes of the rows that were derived from the log so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anew {
    /// They stay, and are found again by the paths of what they are about.
    Superseded,
    /// They go: in logs of earlier versions steps had other numbers under another source.
    Erased,
}

/// What changes about the run itself. `None` leaves a column alone.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RunPatch {
    pub(crate) status: Option<WorkflowStatus>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) completed_at: Option<Timestamp>,
    pub(crate) output: Option<Value>,
    pub(crate) error: Option<Value>,
    pub(crate) definition: Option<String>,
    pub(crate) branch_name: Option<String>,
    pub(crate) commit_sha: Option<String>,
    pub(crate) pr_url: Option<String>,
    /// What another source begins with.
    pub(crate) input: Option<Value>,
    pub(crate) current_step: Option<u32>,
    pub(crate) waiting: Option<Option<Waiting>>,
}

/// A remark.
#[derive(Debug, PartialEq)]
pub(crate) struct CommentRow {
    pub(crate) operation: OperationId,
    /// The step that it is on; the run itself if there is none.
    pub(crate) step: Option<u32>,
    pub(crate) message: String,
    pub(crate) metadata: Option<Value>,
    pub(crate) at: Timestamp,
    /// How many times the same was said on the same step before, since the source was switched.
    pub(crate) earlier: u32,
    /// What it was said for was done before the source was switched, so it may be on record.
    pub(crate) may_be_known: bool,
}

/// What of a run's log is still open.
#[derive(Debug, Default)]
pub(crate) struct Projection {
    next: Seq0,
    chunks: u64,
    was_switched: bool,
    /// When that was, unless all rows were made anew then.
    switched_at: Option<Timestamp>,
    /// What was under way then, and since when.
    under_way: BTreeMap<OperationId, Timestamp>,
    /// What of that is stopped. Asked for again, it is another try.
    left_behind: BTreeSet<OperationId>,
    /// The history is executed again under another source: nothing that is asked for is done yet.
    is_replayed: bool,
    /// Answers that are kept and not asked for so far, with the times at which they came in.
    kept: BTreeMap<OperationId, Option<AnswerTimes>>,
    /// Finished steps that are kept.
    kept_bodies: BTreeSet<StepPath>,
    /// How many times the same remark was made since then.
    remarks: BTreeMap<u128, u32>,
    is_over: bool,
    /// The run was made out of another one, and what stands in its log is still that one's history.
    is_history: bool,
    /// Sessions of the run that this one was made out of.
    inherited: BTreeSet<OperationId>,
    steps: BTreeMap<StepPath, OpenStep>,
    operations: BTreeMap<OperationId, OpenOperation>,
    /// What signals and decisions said that nobody has taken yet.
    signals: BTreeMap<InboxKey, Value>,
    taken: Vec<InboxKey>,
    current: Option<u32>,
    waiting: Option<Waiting>,
}

/// A position that begins at the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seq0(Seq);

impl Default for Seq0 {
    fn default() -> Self {
        Self(Seq::FIRST)
    }
}

impl Projection {
    /// Where the next chunk has to begin.
    pub(crate) const fn next(&self) -> Seq {
        self.next.0
    }

    /// Whether the run has begun anew under another source, so that there may be something left of rows that are gone.
    pub(crate) const fn was_switched(&self) -> bool {
        self.was_switched
    }

    /// Folds a chunk in and says what it changes.
    pub(crate) fn apply(&mut self, chunk: &Chunk, standing: Standing) -> Changes {
        let mut changes = Changes {
            is_switched: self.was_switched,
            switched_at: self.switched_at,
            ..Changes::default()
        };
        // What comes later than the switch is no history, also in logs that do not say where that ends.
        self.is_replayed &= self.switched_at.is_none_or(|switched| chunk.at <= switched);
        let mut seq = chunk.first;
        for entry in &chunk.entries {
            self.entry(seq, chunk.at, entry, &mut changes);
            seq = seq.next();
        }
        changes.find_known_remarks();
        self.next = Seq0(seq);
        self.chunks += 1;
        self.has_begun(chunk.at, &mut changes);
        self.forget_taken();
        self.moved(standing, &mut changes);
        changes
    }

    /// The creation is the first chunk; whatever follows is somebody's turn.
    fn has_begun(&self, at: Timestamp, changes: &mut Changes) {
        match self.chunks {
            1 => changes.run.status = Some(WorkflowStatus::Pending),
            2 => {
                changes.run.started_at = Some(at);
                changes.run.status = changes.run.status.or(Some(WorkflowStatus::Running));
            }
            _ => {}
        }
    }

    /// A signal answers all its waits at once, and a decision is never kept.
    fn forget_taken(&mut self) {
        for key in std::mem::take(&mut self.taken) {
            self.signals.remove(&key);
        }
    }

    /// What follows for the run from what is open now.
    fn moved(&mut self, standing: Standing, changes: &mut Changes) {
        let latest = self.steps.values().filter_map(|step| step.number).max();
        let alone = self.operations.values().filter(|operation| operation.is_open());
        let latest = latest.max(alone.filter_map(|operation| operation.number).max());
        let current = latest.or_else(|| changes.steps.keys().last().copied().max(self.current));
        if current != self.current || changes.anew.is_some() {
            changes.run.current_step = current;
            self.current = current;
        }
        let waiting = if self.is_over || standing.is_ended() { None } else { self.waits_for() };
        if waiting != self.waiting || changes.anew.is_some() {
            changes.run.waiting = Some(waiting.clone());
            self.waiting = waiting;
        }
    }

    fn entry(&mut self, seq: Seq, at: Timestamp, entry: &Entry, changes: &mut Changes) {
        match entry {
            Entry::RunEnded { outcome } => self.run_ended(at, outcome, changes),
            Entry::RunStarted(start) if !self.was_switched => {
                self.is_history = start.forked_from.is_some();
            }
            Entry::RunStarted(start) => changes.run.input = Some(start.told_input().into_owned()),
            Entry::AnswersKept { answers } => self.keep_answers(answers),
            Entry::BodyKept(kept) => {
                self.kept_bodies.insert(kept.step.clone());
            }
            Entry::SourceSwitched { definition, abandoned, keeps_numbers } => {
                self.begin_anew(definition, keeps_numbers.then_some(at), changes);
                self.left_behind.extend(abandoned.iter().map(|left| left.operation.clone()));
            }
            Entry::RunRebased { .. } if self.was_switched => self.is_replayed = false,
            Entry::RunRebased { .. } => self.begin_to_live(at, changes),
            Entry::StateWritten { operation, value } => {
                if let Some(name) = operation.name() {
                    changes.state.push((name.as_str().to_owned(), value.clone()));
                }
            }
            Entry::CommentAdded { operation, on, message, meta } => {
                let step = match on {
                    CommentOn::Step => self.step_of(&operation.scope()),
                    CommentOn::Run => None,
                };
                let metadata = Some(meta).filter(|meta| !meta.is_null()).cloned();
                changes.comments.push(CommentRow {
                    operation: operation.clone(),
                    step,
                    message: message.clone(),
                    metadata,
                    at,
                    earlier: self.count_remark(step, message, meta),
                    may_be_known: self.is_replayed || self.is_in_kept_body(&operation.scope()),
                });
            }
            Entry::SignalArrived { key, payload, .. } => {
                self.signals.insert(key.clone(), payload.clone());
            }
            Entry::ApprovalGiven { key, approved, by, comment, .. } => {
                let said =
                    serde_json::json!({ "approved": approved, "by": by, "comment": comment });
                self.signals.insert(key.clone(), said);
                self.taken.push(key.clone());
            }
            other => {
                self.step_entry(at, other, changes);
                self.operation_entry(seq, at, other, changes);
            }
        }
    }

    fn run_ended(&mut self, at: Timestamp, outcome: &RunOutcome, changes: &mut Changes) {
        self.is_over = true;
        let (status, error) = match outcome {
            RunOutcome::Completed { output } => {
                changes.run.output = Some(output.clone());
                (WorkflowStatus::Completed, None)
            }
            RunOutcome::Failed { failure } => (WorkflowStatus::Failed, Some(failure)),
            RunOutcome::TimedOut { failure } => (WorkflowStatus::TimedOut, Some(failure)),
            RunOutcome::Cancelled { failure } => (WorkflowStatus::Cancelled, failure.as_ref()),
        };
        changes.run.status = Some(status);
        changes.run.completed_at = Some(at);
        changes.run.error = error.map(to_value);
    }

    /// What stood before is kept for the record; the run is shown under its new source. Steps keep their numbers from that
    /// time on, if they do.
    fn begin_anew(
        &mut self,
        definition: &str,
        switched_at: Option<Timestamp>,
        changes: &mut Changes,
    ) {
        let (next, chunks, inherited) =
            (self.next, self.chunks, std::mem::take(&mut self.inherited));
        let open = std::mem::take(&mut self.operations).into_iter();
        let under_way = open.map(|(operation, open)| (operation, open.since)).collect();
        *self = Self {
            next,
            chunks,
            inherited,
            was_switched: true,
            switched_at,
            under_way,
            is_replayed: true,
            ..Self::default()
        };
        let anew = if switched_at.is_some() { Anew::Superseded } else { Anew::Erased };
        let run = RunPatch {
            definition: Some(definition.to_owned()),
            status: Some(WorkflowStatus::Running),
            ..RunPatch::default()
        };
        *changes =
            Changes { anew: Some(anew), is_switched: true, switched_at, run, ..Changes::default() };
    }

    /// Since when something is under way that the log has as asked for at this time: under another source that may be the
    /// time of a recorded answer.
    fn since(&self, operation: &OperationId, at: Timestamp) -> Timestamp {
        let under_way = self.under_way.get(operation).filter(|_| self.goes_on(operation));
        match self.switched_at.filter(|switched| at < *switched) {
            Some(switched) => under_way.copied().unwrap_or(switched),
            None => at,
        }
    }

    /// How many times the same was said on the same step before. Counted only under another source: what was said under
    /// the one before, and is said again over the history, is found again by its words, wherever they stand now.
    fn count_remark(&mut self, step: Option<u32>, message: &str, meta: &Value) -> u32 {
        if !self.was_switched {
            return 0;
        }
        let count = self.remarks.entry(remark_hash(step, message, meta)).or_default();
        let earlier = *count;
        *count += 1;
        earlier
    }

    /// The number of the step around a scope; phases have none and stand aside.
    fn step_of(&self, scope: &ScopePath) -> Option<u32> {
        let mut scope = scope.clone();
        while let Some(step) = scope.owner() {
            if !step.is_phase() {
                return self.steps.get(&step).and_then(|open| open.number);
            }
            scope = step.scope();
        }
        None
    }
}

fn to_value(serialized: &impl Serialize) -> Value {
    serde_json::to_value(serialized).unwrap_or(Value::Null)
}
