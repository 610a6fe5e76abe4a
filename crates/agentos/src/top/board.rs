//! What is on the board, and what the person who looks at it is doing.

use agentos_core::id::RunId;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::RunDetail;
use agentos_store::unified::UnifiedRun;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::terminal::paint::Tone;
use crate::terminal::question::Question;
use crate::terminal::text::Line;

/// How far a page leads.
const PAGE: isize = 10;

/// Longest filter, in characters.
const FILTER: usize = 100;

/// In which order runs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Order {
    /// Latest first.
    #[default]
    Started,
    /// What goes on first, then what went wrong.
    Status,
    /// By the name of the worktree.
    Worktree,
}

impl Order {
    const fn next(self) -> Self {
        match self {
            Self::Started => Self::Status,
            Self::Status => Self::Worktree,
            Self::Worktree => Self::Started,
        }
    }

    /// What it is called.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Started => "latest first",
            Self::Status => "by status",
            Self::Worktree => "by worktree",
        }
    }
}

/// What the person is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Mode {
    /// Looks around.
    #[default]
    Browse,
    /// Writes a filter.
    Filter,
    /// Reads the log of the selected run, from so many lines before its end.
    Log(usize),
    /// Is asked whether the selected run should be cancelled.
    Cancel,
    /// Reads a question of the selected run: the how-manieth.
    Answer(usize),
    /// Reads which keys there are.
    Help,
}

/// What the person wants to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Nothing.
    Nothing,
    /// To go.
    Quit,
    /// Another run is looked at: its details are needed.
    Look,
    /// This run is to end.
    Cancel(RunId),
    /// A question is answered.
    Answer {
        /// The run.
        run: RunId,
        /// The text of the question.
        question: String,
        /// Yes or no.
        is_approved: bool,
    },
}

/// Everything about the selected run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Detail {
    pub(crate) run: RunDetail,
    /// What it asks.
    pub(crate) questions: Vec<Question>,
    /// The end of its log.
    pub(crate) log: Vec<Line>,
}

/// The board.
#[derive(Debug, Default)]
pub(crate) struct Board {
    runs: Vec<UnifiedRun>,
    selected: Option<RunId>,
    pub(crate) total: u64,
    pub(crate) unreadable: usize,
    pub(crate) filter: String,
    pub(crate) order: Order,
    pub(crate) mode: Mode,
    pub(crate) detail: Option<Detail>,
    /// What happened to the last wish.
    pub(crate) message: Option<Line>,
}

impl Board {
    /// Puts these runs on it. Whatever was selected stays so, if it is still there.
    pub(crate) fn put(&mut self, runs: Vec<UnifiedRun>, total: u64, unreadable: usize) {
        (self.runs, self.total, self.unreadable) = (runs, total, unreadable);
        self.select_something();
    }

    /// All runs, whatever the filter says.
    pub(crate) fn all(&self) -> &[UnifiedRun] {
        &self.runs
    }

    /// The runs that are listed, in order.
    pub(crate) fn shown(&self) -> Vec<&UnifiedRun> {
        let mut shown: Vec<&UnifiedRun> =
            self.runs.iter().filter(|run| self.is_shown(run)).collect();
        match self.order {
            Order::Started => {}
            Order::Status => shown.sort_by_key(|run| rank(run)),
            Order::Worktree => shown.sort_by(|one, other| one.worktree.cmp(&other.worktree)),
        }
        shown
    }

    fn is_shown(&self, found: &UnifiedRun) -> bool {
        let wanted = self.filter.to_lowercase();
        let step =
            found.run.current_step.as_ref().map(|step| step.name.clone()).unwrap_or_default();
        let status = if found.run.interrupted { "INTERRUPTED" } else { found.run.status.as_str() };
        let text =
            format!("{} {} {status} {step}", found.run.run_id, found.worktree).to_lowercase();
        wanted.split_whitespace().all(|word| text.contains(word))
    }

    /// The run that is looked at.
    pub(crate) fn selected(&self) -> Option<&UnifiedRun> {
        self.runs.iter().find(|run| Some(run.run.id) == self.selected)
    }

    /// Where it stands in the list.
    pub(crate) fn position(&self) -> Option<usize> {
        self.shown().iter().position(|run| Some(run.run.id) == self.selected)
    }

    /// The details, if they are those of the run that is looked at.
    pub(crate) fn detail(&self) -> Option<&Detail> {
        self.detail.as_ref().filter(|detail| Some(detail.run.run.id) == self.selected)
    }

    fn select_something(&mut self) {
        if self.position().is_none() {
            self.selected = self.shown().first().map(|run| run.run.id);
        }
    }

    fn go(&mut self, by: isize) -> Wish {
        let shown = self.shown();
        let last = shown.len().saturating_sub(1);
        let at = self.position().unwrap_or(0).saturating_add_signed(by).min(last);
        self.selected = shown.get(at).map(|run| run.run.id);
        Wish::Look
    }

    /// Takes in a key.
    pub(crate) fn press(&mut self, key: KeyEvent) -> Wish {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        if is_control && matches!(key.code, KeyCode::Char('c' | 'd')) {
            return Wish::Quit;
        }
        if is_control {
            return self.press_control(key.code);
        }
        match self.mode {
            Mode::Browse => self.press_browsing(key.code),
            Mode::Filter => self.press_filtering(key.code),
            Mode::Log(back) => self.press_reading(key.code, back),
            Mode::Cancel => self.press_cancelling(key.code),
            Mode::Answer(number) => self.press_answering(key.code, number),
            Mode::Help => {
                self.mode = Mode::Browse;
                Wish::Nothing
            }
        }
    }

    /// What is typed with the control key is no letter. In a filter it erases, as in a shell.
    fn press_control(&mut self, key: KeyCode) -> Wish {
        match (self.mode, key) {
            (Mode::Filter, KeyCode::Char('u')) => self.filter.clear(),
            (Mode::Filter, KeyCode::Char('w')) => {
                let kept = self.filter.trim_end().rfind(' ').map_or(0, |at| at + 1);
                self.filter.truncate(kept);
            }
            (Mode::Filter, KeyCode::Char('h')) => {
                self.filter.pop();
            }
            _ => return Wish::Nothing,
        }
        self.select_something();
        Wish::Look
    }

    fn press_browsing(&mut self, key: KeyCode) -> Wish {
        self.message = None;
        match key {
            KeyCode::Char('q') => return Wish::Quit,
            KeyCode::Esc if self.filter.is_empty() => return Wish::Quit,
            KeyCode::Esc => self.filter.clear(),
            KeyCode::Up | KeyCode::Char('k') => return self.go(-1),
            KeyCode::Down | KeyCode::Char('j') => return self.go(1),
            KeyCode::PageUp => return self.go(-PAGE),
            KeyCode::PageDown => return self.go(PAGE),
            KeyCode::Home | KeyCode::Char('g') => return self.go(isize::MIN),
            KeyCode::End | KeyCode::Char('G') => return self.go(isize::MAX),
            KeyCode::Char('/') => {
                self.filter.clear();
                self.mode = Mode::Filter;
            }
            KeyCode::Char('s') => self.order = self.order.next(),
            KeyCode::Char('?' | 'h') => self.mode = Mode::Help,
            KeyCode::Enter | KeyCode::Char('l') if self.selected.is_some() => {
                self.mode = Mode::Log(0)
            }
            KeyCode::Char('c') => self.begin_to_cancel(),
            KeyCode::Char('a') => self.begin_to_answer(),
            _ => {}
        }
        self.select_something();
        Wish::Nothing
    }

    fn begin_to_cancel(&mut self) {
        match self.selected() {
            Some(run) if run.run.completed_at.is_some() => {
                self.message = Some(Line::of(Tone::Faint, "it has ended already"));
            }
            Some(_) => self.mode = Mode::Cancel,
            None => {}
        }
    }

    fn begin_to_answer(&mut self) {
        match self.detail() {
            Some(detail) if detail.questions.is_empty() => {
                self.message = Some(Line::of(Tone::Faint, "it asks nothing"));
            }
            Some(_) => self.mode = Mode::Answer(0),
            None => self.message = Some(Line::of(Tone::Faint, "it can't be read this moment")),
        }
    }

    fn press_filtering(&mut self, key: KeyCode) -> Wish {
        match key {
            KeyCode::Enter => self.mode = Mode::Browse,
            KeyCode::Esc => {
                self.filter.clear();
                self.mode = Mode::Browse;
            }
            KeyCode::Backspace => {
                self.filter.pop();
            }
            KeyCode::Char(letter) if self.filter.chars().count() < FILTER => {
                self.filter.push(letter)
            }
            _ => {}
        }
        self.select_something();
        Wish::Look
    }

    fn press_reading(&mut self, key: KeyCode, back: usize) -> Wish {
        let lines = self.detail().map_or(0, |detail| detail.log.len());
        let at = |back: usize| Mode::Log(back.min(lines.saturating_sub(1)));
        self.mode = match key {
            KeyCode::Char('q' | 'l') | KeyCode::Esc | KeyCode::Enter => Mode::Browse,
            KeyCode::Up | KeyCode::Char('k') => at(back + 1),
            KeyCode::Down | KeyCode::Char('j') => at(back.saturating_sub(1)),
            KeyCode::PageUp => at(back + PAGE.unsigned_abs()),
            KeyCode::PageDown => at(back.saturating_sub(PAGE.unsigned_abs())),
            KeyCode::Home | KeyCode::Char('g') => at(lines),
            KeyCode::End | KeyCode::Char('G') => at(0),
            _ => at(back),
        };
        Wish::Nothing
    }

    fn press_cancelling(&mut self, key: KeyCode) -> Wish {
        self.mode = Mode::Browse;
        match (key, self.selected) {
            (KeyCode::Char('y'), Some(run)) => Wish::Cancel(run),
            _ => Wish::Nothing,
        }
    }

    fn press_answering(&mut self, key: KeyCode, number: usize) -> Wish {
        let Some(detail) = self.detail() else {
            self.mode = Mode::Browse;
            return Wish::Nothing;
        };
        let (run, count) = (detail.run.run.id, detail.questions.len());
        let asked = detail.questions.get(number).map(|question| question.text.clone());
        match (key, asked) {
            (KeyCode::Char('y' | 'n'), Some(question)) => {
                self.mode = Mode::Browse;
                Wish::Answer { run, question, is_approved: key == KeyCode::Char('y') }
            }
            (KeyCode::Tab | KeyCode::Down | KeyCode::Char('j'), Some(_)) => {
                self.mode = Mode::Answer((number + 1) % count);
                Wish::Nothing
            }
            (KeyCode::Esc | KeyCode::Char('q'), _) | (_, None) => {
                self.mode = Mode::Browse;
                Wish::Nothing
            }
            _ => Wish::Nothing,
        }
    }
}

/// What needs somebody comes first.
fn rank(found: &UnifiedRun) -> u8 {
    let run = &found.run;
    match run.status {
        // It is over as far as this database is concerned.
        _ if run.elsewhere.is_some() => 6,
        _ if run.interrupted => 0,
        WorkflowStatus::Running if run.waiting.is_some() => 1,
        WorkflowStatus::Running => 2,
        WorkflowStatus::Pending => 3,
        WorkflowStatus::Failed | WorkflowStatus::TimedOut => 4,
        WorkflowStatus::Cancelled => 5,
        WorkflowStatus::Completed => 6,
    }
}
