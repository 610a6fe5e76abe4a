//! What happens, in words and columns.

use std::io::{self, Write};

use agentos_core::codec::Chunk;
use agentos_core::effect::Effect;
use agentos_core::entry::{Entry, Record, RunOutcome, StepOutcome};
use agentos_core::id::{Attempt, Seq};
use agentos_core::name::Name;
use agentos_core::operation::OperationKind;
use agentos_core::path::{OperationId, ScopePath, StepPath};
use agentos_core::value::Value;

use super::machine::{Machine, Performed};
use super::paint::{Paint, Tone};
use super::process::Life;
use super::workflow;

/// How many entries of the log are shown before and after those of the last commit before the kill.
const AROUND: usize = 2;
/// No line is longer.
const WIDTH: usize = 80;
/// Where the text of a line begins, after its time.
const INDENT: usize = 9;

/// Tells what happens, as it happens.
pub(super) struct Narrator<'a> {
    out: &'a mut dyn Write,
    paint: Paint,
}

impl<'a> Narrator<'a> {
    pub(super) fn new(out: &'a mut dyn Write, paint: Paint) -> Self {
        Self { out, paint }
    }

    pub(super) fn introduce(&mut self) -> io::Result<()> {
        writeln!(self.out, "One run, executed twice: in peace, then killed and recovered.")?;
        let simulated = "Clock, commands and store are simulated; the core that decides is real.";
        writeln!(self.out, "{}", self.paint.paint(Tone::Quiet, simulated))?;
        writeln!(self.out, "{}", self.paint.paint(Tone::Quiet, workflow::TOLD))
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        writeln!(self.out, "\n{}", self.paint.paint(Tone::Strong, text))
    }

    fn line(
        &mut self,
        at: &str,
        who: &str,
        (tone, status): (Tone, &str),
        more: &str,
    ) -> io::Result<()> {
        let at = self.paint.paint(Tone::Quiet, &format!("{at:>5}"));
        let status = format!("{status:<9}");
        let status =
            self.paint.paint(tone, if more.is_empty() { status.trim_end() } else { &status });
        let gap = if more.is_empty() { "" } else { "  " };
        writeln!(self.out, "  {at}  {who:<12}  {status}{gap}{more}")
    }

    /// Entries are in the log.
    pub(super) fn committed(&mut self, chunk: &Chunk) -> io::Result<()> {
        let at = clock(chunk.at.0);
        for entry in &chunk.entries {
            match entry {
                Entry::AttemptFailed { scope, failure, retry_at } => {
                    let again = clock(retry_at.0);
                    let more = format!("{failure}; attempt {} at {again}", scope.attempt().next());
                    self.line(&at, &step_of(scope), (Tone::Bad, "failed"), &more)?;
                }
                Entry::StepEnded { step, outcome } => self.step_ended(&at, step, outcome)?,
                Entry::OperationOrdered { operation, .. }
                    if operation.kind() == Some(OperationKind::Wait) =>
                {
                    let more = format!("for the signal `{}`", command(operation));
                    self.line(&at, "approval", (Tone::Open, "waiting"), &more)?;
                }
                Entry::SignalArrived { payload, .. } => {
                    let more = format!("by {}", plain(payload));
                    self.line(&at, "approval", (Tone::Good, "given"), &more)?;
                }
                Entry::RunEnded { outcome } => self.run_ended(&at, outcome)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn step_ended(&mut self, at: &str, step: &StepPath, outcome: &StepOutcome) -> io::Result<()> {
        let name = step.name().map_or_else(String::new, |name| name.to_string());
        match outcome {
            StepOutcome::Completed { output } => {
                self.line(at, &name, (Tone::Good, "completed"), plain(output))
            }
            StepOutcome::Failed { failure } => {
                self.line(at, &name, (Tone::Bad, "failed"), &failure.message)
            }
            _ => self.line(at, &name, (Tone::Bad, "ended"), ""),
        }
    }

    fn run_ended(&mut self, at: &str, outcome: &RunOutcome) -> io::Result<()> {
        match outcome {
            RunOutcome::Completed { .. } => self.line(at, "run", (Tone::Good, "completed"), ""),
            _ => self.line(at, "run", (Tone::Bad, "failed"), ""),
        }
    }

    /// An effect is performed, after its commit.
    pub(super) fn performs(
        &mut self,
        now: i64,
        effect: &Effect,
        performed: Performed,
    ) -> io::Result<()> {
        let operation = effect.operation();
        let found = if performed == Performed::Found { ", found running" } else { "" };
        let more = format!("{}{found}", told(operation));
        self.line(&clock(now), &step_of(&operation.scope()), (Tone::Open, "running"), &more)
    }

    /// The process is gone.
    pub(super) fn killed(&mut self, machine: &Machine, life: &Life) -> io::Result<()> {
        let kept = format!("{} entries are in the log", life.head);
        self.line(&clock(machine.now), "process", (Tone::Bad, "killed"), &kept)?;
        let not_begun: Vec<String> =
            life.not_begun.iter().map(|effect| told(effect.operation())).collect();
        self.list("not begun", &not_begun)
    }

    /// Another one has read the log.
    pub(super) fn recovered(&mut self, machine: &Machine) -> io::Result<()> {
        let more = "executed again from the top, against the log";
        self.line(&clock(machine.now), "process", (Tone::Strong, "recovered"), more)?;
        let answered: Vec<String> = machine
            .log()
            .iter()
            .filter_map(|record| match &record.entry {
                Entry::OperationEnded { operation, .. } => Some(told(operation)),
                _ => None,
            })
            .collect();
        self.list("not repeated", &answered)
    }

    fn list(&mut self, title: &str, items: &[String]) -> io::Result<()> {
        let items = if items.is_empty() { "nothing".to_owned() } else { items.join(", ") };
        let mut left = WIDTH - INDENT - title.len() - 1;
        write!(self.out, "{:INDENT$}{}", "", self.paint.paint(Tone::Quiet, &format!("{title}:")))?;
        for word in items.split(' ') {
            if word.len() + 1 > left {
                write!(self.out, "\n{:INDENT$}{:width$}", "", "", width = title.len() + 1)?;
                left = WIDTH - INDENT - title.len() - 1;
            }
            write!(self.out, " {word}")?;
            left -= word.len() + 1;
        }
        writeln!(self.out)
    }

    /// The log around the place where the process was killed.
    pub(super) fn show_log(&mut self, log: &[Record], killed: &Life) -> io::Result<()> {
        let (begin, end) = (position(killed.last_commit), position(killed.head));
        let (from, to) = (begin.saturating_sub(AROUND), (end + AROUND).min(log.len()));
        let title = format!("The log, entries {from} to {} of {}", to - 1, log.len());
        self.heading(&title)?;
        let header = format!("  {:>3}  {:>5}  {:<18}  what", "pos", "time", "entry");
        writeln!(self.out, "{}", self.paint.paint(Tone::Quiet, &header))?;
        for (index, record) in log.iter().enumerate().take(to).skip(from) {
            let Record { seq, at, entry, .. } = record;
            let (at, kind) = (clock(at.0), entry.kind());
            writeln!(self.out, "  {seq:>3}  {at}  {kind:<18}  {}", what(entry))?;
            if index + 1 == end {
                writeln!(self.out, "{}", self.paint.paint(Tone::Bad, "       killed here"))?;
            }
        }
        Ok(())
    }

    /// Whether it made a difference.
    pub(super) fn close(
        &mut self,
        expected: &[Record],
        found: &[Record],
        machine: &Machine,
    ) -> io::Result<()> {
        let commands = machine.commands().count();
        let repeated: Vec<String> = machine
            .commands()
            .filter(|command| command.starts != 1)
            .map(|command| told(&command.operation))
            .collect();
        let (tone, text) = if repeated.is_empty() {
            (Tone::Good, format!("Each of the {commands} commands was started once."))
        } else {
            (Tone::Bad, format!("Started more than once: {}.", repeated.join(", ")))
        };
        writeln!(self.out, "\n{}", self.paint.paint(tone, &text))?;
        let differs = expected.iter().zip(found).position(|(expected, found)| expected != found);
        let (tone, text) = match differs {
            None if expected.len() == found.len() => {
                let entries = found.len();
                let text = format!("Both logs are equal: {entries} entries, times included.");
                (Tone::Good, text)
            }
            None => (Tone::Bad, "The logs differ in length.".to_owned()),
            Some(place) => (Tone::Bad, format!("The logs differ at position {place}.")),
        };
        writeln!(self.out, "{}", self.paint.paint(tone, &text))
    }
}

/// Minutes and seconds.
fn clock(ms: i64) -> String {
    format!("{:02}:{:02}", ms / 60_000, ms / 1_000 % 60)
}

fn position(seq: Seq) -> usize {
    usize::try_from(seq.0).unwrap_or(usize::MAX)
}

fn step_of(scope: &ScopePath) -> String {
    let name = scope.owner().and_then(|step| step.name());
    name.map_or_else(|| "run".to_owned(), |name| name.to_string())
}

fn command(operation: &OperationId) -> String {
    operation.name().as_ref().map_or("", Name::as_str).to_owned()
}

/// A command, with its attempt if that is not the first.
fn told(operation: &OperationId) -> String {
    match operation.scope().attempt() {
        Attempt::FIRST => command(operation),
        attempt => format!("{} (attempt {attempt})", command(operation)),
    }
}

fn plain(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// What an entry is about, and what came of it: read from the spelling that the log has.
fn what(entry: &Entry) -> String {
    let written = serde_json::to_value(entry).unwrap_or_default();
    let about = ["operation", "step", "scope", "name", "workflow"].iter();
    let about = about.map(|field| plain(&written[*field])).find(|text| !text.is_empty());
    let result = ["result", "outcome"].iter().map(|field| plain(&written[*field]["status"]));
    let result = result.filter(|status| !status.is_empty());
    about.into_iter().chain(result).collect::<Vec<_>>().join("  ")
}
