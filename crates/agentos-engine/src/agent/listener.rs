//! Listens to one session: what the agent writes becomes events, files, lines of the step's log, and news for whoever
//! watches.

use agentos_agent::agent::Translator;
use agentos_agent::bounds::{ANSWER_BYTES, LINE_BYTES};
use agentos_agent::event::AgentEvent;
use agentos_agent::lines::{Line, Lines};
use agentos_agent::transcript::paragraph;
use agentos_agent::verdict::Verdict;
use agentos_process::exit::Exit;
use agentos_process::frame::{Frame, Stream};
use agentos_process::mask::Masker;
use agentos_process::secret::Secrets;
use serde_json::json;

use super::budget::{Spent, cost};
use super::conduct::Conduct;
use super::files::Files;
use crate::clock::{Clock as _, SystemClock};
use crate::room::{IsWanted, wait_for_room};

/// No more than one piece of progress in so many milliseconds.
const PROGRESS_MS: u64 = 100;

/// How much of what the agent says whoever watches is shown, in bytes.
const SHOWN: usize = 2 * 1024;

/// How much of the end of what an agent complains of is looked at, in bytes.
const COMPLAINTS: usize = 16 << 10;

/// How much of one line of complaints is kept, in bytes.
const COMPLAINT: usize = 4 << 10;

/// How much of what an agent complains of in one round is written into logs, in bytes.
const LOGGED_COMPLAINTS: usize = 64 << 10;

/// What was heard in all rounds of a try.
pub(super) struct Listener<'a> {
    conduct: &'a Conduct,
    /// Masked in whatever was read: a value may stand in an event in other letters, or in several events.
    pub(super) secrets: Secrets,
    files: Files<'a>,
    /// Whether what is heard is still wanted.
    is_wanted: IsWanted<'a>,
    /// How much of the step's log was written by somebody before.
    kept: u64,
    /// How much of it there is in all.
    position: u64,
    /// What earlier rounds and tries have used.
    pub(super) spent: Spent,
    saying: String,
    /// Masks what is said piece by piece.
    pieces: Masker,
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
    logged_complaints: usize,
    gaps: u64,
    /// Whether the agent has begun to work.
    pub(super) has_spoken: bool,
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
            logged_complaints: 0,
            gaps: 0,
            has_spoken: false,
            now: Spent::default(),
            excess: None,
        }
    }

    /// Whether the agent may have used more than it has told.
    const fn is_uncounted(&self, verdict: &Verdict) -> bool {
        self.has_spoken && !verdict.is_counted
    }
}

impl<'a> Listener<'a> {
    pub(super) fn new(conduct: &'a Conduct, secrets: Secrets, is_wanted: IsWanted<'a>) -> Self {
        Self {
            conduct,
            pieces: Masker::new(&secrets),
            secrets,
            files: Files::create(&conduct.whose, is_wanted),
            is_wanted,
            kept: conduct.settings.output.kept(&conduct.whose),
            position: 0,
            spent: conduct.carried(),
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
                let files = &mut self.files;
                stdout
                    .feed(&frame.bytes, |line| heard.push(read(files, translator.as_mut(), line)));
            }
            Stream::Stderr => {
                let mut complaints = Vec::new();
                stderr.feed(&frame.bytes, |line| complaints.push(complaint(line)));
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
        round.gaps += 1;
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
        let files = &mut self.files;
        stdout.finish(|line| heard.push(read(files, translator.as_mut(), line)));
        stderr.finish(|line| complaints.push(complaint(line)));
        for line in complaints {
            self.complain(round, &line);
        }
        for events in heard {
            self.events(round, events);
        }
        // What could not be read was said all the same.
        round.has_spoken |= round.stdout.cut() > 0;
        let mut verdict = round.translator.finish(exit, &round.complaints);
        verdict.text = self.secrets.masked(&verdict.text);
        if let Some(text) = &mut verdict.whole_text {
            *text = self.secrets.masked(text);
            let length = text.len();
            self.say(&match verdict.is_cut {
                false => format!(
                    "its answer has {length} bytes, of which the run gets {ANSWER_BYTES}; all of it is an artifact"
                ),
                true => format!(
                    "its answer is longer than what is kept: an artifact has {length} bytes of it, of which the run gets {ANSWER_BYTES}"
                ),
            });
        }
        self.files.keep_answer(verdict.whole_text.as_deref());
        for tool in &mut verdict.denied {
            *tool = self.secrets.masked(tool);
        }
        self.say_what_is_missing(round, &verdict);
        let model = verdict.model.as_deref().or(self.conduct.model());
        let cost = cost(&self.conduct.settings.prices, verdict.cost_usd, model, &verdict.usage);
        self.spent = self.spent.with(verdict.usage, cost);
        if round.is_uncounted(&verdict) {
            self.spent = self.spent.short();
        }
        self.files.finish();
        self.tell();
        verdict
    }

    /// Words of ours, between two rounds.
    pub(super) fn say(&mut self, text: &str) {
        self.line(&format!("{text}\n"), Stream::Stdout);
    }

    /// A stream with holes is not taken for a whole one silently.
    fn say_what_is_missing(&mut self, round: &Round, verdict: &Verdict) {
        let unread = verdict.unreadable_lines;
        if unread > 0 {
            self.say(&format!("{unread} lines of its output were no events and were passed over"));
        }
        let long = round.stdout.too_long();
        if long > 0 {
            self.say(&format!(
                "{long} lines of its output were longer than {LINE_BYTES} bytes and could not be kept whole"
            ));
        }
        if round.gaps > 0 {
            self.say("a part of its output is missing: it wrote more than is kept");
        }
    }

    /// The end of what it complains of is what counts; of a flood, the log has the beginning.
    fn complain(&mut self, round: &mut Round, line: &str) {
        let line = match line.floor_char_boundary(COMPLAINT) {
            end if end < line.len() => format!("{}…\n", &line[..end]),
            _ => line.to_owned(),
        };
        round.complaints.push_str(&line);
        let start = round.complaints.len().saturating_sub(COMPLAINTS);
        round.complaints.drain(..round.complaints.ceil_char_boundary(start));
        let logged = round.logged_complaints;
        round.logged_complaints += line.len();
        if round.logged_complaints <= LOGGED_COMPLAINTS {
            self.line(&line, Stream::Stderr);
        } else if logged <= LOGGED_COMPLAINTS {
            round.logged_complaints += LOGGED_COMPLAINTS;
            self.line("… the rest of what it complains of is not kept\n", Stream::Stderr);
        }
    }

    fn events(&mut self, round: &mut Round, events: Vec<AgentEvent>) {
        let is_last = events.iter().any(|event| matches!(event, AgentEvent::Finished { .. }));
        for event in events {
            round.has_spoken |=
                !matches!(event, AgentEvent::Usage { .. } | AgentEvent::Finished { .. });
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
        // The clock may have been set back.
        if self.at_ms.abs_diff(self.told_ms) >= PROGRESS_MS {
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
                    self.pieces = Masker::new(&self.secrets);
                }
                let mut seen = Vec::new();
                self.pieces.feed(text.as_bytes(), &mut seen);
                if !partial {
                    self.pieces.finish(&mut seen);
                }
                self.saying.push_str(&String::from_utf8_lossy(&seen));
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
        let text = &self.secrets.masked(text);
        self.files.transcript(text);
        let end = self.position + text.len() as u64;
        if end > self.kept {
            let known = usize::try_from(self.kept.saturating_sub(self.position)).unwrap_or(0);
            let bytes = text.as_bytes()[known..].to_vec();
            let position = self.position.max(self.kept);
            let frame = Frame { at_ms: self.at_ms, stream, bytes };
            let Conduct { settings, whose, .. } = self.conduct;
            let write = || settings.output.write(whose, position, &frame);
            if let Err(error) = wait_for_room(self.is_wanted, write) {
                tracing::warn!(run = %whose.run, %error, "what an agent said is not in the run's log");
            }
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
        let tokens = spent.tokens();
        self.conduct.ticket.progress(json!({
            "agent": self.conduct.member.name,
            "session_id": self.session_id,
            "model": self.model.as_deref().or(self.conduct.model()),
            "text": self.saying,
            "tool": self.tool,
            "tool_calls": self.tool_calls,
            "retries": self.retries,
            "input_tokens": tokens.map(|tokens| tokens.input_tokens),
            "output_tokens": tokens.map(|tokens| tokens.output_tokens),
            "cached_tokens": tokens.map(|tokens| tokens.cached_tokens),
            "cost_usd": spent.cost_usd(),
        }));
    }
}

/// One line of its output: kept, and what it says. Pieces of what is said whole elsewhere are not kept, for a key could stand
/// in two of them.
fn read(files: &mut Files<'_>, translator: &mut dyn Translator, line: Line<'_>) -> Vec<AgentEvent> {
    let line = match line {
        Line::Whole(line) => line,
        Line::Cut(beginning, loss) => return translator.feed_cut(beginning, loss),
    };
    if !translator.is_piece(line) {
        files.raw(line.as_bytes());
        files.raw(b"\n");
    }
    translator.feed(line)
}

/// A line that it complains with.
fn complaint(line: Line<'_>) -> String {
    match line {
        Line::Whole(line) => format!("{line}\n"),
        Line::Cut(beginning, _) => format!("{beginning}…\n"),
    }
}
