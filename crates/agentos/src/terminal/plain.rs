//! What changed between two looks at a run, as lines for logs and pipes: each change once, oldest first.
//!
//! A step that began and ended between two looks is told as if both had been seen, so the output does not depend on how
//! often somebody looked. What runs have said meanwhile is told among it.

mod room;

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::projection::{StepStatus, WaitKind, Waiting, WorkflowStatus};
use agentos_store::records::{RunRecord, StepRecord};
use jiff::tz::TimeZone;

use super::note::notes;
use super::text::{brief, harmless};
use super::title::{changed, question, skip_reason};
use super::{FamilyView, duration, moment};
use crate::lines::Said;
use room::RoomWaits;

/// How many log lines wait for the next look at what else has happened; beyond that some are left out. The file has them.
const HEARD: usize = 10_000;

/// What was told, and what is to be told.
#[derive(Default)]
pub(crate) struct PlainLines {
    before: Option<Box<FamilyView>>,
    /// What runs have said since.
    heard: Vec<Said>,
    room: RoomWaits,
}

impl PlainLines {
    /// What is known of already is not told as news.
    pub(crate) fn knows(&mut self, view: FamilyView) {
        self.room.news(&view, view.run.run.updated_at);
        self.before = Some(Box::new(view));
    }

    /// Takes in a log line, unless too many are waiting to be told.
    pub(crate) fn hear(&mut self, said: &Said) {
        if self.heard.len() < HEARD {
            self.heard.push(said.clone());
        }
    }

    /// The lines for all that is new.
    pub(crate) fn changes(
        &mut self,
        view: FamilyView,
        (now, zone): (Timestamp, &TimeZone),
    ) -> Vec<String> {
        let news = self.room.news(&view, now);
        let lines = changes(self.before.as_deref(), &view, (news, &self.heard), zone);
        self.heard.clear();
        self.before = Some(Box::new(view));
        lines
    }
}

/// `12:03:05 implement-abcdef  step 3 implement: started (attempt 2/3)`, for all that is new since `before`.
fn changes(
    before: Option<&FamilyView>,
    after: &FamilyView,
    (mut news, said): (Vec<News>, &[Said]),
    zone: &TimeZone,
) -> Vec<String> {
    family(before, after, &mut news);
    // Stable: what happened at one moment stays in the order in which it was found.
    news.sort_by_key(|news| news.at);
    for line in said {
        put_in(&mut news, line, after);
    }
    news.iter().map(|news| news.line(zone)).collect()
}

/// Something that happened.
struct News {
    at: Timestamp,
    run: String,
    what: String,
    /// Whether it is the end of the run.
    is_end: bool,
}

impl News {
    fn of(run: &RunRecord, at: Timestamp, what: impl Into<String>) -> Self {
        Self { at, run: run.run_id.clone(), what: what.into(), is_end: false }
    }

    fn of_step(run: &RunRecord, step: &StepRecord, at: Timestamp, what: &str) -> Self {
        Self::of(run, at, format!("step {} {}: {what}", step.step_number, step.name))
    }

    fn line(&self, zone: &TimeZone) -> String {
        format!(
            "{} {}  {}",
            moment::clock(self.at, zone),
            harmless(&self.run),
            harmless(&self.what)
        )
    }
}

/// Puts a line where it belongs: after what happened by then, but not after the end of whoever said it.
fn put_in(news: &mut Vec<News>, line: &Said, view: &FamilyView) {
    let run = name_of(view, line.run).map_or_else(|| line.run.to_string(), str::to_owned);
    let level = format!("{:?}", line.level).to_lowercase();
    let by_then = news.partition_point(|news| news.at <= line.at);
    let end = news[..by_then].iter().position(|news| news.is_end && news.run == run);
    let what = format!("{level}: {}", line.message);
    news.insert(end.unwrap_or(by_then), News { at: line.at, run, what, is_end: false });
}

fn name_of(view: &FamilyView, run: RunId) -> Option<&str> {
    if view.run.run.id == run {
        return Some(&view.run.run.run_id);
    }
    view.children.iter().find_map(|child| name_of(child, run))
}

fn family(before: Option<&FamilyView>, after: &FamilyView, news: &mut Vec<News>) {
    let run = &after.run.run;
    let earlier = before.map(|before| &before.run.run);
    began(earlier, run, news);
    for step in &after.run.steps {
        let known = before.map_or(&[][..], |before| &before.run.steps);
        let at = known.binary_search_by_key(&step.step_number, |step| step.step_number);
        step_news(at.ok().map(|at| &known[at]), step, run, news);
    }
    let is_known =
        |id| before.is_some_and(|before| before.run.comments.iter().any(|one| one.id == id));
    for note in notes(&after.run).filter(|note| !is_known(note.id)) {
        news.push(News::of(run, note.created_at, format!("note: {}", note.message)));
    }
    waits(earlier, after, news);
    for child in &after.children {
        let known = before.map_or(&[][..], |before| &before.children);
        family(known.iter().find(|known| known.run.run.id == child.run.run.id), child, news);
    }
    ended(earlier, run, news);
}

fn began(before: Option<&RunRecord>, run: &RunRecord, news: &mut Vec<News>) {
    if let Some(at) = run.started_at
        && before.is_none_or(|before| before.started_at.is_none())
    {
        news.push(News::of(run, at, "started"));
    }
    match (before.is_some_and(|before| before.interrupted), run.interrupted) {
        (false, true) => {
            let what = "interrupted; it continues with `agentos resume`";
            news.push(News::of(run, run.updated_at, what));
        }
        (true, false) => news.push(News::of(run, run.updated_at, "resumed")),
        _ => {}
    }
}

fn ended(before: Option<&RunRecord>, run: &RunRecord, news: &mut Vec<News>) {
    let is_new = before.is_none_or(|before| before.status != run.status);
    let verb = match run.status {
        WorkflowStatus::Pending | WorkflowStatus::Running => return,
        WorkflowStatus::Completed => "completed in",
        WorkflowStatus::Failed => "failed after",
        WorkflowStatus::Cancelled => "cancelled after",
        WorkflowStatus::TimedOut => "timed out after",
    };
    if is_new {
        let what = format!(
            "{verb} {}{}",
            duration::span(run.duration.unwrap_or(0)),
            because(run.error.as_ref())
        );
        let at = run.completed_at.unwrap_or(run.updated_at);
        news.push(News { is_end: true, ..News::of(run, at, what) });
    }
}

fn step_news(
    before: Option<&StepRecord>,
    step: &StepRecord,
    run: &RunRecord,
    news: &mut Vec<News>,
) {
    let began = |step: &StepRecord| (step.started_at, step.attempt_number);
    let is_new_attempt = before.is_none_or(|before| began(before) != began(step));
    if !is_new_attempt && before.is_some_and(|before| before.status == step.status) {
        return;
    }
    if let Some(started_at) = step.started_at
        && is_new_attempt
    {
        let attempt = match step.attempt_number {
            1 => String::new(),
            number => format!(" (attempt {number}/{})", step.max_attempts),
        };
        // Of later attempts only their latest change is known.
        let at = if step.attempt_number == 1 { started_at } else { step.updated_at };
        news.push(News::of_step(run, step, at, &format!("started{attempt}")));
    }
    if let Some(what) = outcome(step, run.waiting.as_ref()) {
        let at = step.completed_at.unwrap_or(step.updated_at);
        news.push(News::of_step(run, step, at, &what));
    }
}

/// How the step, or its latest attempt, ended.
fn outcome(step: &StepRecord, waiting: Option<&Waiting>) -> Option<String> {
    let why = because(step.error.as_ref());
    let took = || duration::span(step.duration.unwrap_or(0));
    match step.status {
        StepStatus::Pending | StepStatus::Running => None,
        StepStatus::Completed => Some(format!("completed in {}", took())),
        StepStatus::Failed => Some(format!("failed after {}{why}", took())),
        StepStatus::Skipped => {
            let reason = skip_reason(step).map(|reason| format!(": {reason}"));
            Some(format!("skipped{}", reason.unwrap_or_default()))
        }
        StepStatus::Cancelled => Some("cancelled".to_owned()),
        StepStatus::Retrying => {
            let until = waiting
                .filter(|waiting| waiting.since == step.updated_at)
                .and_then(|waiting| waiting.until);
            let next = until.map_or_else(
                || "another attempt follows".to_owned(),
                |until| {
                    format!("next attempt in {}", duration::coarse(until.0 - step.updated_at.0))
                },
            );
            Some(format!("failed{why}; {next}"))
        }
    }
}

/// What the run waits for from now on. The next attempt at a step was told with the step.
fn waits(before: Option<&RunRecord>, after: &FamilyView, news: &mut Vec<News>) {
    let run = &after.run.run;
    let told = |waiting: &&Waiting| match waiting.kind {
        // See `room`.
        WaitKind::Disk | WaitKind::Retry => false,
        _ => true,
    };
    let Some(waiting) = run.waiting.as_ref().filter(told) else {
        return;
    };
    if before.is_some_and(|before| {
        before
            .waiting
            .as_ref()
            .is_some_and(|known| (known.kind, known.since) == (waiting.kind, waiting.since))
    }) {
        return;
    }
    let asked = run.current_step.as_ref().and_then(question);
    let left = waiting.until.map(|until| duration::coarse(until.0 - waiting.since.0));
    let what = match (waiting.kind, asked) {
        (WaitKind::Approval, Some(question)) => {
            let changes = run.current_step.as_ref().and_then(changed);
            let changes = changes.map(|changes| format!(" [{changes}]")).unwrap_or_default();
            format!("waits for approval: {question}{changes}")
        }
        (WaitKind::Approval, None) => format!(
            "waits for approval: `agentos approve --show {0}` tells of what, `agentos approve {0}` gives it",
            run.run_id
        ),
        (WaitKind::Signal, _) => "waits for a signal".to_owned(),
        (WaitKind::Child, _) => "waits for another run".to_owned(),
        (WaitKind::Slot, _) => {
            let why = waiting.why.as_ref().map(|why| format!(": {}", harmless(why)));
            format!("waits for a slot{}", why.unwrap_or_default())
        }
        (WaitKind::Disk | WaitKind::Retry, _) => return,
        (WaitKind::Timer, _) => "sleeps".to_owned(),
    };
    let most = match (waiting.kind, left) {
        (_, None) | (WaitKind::Slot, _) => String::new(),
        (WaitKind::Timer, Some(left)) => format!(" for {left}"),
        (_, Some(left)) => format!(" (for {left} at most)"),
    };
    news.push(News::of(run, waiting.since, what + &most));
}

fn because(error: Option<&serde_json::Value>) -> String {
    let message = error.and_then(|error| error.get("message")?.as_str());
    message.map(|message| format!(": {}", brief(message))).unwrap_or_default()
}

#[cfg(test)]
mod tests;
