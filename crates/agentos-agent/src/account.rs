//! What a stream has told so far, and the one place that decides about success.

use agentos_process::exit::{Exit, Reason};

use crate::answer::Answer;
use crate::bounds::{ANSWER_BYTES, DENIALS, LINE_BYTES, MESSAGE_BYTES, cut};
use crate::classify::kind_of;
use crate::event::AgentEvent;
use crate::lines::Loss;
use crate::usage::Usage;
use crate::verdict::{Trouble, TroubleKind, Verdict};

/// What a stream has told so far.
#[derive(Debug, Default)]
pub(crate) struct Account {
    pub(crate) session_id: Option<String>,
    pub(crate) model: Option<String>,
    /// What was said last.
    answer: Answer,
    /// Why an event that came after that could not be read. It may have been the agent's last word.
    lost: Option<Loss>,
    pub(crate) usage: Usage,
    pub(crate) cost_usd: Option<f64>,
    /// Whether the agent has said what it used in all.
    pub(crate) is_counted: bool,
    pub(crate) unreadable: u64,
    denied: Vec<String>,
    /// What the stream says about its end. Once it speaks of trouble nothing takes that back.
    ending: Option<Result<(), Trouble>>,
}

impl Account {
    /// The agent has said who it is.
    pub(crate) fn started(&mut self, session_id: &str, model: Option<&str>) -> AgentEvent {
        self.session_id = Some(cut(session_id, 256));
        self.model = model.map(|model| cut(model, 256)).or(self.model.take());
        AgentEvent::SessionStarted {
            session_id: self.session_id.clone().unwrap_or_default(),
            model: self.model.clone(),
        }
    }

    /// The agent has said this; what it said before is not its last word.
    pub(crate) fn said(&mut self, text: &str) {
        self.said_in_pieces(text.into());
    }

    /// The same, where it came piece by piece.
    pub(crate) fn said_in_pieces(&mut self, answer: Answer) {
        self.answer = answer;
        self.lost = None;
    }

    /// An event could not be read. Unless the agent says something after it, what it said before may not be its last word.
    pub(crate) const fn lost(&mut self, loss: Loss) {
        self.lost = Some(loss);
    }

    /// A tool was not allowed.
    pub(crate) fn denied(&mut self, tool: &str, why: &str) -> AgentEvent {
        let tool = cut(tool, 256);
        if self.denied.len() < DENIALS && !self.denied.contains(&tool) {
            self.denied.push(tool.clone());
        }
        AgentEvent::Denied { tool, why: cut(why, MESSAGE_BYTES) }
    }

    /// The stream says how it ended.
    pub(crate) fn ended(&mut self, ending: Result<(), Trouble>) -> AgentEvent {
        let ending = ending.map_err(|trouble| Trouble {
            message: cut(trouble.message.trim(), MESSAGE_BYTES),
            ..trouble
        });
        let why = ending.as_ref().err().map(|trouble| trouble.message.clone());
        if !matches!(self.ending, Some(Err(_))) {
            self.ending = Some(ending);
        }
        AgentEvent::Finished { ok: why.is_none(), why }
    }

    /// Decides. `of_code` knows what the agent means by its exit statuses.
    pub(crate) fn verdict(
        &mut self,
        exit: &Exit,
        complaints: &str,
        of_code: impl Fn(i32) -> Option<TroubleKind>,
    ) -> Verdict {
        let trouble = match exit.reason {
            Reason::Exited => self.trouble_of_exit(exit, complaints, of_code),
            Reason::Timeout => {
                Some(Trouble::new(TroubleKind::Timeout, "it took longer than it may"))
            }
            Reason::Idle => {
                Some(Trouble::new(TroubleKind::Idle, "it said nothing for longer than it may"))
            }
            Reason::NotStarted => {
                let message = exit.message.clone().unwrap_or_else(|| "it can't be started".into());
                Some(Trouble::new(TroubleKind::NotStarted, message))
            }
            Reason::Stopped | Reason::Orphaned | Reason::Lost => {
                Some(Trouble::new(TroubleKind::Killed, "it was ended"))
            }
        };
        let Answer { text: said, is_cut, .. } = std::mem::take(&mut self.answer);
        let (text, whole_text) = match said.len() {
            0..=ANSWER_BYTES => (said, None),
            _ => (cut(&said, ANSWER_BYTES), Some(said)),
        };
        Verdict {
            trouble,
            text,
            whole_text,
            is_cut: is_cut || self.lost.is_some(),
            session_id: self.session_id.clone(),
            model: self.model.clone(),
            usage: self.usage,
            cost_usd: self.cost_usd,
            is_counted: self.is_counted,
            denied: self.denied.clone(),
            unreadable_lines: self.unreadable,
        }
    }

    fn trouble_of_exit(
        &self,
        exit: &Exit,
        complaints: &str,
        of_code: impl Fn(i32) -> Option<TroubleKind>,
    ) -> Option<Trouble> {
        let complaints = last_words(complaints);
        match (&self.ending, exit.exit_code) {
            (Some(Err(trouble)), _) => Some(trouble.clone()),
            (Some(Ok(())), Some(0)) if self.denied.is_empty() => {
                self.lost.map(|loss| Trouble::new(TroubleKind::Malformed, unread(loss)))
            }
            (Some(Ok(())), Some(0)) => {
                let message = format!("it was not allowed to use {}", self.denied.join(", "));
                Some(Trouble::new(TroubleKind::PermissionDenied, message))
            }
            (Some(Ok(())), _) => {
                let message = format!("it said that it was done and then {}", how(exit));
                Some(Trouble::new(TroubleKind::Exit, with(message, &complaints)))
            }
            (None, Some(0)) => {
                let message = "its stream ended before it said that it was done".to_owned();
                Some(Trouble::new(TroubleKind::Dropped, with(message, &complaints)))
            }
            (None, code) => {
                let kind = code.and_then(of_code).or_else(|| kind_of(&complaints));
                let kind = kind.unwrap_or(if exit.signal.is_some() {
                    TroubleKind::Killed
                } else {
                    TroubleKind::Exit
                });
                Some(Trouble::new(kind, with(format!("it {}", how(exit)), &complaints)))
            }
        }
    }
}

/// Why its last word is not known.
fn unread(loss: Loss) -> String {
    let what = match loss {
        Loss::TooLong => format!("a line of its output is longer than {LINE_BYTES} bytes"),
        Loss::Missing => "a part of its output is missing, it wrote more than is kept".to_owned(),
    };
    format!("{what}: its answer may have been there, and could not be read")
}

fn how(exit: &Exit) -> String {
    match (exit.exit_code, exit.signal) {
        (Some(code), _) => format!("exited with {code}"),
        (None, Some(signal)) => format!("was ended by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

fn with(message: String, complaints: &str) -> String {
    if complaints.is_empty() { message } else { format!("{message}: {complaints}") }
}

/// The end of what it complained of.
fn last_words(complaints: &str) -> String {
    let complaints = complaints.trim();
    let start = complaints.ceil_char_boundary(complaints.len().saturating_sub(MESSAGE_BYTES / 2));
    complaints[start..].to_owned()
}
