//! `agentos resume --latest`: the run goes on with the workflow as it is now. Tried without effects first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_core::id::RunId;
use agentos_core::path::{OperationId, StepPath};
use agentos_core::rebase::NumberedStep;
use agentos_core::standing::{EndStatus, Standing};
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::switch::{self, SwitchError, SwitchRequest, Switched};
use agentos_store::claim::ClaimError;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::{Records as _, RunRecord, StepRecord};
use agentos_store::sqlite::{Owner, SqliteStore};
use agentos_store::store::Store as _;
use serde::Serialize;

use super::Preparation;
use crate::databases::counterpart::{self, refuse_elsewhere};
use crate::error::{CommandError, Result};
use crate::inputs::FileInput;
use crate::output::Notes;
use crate::session::{Opened, Session};
use crate::travel::input_files;
use crate::travel::latest::{self, Latest};
use crate::travel::past;
use crate::{foreground, names, scribe};

/// Moves the run to the workflow as it is now, if that fits what the run has done. Returns the owner that did it and has
/// the run; none if the run has the latest source already. Of a run that is left to another process the owner has released it: a
/// server or executor may drive it before this returns.
pub(super) async fn switch(
    session: &Session,
    opened: &Opened,
    (run, Preparation { is_left, from_afar, .. }): (RunId, Preparation),
    said: &mut Notes<'_>,
) -> Result<Option<Owner>> {
    let store = &opened.store;
    let (record, latest) = find(session, store, run).await?;
    let Some(latest) = latest else {
        said.note(SAME);
        return Ok(None);
    };
    let Planned { request, notes, context, files } =
        plan(session, store, (&record, &latest), from_afar).await?;
    notes.iter().for_each(|note| said.note(note));
    let tried = switch::trial(store, session.library(store), &request).await;
    told(store, &record, tried).await?;
    latest.keep(opened).await?;
    files.iter().try_for_each(|file| file.copy(&context))?;
    let owner = foreground::enlist(store)?;
    let request = (SwitchRequest { now: SystemClock.now(), ..request }, owner.id());
    let moved = switch::switch(store, session.library(store), request).await;
    let (moved, epoch) = told(store, &record, moved).await?;
    if is_left {
        let _freed = store.release(run, epoch).await;
    }
    scribe::write(store, run).await;
    said.note("the run goes on with the latest source");
    moved.notices.iter().for_each(|notice| said.note(notice));
    Ok(Some(owner))
}

/// What is said of a run whose source is the latest.
const SAME: &str = "the run has the latest source already";

/// The run, and its workflow as it is now if that is another source.
async fn find(
    session: &Session,
    store: &SqliteStore,
    run: RunId,
) -> Result<(RunRecord, Option<Latest>)> {
    if store.head(run).await?.standing.is_ended() {
        return Err(foreground::ended(store, run, true).await);
    }
    let record = store.run_detail(run).await?.run;
    let latest = Latest::find(session, &record)?;
    let is_other = !latest.is_source_of(&record);
    Ok((record, is_other.then_some(latest)))
}

/// What is to be done for a run to go on with another source.
struct Planned {
    /// What the engine is asked for.
    request: SwitchRequest,
    /// What is to be said about the run's input.
    notes: Vec<String>,
    /// The folder for more of the run's input files.
    context: PathBuf,
    /// What is to be copied there.
    files: Vec<FileInput>,
}

async fn plan(
    session: &Session,
    store: &SqliteStore,
    (record, latest): (&RunRecord, &Latest),
    from_afar: bool,
) -> Result<Planned> {
    let Some(started) = past::started(store, record.id).await? else {
        return Err(CommandError::failed(format!("the log of {} has no start", record.run_id)));
    };
    let (beginning, notes) = latest.start_again(session, (record, &started), from_afar)?;
    let context = Path::new(&started.home.context_path);
    let context = input_files::folder_for_more(record, context);
    let (start, files) = beginning.in_folder(&context);
    let request = SwitchRequest { run: record.id, start: start.into(), now: SystemClock.now() };
    Ok(Planned { request, notes, context, files })
}

async fn told<T>(
    store: &SqliteStore,
    record: &RunRecord,
    moved: Result<T, SwitchError>,
) -> Result<T> {
    match moved {
        Ok(moved) => Ok(moved),
        Err(SwitchError::Claim(ClaimError::Owned { by, .. })) => {
            Err(foreground::owned(store, record.id, by).await)
        }
        Err(SwitchError::Claim(ClaimError::Ended { .. })) => {
            Err(foreground::ended(store, record.id, true).await)
        }
        Err(SwitchError::Claim(ClaimError::Elsewhere { source, .. })) => {
            Err(counterpart::refused(store, record.id, source).await)
        }
        Err(SwitchError::Rebase(error)) => Err(latest::does_not_fit(record, &error)),
        Err(error) => {
            let message = format!("{} can't go on with the latest source: {error}", record.run_id);
            Err(CommandError::failed(message))
        }
    }
}

/// What would change, as a document.
#[derive(Serialize)]
struct Plan<'a> {
    run_id: &'a str,
    /// The hash of the source that the run would have.
    definition_hash: &'a str,
    /// How it would be shown.
    status: WorkflowStatus,
    #[serde(skip)]
    is_ended: bool,
    kept: Vec<PlannedStep>,
    superseded: Vec<PlannedStep>,
    /// The new source has not come to its end, and has not asked for them so far: it may still do so. Until then they are
    /// shown as superseded.
    not_asked_for_yet: Vec<PlannedStep>,
    added: Vec<PlannedStep>,
    notices: Vec<String>,
}

#[derive(Serialize)]
struct PlannedStep {
    step_number: u32,
    path: String,
    /// Its name: that of an operation outside of a step says what it does.
    name: String,
    #[serde(skip)]
    is_operation: bool,
}

impl PlannedStep {
    /// As a run's steps are called, or as an operation of the new source is.
    fn new(step: &NumberedStep, known: &[StepRecord], titles: &BTreeMap<String, String>) -> Self {
        let record = known.iter().find(|record| record.path == step.path);
        let title = titles.get(&step.path).or_else(|| record.map(|record| &record.name));
        let own = || step.path.parse::<StepPath>().ok()?.name().map(|name| name.to_string());
        let name = title.cloned().or_else(own);
        Self {
            step_number: step.number.0,
            path: step.path.clone(),
            name: name.unwrap_or_else(|| step.path.clone()),
            is_operation: step
                .path
                .parse::<OperationId>()
                .is_ok_and(|found| found.kind().is_some()),
        }
    }

    /// Where a step stands says more than its name; an operation's path may be a hash.
    fn title(&self) -> &str {
        if self.is_operation { &self.name } else { &self.path }
    }
}

/// Prints what would change; nothing does, and the run may be under way.
pub(super) async fn dry_run(session: &Session, name: &str, json: bool) -> Result<ExitCode> {
    let store = session.look_for(name)?;
    let run = names::find(&store, name).await?;
    refuse_elsewhere(&store, run).await?;
    let (record, latest) = find(session, &store, run).await?;
    let (switched, definition, mut lines) = match &latest {
        Some(latest) => {
            let Planned { request, notes, .. } =
                plan(session, &store, (&record, latest), false).await?;
            let tried = switch::trial(&store, session.library(&store), &request).await;
            let definition = latest.workflow.definition.as_str();
            (told(&store, &record, tried).await?, definition, notes)
        }
        None => {
            session.output.note(SAME);
            let standing = store.head(run).await?.standing;
            let (notices, steps, titles) = (Vec::new(), Default::default(), BTreeMap::new());
            let unchanged = Switched { notices, steps, titles, standing };
            (unchanged, record.definition_hash.as_str(), Vec::new())
        }
    };
    let known = store.run_detail(run).await?.steps;
    let planned = |steps: &[NumberedStep]| -> Vec<PlannedStep> {
        steps.iter().map(|step| PlannedStep::new(step, &known, &switched.titles)).collect()
    };
    let is_ended = switched.standing.is_ended();
    let gone = planned(&switched.steps.superseded);
    let (superseded, not_asked_for_yet) =
        if is_ended { (gone, Vec::new()) } else { (Vec::new(), gone) };
    lines.extend(switched.notices.iter().cloned());
    let plan = Plan {
        run_id: &record.run_id,
        definition_hash: definition,
        status: match switched.standing {
            Standing::Ended { status: EndStatus::Completed } => WorkflowStatus::Completed,
            Standing::Ended { status: EndStatus::Failed } => WorkflowStatus::Failed,
            Standing::Ended { status: EndStatus::TimedOut } => WorkflowStatus::TimedOut,
            Standing::Ended { status: EndStatus::Cancelled } => WorkflowStatus::Cancelled,
            Standing::Working { .. } | Standing::Parked { .. } => record.status,
        },
        is_ended,
        kept: planned(&switched.steps.kept),
        superseded,
        not_asked_for_yet,
        added: planned(&switched.steps.added),
        notices: lines,
    };
    match json {
        true => session.output.document(&plan)?,
        false => session.output.lines(plan.lines())?,
    }
    session.output.note("nothing was changed");
    Ok(ExitCode::SUCCESS)
}

impl Plan<'_> {
    fn lines(&self) -> Vec<String> {
        let steps = [
            ("kept", &self.kept),
            ("superseded", &self.superseded),
            ("not asked for yet", &self.not_asked_for_yet),
            ("new", &self.added),
        ];
        let shown = steps.iter().filter(|(_, steps)| !steps.is_empty());
        let width = shown.map(|(what, _)| what.len()).max().unwrap_or_default();
        let line = |what: &str, step: &PlannedStep| {
            format!("{what:<width$}  {:>3}  {}", step.step_number, step.title())
        };
        let mut lines: Vec<String> = steps
            .iter()
            .flat_map(|(what, steps)| steps.iter().map(|step| line(what, step)))
            .collect();
        lines.extend(self.notices.iter().cloned());
        if self.is_ended {
            lines.push(format!("with that the run is {}", self.status.as_str()));
        }
        lines
    }
}
