//! The rows of the tree in the order in which they are read.
//!
//! A step's path says where it stands: `/a#1@2/b#1` belongs to the second attempt at `/a#1`, and `/~build#1@1/c#1` to the
//! phase `build`, which has no row of its own and becomes a heading. What earlier attempts did is not shown. Steps come
//! by number, but a step that runs beside others keeps what belongs to it below itself.

use std::collections::HashMap;

use agentos_core::id::{Attempt, Occurrence, Try};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, ScopePath, StepPath};
use agentos_store::projection::{StepStatus, WorkflowStatus};
use agentos_store::records::{RunRecord, SessionRecord, StepRecord};

use super::super::FamilyView;
use super::super::title;

/// Where a child of a later try, or of a later invocation of the same workflow in one step, belongs is not looked for: it
/// is shown below all steps.
const TRIES: u32 = 2;
const INVOCATIONS: u32 = 8;

/// A child of a child of a child … deeper ones are not shown.
const GENERATIONS: usize = 16;

/// One row.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    pub(super) depth: usize,
    pub(super) what: What<'a>,
    pub(super) stage: Stage,
}

/// What a row shows.
#[derive(Debug, Clone, Copy)]
pub(super) enum What<'a> {
    Run(&'a RunRecord),
    /// A phase, whose name is read from the path.
    Phase(&'a str),
    Step {
        step: &'a StepRecord,
        run: &'a RunRecord,
        /// How many digits the numbers of this run have.
        digits: usize,
    },
    /// Why the step or run above it failed.
    Why(&'a str),
    /// A session of an agent, and what it is doing right now.
    Session(&'a SessionRecord, Option<&'a str>),
}

/// How important it is that a row is seen, the most important first. A phase is as important as anything in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Always there.
    Heading,
    Active,
    Failed,
    /// Not begun.
    Pending,
    Done,
}

/// All rows of a family.
pub(super) fn of(view: &FamilyView) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    family(view, 0, 0, &mut rows);
    rows
}

fn family<'a>(view: &'a FamilyView, depth: usize, generation: usize, rows: &mut Vec<Row<'a>>) {
    let run = &view.run.run;
    let stage = if generation == 0 { Stage::Heading } else { stage_of_run(run) };
    rows.push(Row { depth, what: What::Run(run), stage });
    let failed = matches!(run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut);
    if let Some(message) = run.error.as_ref().filter(|_| failed).and_then(message) {
        let stage = if generation == 0 { Stage::Heading } else { Stage::Failed };
        rows.push(Row { depth: depth + 1, what: What::Why(message), stage });
    }
    let mut walk = Walk {
        view,
        forest: Forest::of(&view.run.steps),
        generation,
        placed: vec![false; view.children.len()],
    };
    walk.level(None, depth + 1, rows);
    for (child, placed) in view.children.iter().zip(walk.placed) {
        if !placed && generation < GENERATIONS {
            family(child, depth + 1, generation + 1, rows);
        }
    }
}

/// What an error says.
pub(super) fn message(error: &serde_json::Value) -> Option<&str> {
    error.get("message")?.as_str()
}

fn stage_of_run(run: &RunRecord) -> Stage {
    match run.status {
        WorkflowStatus::Pending => Stage::Pending,
        WorkflowStatus::Running => Stage::Active,
        WorkflowStatus::Failed | WorkflowStatus::TimedOut => Stage::Failed,
        WorkflowStatus::Completed | WorkflowStatus::Cancelled => Stage::Done,
    }
}

fn stage_of_step(step: &StepRecord) -> Stage {
    match step.status {
        StepStatus::Pending => Stage::Pending,
        StepStatus::Running | StepStatus::Retrying => Stage::Active,
        StepStatus::Failed => Stage::Failed,
        StepStatus::Completed | StepStatus::Skipped | StepStatus::Cancelled => Stage::Done,
    }
}

/// A step or a phase, and what belongs to it.
struct Node<'a> {
    /// None for a phase.
    step: Option<&'a StepRecord>,
    path: &'a str,
    children: Vec<usize>,
}

/// The steps of one run.
struct Forest<'a> {
    nodes: Vec<Node<'a>>,
    roots: Vec<usize>,
    /// By the text of the path.
    by_path: HashMap<&'a str, usize>,
}

impl<'a> Forest<'a> {
    fn of(steps: &'a [StepRecord]) -> Self {
        let attempts = steps.iter().map(|step| (step.path.as_str(), step.attempt_number)).collect();
        let mut forest = Self { nodes: vec![], roots: vec![], by_path: HashMap::new() };
        for step in steps {
            if is_of_latest_attempts(&step.path, &attempts) {
                let above = forest.place_of(scope(&step.path));
                forest.add(above, &step.path, Some(step));
            }
        }
        forest
    }

    /// The node that a scope belongs to, made if it is a phase; none for the run itself.
    fn place_of(&mut self, scope: &'a str) -> Option<usize> {
        let (owner, _) = scope.rsplit_once('@')?;
        if let Some(known) = self.by_path.get(owner) {
            return Some(*known);
        }
        let above = self.place_of(self::scope(owner));
        let is_phase = owner.rsplit_once('/').is_some_and(|(_, last)| last.starts_with('~'));
        if is_phase { Some(self.add(above, owner, None)) } else { above }
    }

    fn add(&mut self, above: Option<usize>, path: &'a str, step: Option<&'a StepRecord>) -> usize {
        let at = self.nodes.len();
        self.nodes.push(Node { step, path, children: vec![] });
        self.by_path.insert(path, at);
        match above {
            Some(above) => self.nodes[above].children.push(at),
            None => self.roots.push(at),
        }
        at
    }
}

/// `/a#1@2/b#1` stands in the scope `/a#1@2`.
fn scope(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(scope, _)| scope)
}

/// Whether no step around it has been attempted again since.
fn is_of_latest_attempts(path: &str, attempts: &HashMap<&str, u32>) -> bool {
    let mut scope = scope(path);
    while let Some((owner, attempt)) = scope.rsplit_once('@') {
        let latest = attempts.get(owner).map(ToString::to_string);
        if latest.is_some_and(|latest| latest != attempt) {
            return false;
        }
        scope = self::scope(owner);
    }
    true
}

/// A walk over the steps of one run that puts child runs where they were invoked.
struct Walk<'a> {
    view: &'a FamilyView,
    forest: Forest<'a>,
    generation: usize,
    /// Which children have their place.
    placed: Vec<bool>,
}

impl<'a> Walk<'a> {
    fn level(&mut self, above: Option<usize>, depth: usize, rows: &mut Vec<Row<'a>>) {
        let level = above.map_or(&self.forest.roots, |above| &self.forest.nodes[above].children);
        for at in level.clone() {
            let first = rows.len();
            let Node { step, path, .. } = self.forest.nodes[at];
            match step {
                Some(step) => self.step(step, depth, rows),
                None => rows.push(Row { depth, what: What::Phase(path), stage: Stage::Done }),
            }
            self.level(Some(at), depth + 1, rows);
            if step.is_none() {
                let within = rows[first..].iter().map(|row| row.stage);
                rows[first].stage = within.min().unwrap_or(Stage::Done);
            }
        }
    }

    fn step(&mut self, step: &'a StepRecord, depth: usize, rows: &mut Vec<Row<'a>>) {
        let run = &self.view.run.run;
        let stage = stage_of_step(step);
        let last = self.view.run.steps.last().map_or(1, |last| last.step_number);
        let digits = last.max(1).ilog10() as usize + 1;
        rows.push(Row { depth, what: What::Step { step, run, digits }, stage });
        let failed = matches!(step.status, StepStatus::Failed | StepStatus::Retrying);
        if let Some(message) = step.error.as_ref().filter(|_| failed).and_then(message) {
            rows.push(Row { depth: depth + 1, what: What::Why(message), stage });
        }
        self.sessions(step, depth + 1, rows);
        for child in self.children_of(step) {
            self.placed[child] = true;
            if self.generation < GENERATIONS {
                family(&self.view.children[child], depth + 1, self.generation + 1, rows);
            }
        }
    }

    /// The sessions of agents that belong to a step, the latest of each name.
    fn sessions(&self, step: &StepRecord, depth: usize, rows: &mut Vec<Row<'a>>) {
        let all = &self.view.run.agent_sessions;
        let own = |session: &&SessionRecord| session.workflow_step_id == Some(step.id);
        for (at, session) in all.iter().enumerate().filter(|(_, session)| own(session)) {
            let is_latest =
                !all[at + 1..].iter().filter(own).any(|other| other.name == session.name);
            if is_latest {
                let doing = session.session_id.as_ref().and_then(|id| self.view.doing.get(id));
                let what = What::Session(session, doing.map(String::as_str));
                rows.push(Row { depth, what, stage: stage_of_step(step) });
            }
        }
    }

    /// The runs that a step invoked. Their ids follow from the operations, which are named after the workflow.
    fn children_of(&self, step: &StepRecord) -> Vec<usize> {
        let was_there = |at: &usize| {
            let created = self.view.children[*at].run.run.created_at;
            step.started_at.is_some_and(|start| start <= created)
                && step.completed_at.is_none_or(|end| created <= end)
        };
        let open = (0..self.placed.len()).filter(|at| !self.placed[*at]).filter(was_there);
        let open: Vec<usize> = open.collect();
        let Some(within) = operations_of(step).filter(|_| !open.is_empty()) else { return vec![] };
        let run = self.view.run.run.id;
        let is_invoked = |at: &usize| {
            let child = &self.view.children[*at].run.run;
            let mut operations = within.named(&child.workflow);
            operations.any(|operation| {
                (1..=TRIES).any(|count| run.child(&operation, Try(count)) == child.id)
            })
        };
        open.into_iter().filter(is_invoked).collect()
    }
}

/// Which operations a step may have asked for.
enum Operations {
    /// It is one itself.
    One(OperationId),
    /// Those of its latest attempt.
    Of(ScopePath),
}

fn operations_of(step: &StepRecord) -> Option<Operations> {
    if let Some(operation) = title::operation(step) {
        return Some(Operations::One(operation));
    }
    let path: StepPath = step.path.parse().ok()?;
    Some(Operations::Of(path.attempt(Attempt(step.attempt_number))))
}

impl Operations {
    /// Those that may have invoked a workflow.
    fn named(&self, workflow: &str) -> impl Iterator<Item = OperationId> {
        let (one, within) = match self {
            Self::One(operation) => (Some(operation.clone()), None),
            Self::Of(scope) => (None, Name::new(workflow).ok().map(|name| (scope, name))),
        };
        let within = within.into_iter().flat_map(|(scope, name)| {
            let count = 1..=INVOCATIONS;
            count.map(move |count| scope.operation(OperationKind::Invoke, &name, Occurrence(count)))
        });
        one.into_iter().chain(within)
    }
}

/// The name of the phase at a path.
pub(super) fn name_of_phase(path: &str) -> String {
    let name = path.parse::<StepPath>().ok().and_then(|path| path.name());
    name.map_or_else(|| path.to_owned(), |name| name.as_str().to_owned())
}
