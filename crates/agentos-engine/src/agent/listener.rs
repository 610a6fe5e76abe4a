//! Listens to one session: what the agent writes becomes events, files, lines of the step's log, and news for whoever
//! watches.

use agentos_agent::agent::Translator;
use agentos_agent::event::AgentEvent;
use agentos_agent::lines::Lines;
use agentos_agent::transcript::paragraph;
use agentos_agent::verdict::Verdict;
use agentos_process::exit::Exit;
use agentos_process::frame::{Frame, Stream};
use serde_json::json;

use super::budget::{Spent, cost};
use super::conduct::Conduct;
use super::files::Files;
use crate::clock::{Clock as _, SystemClock};

/// No more than one piece of progress in so many milliseconds.
const PROGRESS_MS: u64 = 100;

/// How much of what the agent says whoever watches is shown, in bytes.
const SHOWN: usize = 2 * 1024;

/// How much of what an agent complains of is kept, in bytes.
const COMPLAINTS: usize = 16 << 10;

/// What was heard in all rounds of a try.
pub(super) struct Listener<'a> {
    conduct: &'a Conduct,
    files: Files,
    /// How much of the step's log was written by somebody before.
    kept: u64,
    /// How much of it there is in all.
    position: u64,
    /// What earlier rounds have used.
    pub(super) spent: Spent,
    saying: String,
    is_whole: bool,
    tool: Option<String>,
    tool_calls: u64,
    retries: u64,
    /// When the latest output was written.
    at_ms: u64,
    told_ms: u64,
    is_untold: bool,
    session_id: Option<String>,
    model: Option<String>,
}

/// What is heard in one round.
pub(super) struct Round {
    translator: Box<dyn Translator>,
    stdout: Lines,
    stderr: Lines,
    complaints: String,
    /// What this round has used so far.
    now: Spent,
    /// How it used more than it may, before it said that it was done.
    pub(super) excess: Option<String>,
}

impl Round {
    pub(super) fn new(translator: Box<dyn Translator>) -> Self {
        Self {
            translator,
            stdout: Lines::default(),
            stderr: Lines::default(),
            complaints: String::new(),
            now: Spent::default(),
            excess: None,
        }
    }
}

impl<'a> Listener<'a> {
    pub(super) fn new(conduct: &'a Conduct) -> Self {
        Self {
            conduct,
            files: Files::create(&conduct.whose),
            kept: conduct.settings.output.kept(&conduct.whose),
            position: 0,
            spent: Spent::default(),
            saying: String::new(),
            is_whole: true,
            tool: None,
            tool_calls: 0,
            retries: 0,
            at_ms: SystemClock.now().0.unsigned_abs(),
            told_ms: 0,
            is_untold: false,
            session_id: None,
            model: None,
        }
    }

    /// A piece of output.
    pub(super) fn output(&mut self, round: &mut Round, frame: &Frame) {
        self.at_ms = frame.at_ms;
        let Round { translator, stdout, stderr, .. } = round;
        let mut heard = Vec::new();
        match frame.stream {
            Stream::Stdout => {
                self.files.raw(&frame.bytes);
                stdout.feed(&frame.bytes, |line| heard.push(translator.feed(line)));
            }
            Stream::Stderr => {
                let mut complaints = Vec::new();
                stderr.feed(&frame.bytes, |line| complaints.push(format!("{line}\n")));
                for line in complaints {
                    self.complain(round, &line);
                }
                return;
            }
        }
        for events in heard {
            self.events(round, events);
        }
    }

    /// Output that is missing.
    pub(super) fn gap(&mut self, round: &mut Round) {
        round.stdout.gap();
        round.stderr.gap();
    }

    /// Nothing comes for a while: whoever watches hears the last word.
    pub(super) fn quiet(&mut self) {
        if self.is_untold {
            self.tell();
        }
    }

    /// The round is over.
    pub(super) fn finish(&mut self, round: &mut Round, exit: &Exit) -> Verdict {
        let Round { translator, stdout, stderr, .. } = round;
        let (mut heard, mut complaints) = (Vec::new(), Vec::new());
        stdout.finish(|line| heard.push(translator.feed(line)));
        stderr.finish(|line| complaints.push(format!("{line}\n")));
        for line in complaints {
            self.complain(round, &line);
        }
        for events in heard {
            self.events(round, events);
        }
        let verdict = round.translator.finish(exit, &round.complaints);
        let model = verdict.model.as_deref().or(self.conduct.model());
        let cost = cost(&self.conduct.settings.prices, verdict.cost_usd, model, &verdict.usage);
        self.spent = self.spent.with(verdict.usage, cost);
        self.files.finish();
        self.tell();
        verdict
    }

    /// Words of ours, between two rounds.
    pub(super) fn say(&mut self, text: &str) {
        self.line(&format!("{text}\n"), Stream::Stdout);
    }

    fn complain(&mut self, round: &mut Round, line: &str) {
        if round.complaints.len() < COMPLAINTS {
            round.complaints.push_str(line);
        }
        self.line(line, Stream::Stderr);
    }

    fn events(&mut self, round: &mut Round, events: Vec<AgentEvent>) {
        let is_last = events.iter().any(|event| matches!(event, AgentEvent::Finished { .. }));
        for event in events {
            if let Some(text) = paragraph(&event) {
                self.line(&text, Stream::Stdout);
            }
            if let AgentEvent::Usage { usage, cost_usd } = &event {
                let model = self.model.as_deref().or(self.conduct.model());
                let cost = cost(&self.conduct.settings.prices, *cost_usd, model, usage);
                round.now = Spent::default().with(*usage, cost);
                let total = self.spent.with(*usage, cost);
                if !is_last && round.excess.is_none() {
                    round.excess = self.conduct.asked.budget.exceeded(&total);
                }
            }
            self.note(event);
        }
        self.is_untold = true;
        if self.at_ms >= self.told_ms + PROGRESS_MS {
            self.told_ms = self.at_ms;
            self.tell_of(&round.now);
        }
    }

    /// What is shown of an event to whoever watches.
    fn note(&mut self, event: AgentEvent) {
        match event {
            AgentEvent::SessionStarted { session_id, model } => {
                self.conduct.started(&session_id, model.as_deref());
                (self.session_id, self.model) = (Some(session_id), model);
            }
            AgentEvent::Text { text, partial } => {
                if self.is_whole || !partial {
                    self.saying.clear();
                }
                self.saying.push_str(&text);
                self.is_whole = !partial;
                let start = self.saying.len().saturating_sub(SHOWN);
                self.saying.drain(..self.saying.ceil_char_boundary(start));
            }
            AgentEvent::ToolCall { name, .. } => {
                self.tool_calls += 1;
                self.tool = Some(name);
            }
            AgentEvent::ToolResult { .. } => self.tool = None,
            AgentEvent::Retrying { .. } => self.retries += 1,
            AgentEvent::Thinking { .. }
            | AgentEvent::Usage { .. }
            | AgentEvent::Denied { .. }
            | AgentEvent::Finished { .. } => {}
        }
    }

    /// A line for the step's log and the transcript, unless it is there already.
    fn line(&mut self, text: &str, stream: Stream) {
        self.files.transcript(text);
        let end = self.position + text.len() as u64;
        if end > self.kept {
            let known = usize::try_from(self.kept.saturating_sub(self.position)).unwrap_or(0);
            let bytes = text.as_bytes()[known..].to_vec();
            let position = self.position.max(self.kept);
            let frame = Frame { at_ms: self.at_ms, stream, bytes };
            self.conduct.settings.output.write(&self.conduct.whose, position, &frame);
        }
        self.position = end;
    }

    fn tell(&mut self) {
        self.tell_of(&Spent::default());
    }

    fn tell_of(&mut self, now: &Spent) {
        // What somebody has told already is not news.
        if self.position < self.kept {
            return;
        }
        self.is_untold = false;
        let spent = self.spent.with(now.usage, now.cost_usd());
        self.conduct.ticket.progress(json!({
            "agent": self.conduct.member.name,
            "session_id": self.session_id,
            "model": self.model.as_deref().or(self.conduct.model()),
            "text": self.saying,
            "tool": self.tool,
            "tool_calls": self.tool_calls,
            "retries": self.retries,
            "input_tokens": spent.usage.input_tokens,
            "output_tokens": spent.usage.output_tokens,
            "cached_tokens": spent.usage.cached_tokens,
            "cost_usd": spent.cost_usd(),
        }));
    }
}
