//! Where words go: answers to standard output, everything else to standard error.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;

use crate::error::{CommandError, ErrorKind, Result};
use crate::terminal::Environment;
use crate::terminal::paint::{ColorChoice, Paint};
use crate::terminal::size::Size;

/// How a command speaks.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// For standard output.
    pub(crate) paint: Paint,
    /// Standard output's size, if it is a terminal.
    pub(crate) size: Option<Size>,
    /// For standard error.
    pub(crate) error_paint: Paint,
    /// Standard error's size, if it is a terminal.
    pub(crate) error_size: Option<Size>,
    /// Whether hardly anything but answers is written. Who wants to hear about our inside sees lines, and no picture that
    /// they would break.
    pub(crate) is_quiet: bool,
    /// What was said beside the answer, if it is not for standard error.
    notes: Option<Arc<Mutex<Vec<String>>>>,
}

/// How many notes are kept at most.
const NOTES: usize = 50;

impl Output {
    /// As the streams and the environment want it.
    pub(crate) fn new(color: ColorChoice, is_quiet: bool, environment: &Environment) -> Self {
        use std::io::IsTerminal as _;
        let (out, error) = (io::stdout(), io::stderr());
        let size = |is_terminal: bool, size: Size| is_terminal.then_some(size);
        Self {
            paint: Paint::decide(color, environment, out.is_terminal()),
            size: size(out.is_terminal(), Size::of(&out, environment)),
            error_paint: Paint::decide(color, environment, error.is_terminal()),
            error_size: size(error.is_terminal(), Size::of(&error, environment)),
            is_quiet,
            notes: None,
        }
    }

    /// The same, for somebody who does not read standard error: what is said beside the answer is kept.
    pub(crate) fn keeping_notes(self) -> Self {
        Self { notes: Some(Arc::default()), ..self }
    }

    /// What was said beside the answer, as far as it was kept.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let notes = self.notes.as_ref().map(|notes| {
            std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner))
        });
        notes.unwrap_or_default()
    }

    fn beside(&self, text: &str) {
        match &self.notes {
            None => say(text),
            Some(notes) => {
                let mut notes = notes.lock().unwrap_or_else(PoisonError::into_inner);
                if notes.len() < NOTES {
                    notes.push(text.to_owned());
                }
            }
        }
    }

    /// Writes lines to standard output.
    pub(crate) fn lines<L: AsRef<str>>(&self, lines: impl IntoIterator<Item = L>) -> Result<()> {
        let mut out = io::stdout().lock();
        for line in lines {
            writeln!(out, "{}", line.as_ref())?;
        }
        Ok(out.flush()?)
    }

    /// Writes text to standard output as it is.
    pub(crate) fn raw(&self, text: &str) -> Result<()> {
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes())?;
        Ok(out.flush()?)
    }

    /// Writes a document to standard output.
    pub(crate) fn document(&self, document: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string_pretty(document).map_err(|error| {
            CommandError::failed(format!("the document can't be written: {error}"))
        })?;
        self.lines([text])
    }

    /// Whether nobody reads standard output any more: it is a pipe whose other end is closed. Whoever writes finds that out
    /// by himself; whoever waits for something to write has to ask.
    pub(crate) fn is_unheard(&self) -> bool {
        let out = io::stdout();
        let mut asked = [PollFd::new(&out, PollFlags::empty())];
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut asked, Some(&at_once)).is_ok() && asked[0].revents().contains(PollFlags::ERR)
    }

    /// Says a line beside the answer, as it is.
    pub(crate) fn mention(&self, line: &str) {
        self.beside(line);
    }

    /// Says something beside the answer.
    pub(crate) fn note(&self, text: &str) {
        self.beside(&format!("note: {text}"));
    }
}

/// Says things beside an answer, and keeps them for a caller who does not hear them.
pub(crate) struct Notes<'a> {
    output: &'a Output,
    said: Vec<String>,
}

impl<'a> Notes<'a> {
    pub(crate) const fn new(output: &'a Output) -> Self {
        Self { output, said: Vec::new() }
    }

    /// Says something.
    pub(crate) fn note(&mut self, text: &str) {
        self.output.note(text);
        self.said.push(text.to_owned());
    }

    /// Everything that was said, in order.
    pub(crate) fn said(self) -> Vec<String> {
        self.said
    }
}

/// Tells of an error.
pub(crate) fn complain(error: &CommandError) {
    if error.kind != ErrorKind::PipeClosed {
        say(&error.to_string());
    }
}

fn say(text: &str) {
    // Who can't hear does not have to.
    let _unheard = writeln!(io::stderr(), "{text}");
}
