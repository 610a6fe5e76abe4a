//! Where the files of a run are as they were when a step began.
//!
//! They are those of the first snapshot from there on. What a run began with, because it mends another run or was forked
//! from one, was done by that one: it is looked for there.

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Record, RunStarted};
use agentos_core::id::{RunId, Seq, StepNumber};
use agentos_core::rebase::generation;
use agentos_engine::travel::{Asked, History};
use agentos_store::log::load_whole_log;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::snapshot::Snapshot;

use super::album;
use crate::error::{Cause, CommandError, Result};
use crate::names;
use crate::workspace::desk::Desk;

/// How many runs may have been made out of one another.
const DEPTH: usize = 1_000;

/// The files at some moment.
#[derive(Debug, Clone)]
pub(crate) enum Files {
    /// They were kept.
    Kept(Box<Snapshot>),
    /// Nothing has changed them since.
    Unchanged,
}

/// A run with what its log says about files.
pub(crate) struct Past {
    pub(crate) run: RunRecord,
    pub(crate) history: History,
    /// The numbers of steps that its present source does not ask for.
    superseded: Vec<u32>,
}

impl Past {
    pub(crate) async fn load(store: &SqliteStore, run: RunId) -> Result<Self> {
        let detail = store.run_detail(run).await?;
        let log = load_whole_log(store, run).await?;
        let log: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
        let superseded = detail.steps.iter().filter(|step| step.superseded);
        let superseded = superseded.map(|step| step.step_number).collect();
        Ok(Self { run: detail.run, history: History::of(&log), superseded })
    }

    /// Whether the run's present source does not ask for this step.
    pub(crate) fn is_superseded(&self, step: &Asked) -> bool {
        self.superseded.contains(&step.number.0)
    }

    /// The step that somebody means, by its number or its name.
    pub(crate) fn step(&self, said: &str) -> Result<&Asked> {
        let (run, all) = (&self.run.run_id, self.history.asked());
        let none = |step: String| {
            CommandError::not_found(format!("{run} has no step {step}"))
                .because(Cause::NoSuchStep)
                .cli_hint(format!("`agentos show {run}` lists the steps"))
                .api_hint(format!("`GET /api/executions/{run}` lists the steps"))
        };
        if let Ok(number) = said.parse() {
            let found = self.history.numbered(StepNumber(number)).filter(|_| number > 0);
            return found.ok_or_else(|| none(number.to_string()));
        }
        let is_named =
            |asked: &&Asked| (asked.name == said || asked.title == said) && asked.number.0 > 0;
        let mut named: Vec<&Asked> = all.iter().filter(is_named).collect();
        // Of several, those that the run still asks for are meant.
        if named.iter().any(|asked| !self.is_superseded(asked)) {
            named.retain(|asked| !self.is_superseded(asked));
        }
        match &named[..] {
            [] => Err(none(format!("`{said}`"))),
            [one] => Ok(one),
            many => {
                let numbers: Vec<String> =
                    many.iter().map(|asked| asked.number.to_string()).collect();
                let numbers = numbers.join(" or ");
                let message = format!("`{said}` could be step {numbers} of {run}");
                Err(CommandError::usage(message)
                    .because(Cause::SeveralSteps)
                    .hint("name the step by its number"))
            }
        }
    }

    /// The files as they were when a step was asked for.
    pub(crate) async fn at_step(
        &self,
        desk: &Desk,
        store: &SqliteStore,
        step: &Asked,
    ) -> Result<Files> {
        let mut line = self.ancestors(store, step).await?;
        // The oldest that has done the step's past itself comes first.
        let Some((oldest, asked)) = line.pop() else {
            return self.at(desk, step.at, &began(&step.title)).await;
        };
        if let Files::Kept(found) = oldest.at(desk, asked.at, &began(&asked.title)).await? {
            return Ok(Files::Kept(found));
        }
        for (younger, asked) in line.into_iter().rev() {
            if let Files::Kept(found) = younger.at(desk, Seq::FIRST, &began(&asked.title)).await? {
                return Ok(Files::Kept(found));
            }
        }
        self.at(desk, Seq::FIRST, &began(&step.title)).await
    }

    /// The run that did what stands in a step, if that is another one, with the step in it.
    pub(crate) async fn doer(
        &self,
        store: &SqliteStore,
        step: &Asked,
    ) -> Result<Option<(Self, Asked)>> {
        Ok(self.ancestors(store, step).await?.pop())
    }

    /// The runs from which this one has what stands before a step, each with that step in it; the oldest last.
    async fn ancestors(&self, store: &SqliteStore, step: &Asked) -> Result<Vec<(Self, Asked)>> {
        let mut found: Vec<(Self, Asked)> = Vec::new();
        while found.len() < DEPTH {
            let (past, asked) = found.last().map_or((self, step), |(past, asked)| (past, asked));
            let inherits = past.history.is_inherited(asked.at);
            let Some(from) = past.run.forked_from.clone().filter(|_| inherits) else { break };
            let Ok(run) = names::find(store, &from).await else {
                return Err(CommandError::refused(format!(
                    "{} has the step `{}` from the run {from}, which is gone with its files",
                    past.run.run_id, asked.title
                ))
                .because(Cause::FilesNotKept));
            };
            let older = Self::load(store, run).await?;
            let Some(asked) = older.history.asked_for(&asked.path).cloned() else { break };
            found.push((older, asked));
        }
        Ok(found)
    }

    /// The files as this run had them at a position, which people know by what happened there.
    pub(crate) async fn at(&self, desk: &Desk, at: Seq, when: &str) -> Result<Files> {
        let run = &self.run.run_id;
        if let Some(other) = self.history.at_work(at) {
            let other = other.step_name();
            let message = format!(
                "`{other}` was at work on the files of {run} when {when}, so there is no saying how they were"
            );
            return Err(CommandError::refused(message)
                .because(Cause::FilesNotKept)
                .hint("choose a step at which nothing else was at work"));
        }
        let chain = album::chain(desk, self.run.id.to_string()).await?;
        let kept = album::first_from(&chain, at).cloned();
        let work = self.history.next_work(at);
        match (kept, work) {
            (None, None) => Ok(Files::Unchanged),
            (Some(kept), None) => Ok(Files::Kept(Box::new(kept))),
            (Some(kept), Some(work)) if kept.label.position <= work.from.0 => {
                Ok(Files::Kept(Box::new(kept)))
            }
            (_, Some(_)) => {
                let message = format!("the files of {run} were not kept as they were when {when}");
                Err(CommandError::refused(message).because(Cause::FilesNotKept).hint(
                    "files are kept in workspaces of their own, unless `workspace.snapshots` is \"never\", and not where a step \
                     ends inside of one that goes on; the run's comments say if something was in the way",
                ))
            }
        }
    }
}

/// How people know where a step begins.
pub(crate) fn began(step: &str) -> String {
    format!("`{step}` began")
}

/// What a run started with under the source that it has.
pub(crate) async fn started(store: &SqliteStore, run: RunId) -> Result<Option<RunStarted>> {
    let log = load_whole_log(store, run).await?;
    let log: Vec<Record> = log.into_iter().flat_map(Chunk::into_records).collect();
    Ok(match generation(&log).first() {
        Some(Record { entry: Entry::RunStarted(start), .. }) => Some(start.clone()),
        _ => None,
    })
}
