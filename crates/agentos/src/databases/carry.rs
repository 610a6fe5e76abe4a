//! Copying runs from one database to another, one by one, each whole or not at all.
//!
//! Files come first, rows second: whoever is killed in between has left a folder that nobody refers to, and finds it again
//! the next time. A run that has ended becomes one of the checkout that it is copied into. One that has not goes on where
//! its log says that it began, so it stays there, with its files. It goes on from one database only: [`Unfinished`] says
//! which, and [`Counterparts`] keeps that. The runs of a family that has not ended are moved together: each is brought into
//! the target and held there, then the source notes that all of them were moved, and only then any of them goes on. From that
//! note on the source accepts neither a claim nor a message for them; messages that came in before it are brought along.

use std::path::{Path, PathBuf};

use agentos_core::id::RunId;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::counterpart::{Counterpart, Counterparts, Reason, UnreadableNote};
use agentos_store::folder::{RunFolder, executions, make_self_ignoring};
use agentos_store::records::{Project, RecordError, Records as _, Workspace};
use agentos_store::sqlite::SqliteStore;
use agentos_store::transfer::{Candidate, RunCopy, Taken, TransferError};
use serde::Serialize;

use super::commands;
use super::families::Family;
use super::folders::{self, Carried};
use super::source::Source;
use crate::error::{CommandError, Result};

/// The checkout that runs are copied into.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    pub(crate) project: Project,
    pub(crate) worktree_id: String,
}

impl Home {
    pub(crate) fn new(id: uuid::Uuid, path: &Path, worktree_id: String) -> Self {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        let (now, path) = (SystemClock.now(), path.to_string_lossy().into_owned());
        let name = name.unwrap_or_else(|| path.clone());
        let project = Project { id, name, path, created_at: now, updated_at: now };
        Self { project, worktree_id }
    }
}

/// What became of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Outcome {
    /// It was not there, and is now, or would be.
    Copied,
    /// An earlier state of it was there.
    Updated,
    /// All of it was there.
    AlreadyThere,
    /// All of it was there, and it has gone on.
    WentOn,
    /// It is there, and goes on there and no longer here.
    Moved,
    /// Somebody is at work with it.
    Skipped,
    /// It would be mixed with something else.
    Refused,
    /// It can't be read or written.
    Failed,
}

impl Outcome {
    const fn of(taken: Taken) -> Self {
        match taken {
            Taken::New => Self::Copied,
            Taken::BroughtUpToDate => Self::Updated,
            Taken::AlreadyThere => Self::AlreadyThere,
            Taken::WentOn => Self::WentOn,
        }
    }

    /// Whether something is to be written for it.
    pub(crate) const fn is_new(self) -> bool {
        matches!(self, Self::Copied | Self::Updated)
    }

    pub(crate) const fn word(self, is_trial: bool) -> &'static str {
        match (self, is_trial) {
            (Self::Copied, false) => "copied",
            (Self::Copied, true) => "would copy",
            (Self::Updated, false) => "brought up to date",
            (Self::Updated, true) => "would bring up to date",
            (Self::AlreadyThere, _) => "already there",
            (Self::WentOn, _) => "already there, and went on",
            (Self::Moved, false) => "moved",
            (Self::Moved, true) => "would move",
            (Self::Skipped, _) => "skipped",
            (Self::Refused, _) => "refused",
            (Self::Failed, _) => "failed",
        }
    }
}

/// What became of one run, and why.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Copied {
    pub(crate) id: RunId,
    pub(crate) run_id: String,
    pub(crate) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
    /// The run that it goes along with, if it was not asked for itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) along_with: Option<String>,
    pub(crate) files: Carried,
}

impl Copied {
    fn new(
        candidate: &Candidate,
        result: Result<(Outcome, Option<String>), Stop>,
        files: Carried,
    ) -> Self {
        let (outcome, reason) = match result {
            Ok(done) => done,
            Err(stop) => (stop.outcome, Some(stop.reason)),
        };
        let (id, run_id) = (candidate.run, candidate.run_id.clone());
        Self { id, run_id, outcome, reason, along_with: None, files }
    }
}

/// From which database a run goes on that has not ended, once it is in both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfinished {
    /// From the source: the copy is held.
    InSource,
    /// From the target: the source notes that the run was moved.
    InTarget,
    /// From the target: the source is no longer used.
    SourceGoes,
}

/// From where to where.
pub(crate) struct Carrier<'a> {
    pub(crate) source: &'a Source,
    /// None if there is no database yet, and only a trial is made.
    pub(crate) target: Option<&'a SqliteStore>,
    /// None if runs stay where they are at home.
    pub(crate) home: Option<Home>,
    pub(crate) unfinished: Unfinished,
    pub(crate) is_trial: bool,
}

impl Carrier<'_> {
    pub(crate) async fn carry(&self, candidate: &Candidate) -> Copied {
        let mut files = Carried::default();
        let done = match self.place(candidate, &mut files).await {
            Ok(plan) if plan.moves && !self.is_trial => {
                self.hand_over(&[candidate.run]).await.map(|()| plan)
            }
            other => other,
        };
        Copied::new(candidate, done.map(|plan| (plan.outcome(), plan.remark)), files)
    }

    /// Carries the runs of a family. They are moved all together, or none of them is.
    pub(crate) async fn carry_family(&self, family: &Family) -> Vec<Copied> {
        let mut all = Vec::new();
        if family.is_open() && self.is_to_be_moved(&family.members).await {
            let (home, unfinished) = (self.home.clone(), Unfinished::InTarget);
            all = Carrier { home, unfinished, ..*self }.move_together(&family.members).await;
        } else {
            for candidate in &family.members {
                all.push(self.carry(candidate).await);
            }
        }
        for copied in &mut all {
            copied.along_with = family.along_with.get(&copied.id).cloned();
        }
        all
    }

    /// Whether runs are moved: they are to be, or a process was killed that has begun to move them.
    async fn is_to_be_moved(&self, members: &[Candidate]) -> bool {
        if self.unfinished == Unfinished::InTarget {
            return true;
        }
        for candidate in members {
            if self.plan(candidate).await.is_ok_and(|(plan, _)| plan.moves) {
                return true;
            }
        }
        false
    }

    /// Nothing is written before it is known that each of them can be moved.
    async fn move_together(&self, members: &[Candidate]) -> Vec<Copied> {
        let mut plans = Vec::new();
        for candidate in members {
            plans.push(self.plan(candidate).await.map(|(plan, _)| plan));
        }
        if self.is_trial || plans.iter().any(Result::is_err) {
            return together(members, plans, Vec::new());
        }
        let (mut placed, mut files) = (Vec::new(), Vec::new());
        for candidate in members {
            let mut carried = Carried::default();
            placed.push(self.place(candidate, &mut carried).await);
            files.push(carried);
        }
        if placed.iter().all(Result::is_ok) {
            let moved = placed.iter().zip(members);
            let moved = moved.filter(|(plan, _)| plan.as_ref().is_ok_and(|plan| plan.moves));
            let moved: Vec<RunId> = moved.map(|(_, candidate)| candidate.run).collect();
            if let Err(stop) = self.hand_over(&moved).await {
                placed = members.iter().map(|_| Err(stop.clone())).collect();
            }
        }
        together(members, placed, files)
    }

    /// What is to become of a run. Nothing is written.
    async fn plan(&self, candidate: &Candidate) -> Result<(CarryPlan, RunCopy), Stop> {
        if let Some(why) = self.is_busy(candidate) {
            return Err(Stop { outcome: Outcome::Skipped, reason: why });
        }
        let copy = self.source.store.copy_of(candidate.run).await?;
        let taken = match self.target {
            Some(target) => target.compare(copy.clone()).await?,
            None => Taken::New,
        };
        let taken = Outcome::of(taken);
        let moves = !copy.is_ended() && self.is_moved(candidate.run, taken)?;
        let remark = self.remains(&copy, moves, taken);
        Ok((CarryPlan { taken, moves, remark }, copy))
    }

    /// Brings a run into the target, unless this is a trial. One that has not ended is held there until it is handed over.
    async fn place(&self, candidate: &Candidate, files: &mut Carried) -> Result<CarryPlan, Stop> {
        let (mut plan, copy) = self.plan(candidate).await?;
        let (Some(target), false) = (self.target, self.is_trial) else {
            return Ok(plan);
        };
        let is_open = !copy.is_ended();
        let copy = self.bring_home(copy, plan.taken, files)?;
        let here = Counterparts::of(target.path());
        if is_open {
            commands::carry(&self.source.path, target.path(), copy.run())?;
            if plan.taken.is_new() && self.unfinished != Unfinished::SourceGoes {
                // Before it is there: an executor of the target may be looking for something to do.
                here.note(candidate.run, &Self::counterpart(Reason::Copy, &self.source.path))?;
            }
            // What did not go on from the source does not go on from the target either.
            let known = Counterparts::of(&self.source.path).find(candidate.run)?;
            if let Some(known) = known.filter(|known| {
                self.unfinished == Unfinished::SourceGoes
                    && !is_same(target.path(), &known.database)
            }) {
                here.note(candidate.run, &known)?;
            }
        }
        let workspace = copy.workspace.clone();
        plan.taken = Outcome::of(target.take_in(copy).await?);
        if let Some(workspace) = workspace {
            copy_workspaces(target, vec![workspace]).await?;
        }
        if !is_open {
            here.forget(candidate.run)?;
        }
        Ok(plan)
    }

    /// What is to be said about a run that has not ended.
    fn remains(&self, copy: &RunCopy, moves: bool, outcome: Outcome) -> Option<String> {
        if copy.is_ended() {
            return None;
        }
        if outcome.is_new() && !moves && self.unfinished == Unfinished::InSource {
            let source = self.source.path.display();
            return Some(format!(
                "it has not ended: the copy is held, and it goes on from {source}; `--move` moves it"
            ));
        }
        self.moves(copy).then(|| {
            let place = copy.work_dir().unwrap_or_default();
            format!("it has not ended and goes on in {place}, where its files stay")
        })
    }

    /// Whether a run that has not ended goes on from the target and no longer from the source. One that does not go on from
    /// the source anyway is left alone.
    fn is_moved(&self, run: RunId, outcome: Outcome) -> Result<bool, Stop> {
        if self.unfinished == Unfinished::SourceGoes {
            return Ok(false);
        }
        let skipped = |reason: String| Err(Stop { outcome: Outcome::Skipped, reason });
        match Counterparts::of(&self.source.path).find(run)? {
            None => Ok(self.unfinished == Unfinished::InTarget),
            Some(Counterpart { reason: Reason::Moved, database })
                if self.target.is_some_and(|target| is_same(target.path(), &database)) =>
            {
                // A process that was killed has not come to the end of it.
                let is_held =
                    |target: &SqliteStore| Counterparts::of(target.path()).check(run).is_err();
                Ok(outcome.is_new() || self.target.is_some_and(is_held))
            }
            Some(Counterpart { reason: Reason::Moved, database }) => {
                skipped(format!("it was moved to {}; copy it from there", database.display()))
            }
            Some(Counterpart { reason: Reason::Copy, database }) => {
                let from = database.display();
                skipped(format!("it is only a copy of the one in {from}; copy it from there"))
            }
        }
    }

    /// Notes in the source that these runs were moved, and lets them go on from the target: all of them, or none.
    async fn hand_over(&self, runs: &[RunId]) -> Result<(), Stop> {
        let Some(target) = self.target else { return Ok(()) };
        let there = Counterparts::of(&self.source.path);
        // What a killed process has noted stays noted: others of the family may go on from the target already.
        let mut new = Vec::new();
        for run in runs {
            if there.find(*run)?.is_none() {
                new.push(*run);
            }
        }
        let noted = new
            .iter()
            .try_for_each(|run| there.note(*run, &Self::counterpart(Reason::Moved, target.path())));
        let is_complete = match noted {
            Ok(()) => self.complete(runs, target).await,
            Err(error) => Err(error.into()),
        };
        if !matches!(is_complete, Ok(true)) {
            for run in new {
                there.forget(run)?;
            }
            is_complete?;
            let reason =
                "another process has gone on with it meanwhile; the copy is held".to_owned();
            return Err(Stop { outcome: Outcome::Skipped, reason });
        }
        let here = Counterparts::of(target.path());
        Ok(runs.iter().try_for_each(|run| here.forget(*run))?)
    }

    /// Brings along what was sent to these runs after they were copied. Returns false if a process drives one of them in the
    /// source, or has gone on with it. The source has its notes: whatever it accepted before them is seen here, because the
    /// writers have ended, and it accepts nothing any more.
    async fn complete(&self, runs: &[RunId], target: &SqliteStore) -> Result<bool, Stop> {
        SqliteStore::wait_for_writers(&self.source.path).map_err(CommandError::from)?;
        let again = Source::open(&self.source.path)?;
        for run in runs {
            if again.is_driven(*run).await? {
                return Ok(false);
            }
            let copy = again.store.copy_of(*run).await?;
            let taken = target.compare(copy.clone()).await?;
            if !matches!(taken, Taken::AlreadyThere | Taken::WentOn) {
                return Ok(false);
            }
            target.take_in(copy).await?;
        }
        Ok(true)
    }

    fn counterpart(reason: Reason, database: &Path) -> Counterpart {
        let database = database.canonicalize().unwrap_or_else(|_| database.to_owned());
        Counterpart { reason, database }
    }

    /// Why it can't be copied now: two who drive one run would do everything twice.
    fn is_busy(&self, candidate: &Candidate) -> Option<String> {
        if candidate.is_driven {
            return Some("somebody drives it at this moment; copy it when that is over".to_owned());
        }
        if candidate.is_ended {
            return None;
        }
        if !self.source.owners.is_empty() {
            return Some(
                "it has not ended, and somebody at work in that database may go on with it"
                    .to_owned(),
            );
        }
        commands::is_at_work(&self.source.path, candidate.run).then(|| {
            "a command that it has started is still at work; resume it where it is".to_owned()
        })
    }

    /// Whether the run belongs to another checkout than the one that it is copied into.
    fn moves(&self, copy: &RunCopy) -> bool {
        self.home.as_ref().is_some_and(|home| copy.work_dir() != Some(&home.project.path))
    }

    fn bring_home(
        &self,
        copy: RunCopy,
        outcome: Outcome,
        files: &mut Carried,
    ) -> Result<RunCopy, Stop> {
        let Some(home) = self.home.as_ref().filter(|_| copy.is_ended() && self.moves(&copy)) else {
            return Ok(copy);
        };
        if let Some(before) = copy.work_dir().map(PathBuf::from) {
            *files = carry_folder(&before, Path::new(&home.project.path), copy.run(), outcome)?;
        }
        Ok(copy.at_home_in(home.project.clone(), home.worktree_id.clone()))
    }
}

/// Writes workspaces down where they are not known yet.
pub(crate) async fn copy_workspaces(target: &SqliteStore, all: Vec<Workspace>) -> Result<()> {
    let (known, projects) = (target.workspaces().await?, target.projects().await?);
    for mut workspace in all {
        if known.iter().any(|known| known.id == workspace.id) {
            continue;
        }
        workspace.project_id =
            workspace.project_id.filter(|id| projects.iter().any(|project| project.id == *id));
        match target.put_workspace(workspace, 0).await {
            // Somebody else was faster.
            Ok(_) | Err(RecordError::Outdated { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Copies the folder of a run from one checkout to another.
fn carry_folder(from: &Path, to: &Path, run: RunId, outcome: Outcome) -> Result<Carried, Stop> {
    let (before, after) = (RunFolder::new(from, run).path(), RunFolder::new(to, run).path());
    if !before.is_dir() {
        return Ok(Carried::default());
    }
    if after.exists() {
        let is_same = folders::is_same(&before, &after).map_err(CommandError::from)?;
        // What is known there has files of its own.
        if is_same || !outcome.is_new() {
            return Ok(Carried::default());
        }
        let reason = format!("{} is there with other files; move it away", after.display());
        return Err(Stop { outcome: Outcome::Refused, reason });
    }
    let folder = executions(to);
    make_self_ignoring(&folder).map_err(|error| CommandError::failed(error.to_string()))?;
    Ok(folders::copy(&before, &after)?)
}

fn is_same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(one) == real(other)
}

/// What is to become of a run.
struct CarryPlan {
    /// What is there of it.
    taken: Outcome,
    /// Whether it goes on from the target and no longer from the source.
    moves: bool,
    /// What is to be said about it.
    remark: Option<String>,
}

impl CarryPlan {
    const fn outcome(&self) -> Outcome {
        if self.moves { Outcome::Moved } else { self.taken }
    }
}

/// What became of the runs of a family. If one of them is left, all are.
fn together(
    members: &[Candidate],
    plans: Vec<Result<CarryPlan, Stop>>,
    files: Vec<Carried>,
) -> Vec<Copied> {
    let left = members.iter().zip(&plans).find_map(|(candidate, plan)| {
        let stop = plan.as_ref().err()?;
        Some(format!("it is moved together with {} only: {}", candidate.run_id, stop.reason))
    });
    let files = files.into_iter().chain(std::iter::repeat(Carried::default()));
    let all = members.iter().zip(plans).zip(files);
    let copied = all.map(|((candidate, plan), files)| {
        let result = match (plan, &left) {
            (Ok(_), Some(reason)) => {
                Err(Stop { outcome: Outcome::Skipped, reason: reason.clone() })
            }
            (plan, _) => plan.map(|plan| (plan.outcome(), plan.remark)),
        };
        Copied::new(candidate, result, files)
    });
    copied.collect()
}

/// Why a run was left.
#[derive(Debug, Clone)]
struct Stop {
    outcome: Outcome,
    reason: String,
}

impl From<TransferError> for Stop {
    fn from(error: TransferError) -> Self {
        let outcome = match error {
            TransferError::Different { .. }
            | TransferError::NameTaken { .. }
            | TransferError::Busy { .. } => Outcome::Refused,
            TransferError::NotFound { .. }
            | TransferError::Damaged { .. }
            | TransferError::Backend(_) => Outcome::Failed,
        };
        Self { outcome, reason: error.to_string() }
    }
}

impl From<UnreadableNote> for Stop {
    fn from(note: UnreadableNote) -> Self {
        Self { outcome: Outcome::Refused, reason: note.to_string() }
    }
}

impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        CommandError::from(error).into()
    }
}

impl From<CommandError> for Stop {
    fn from(error: CommandError) -> Self {
        Self { outcome: Outcome::Failed, reason: error.message }
    }
}
