//! Lines of a log file as somebody reads them: what commands wrote in pieces is put together.

use std::collections::BTreeMap;

use agentos_core::turn::LogLevel;
use agentos_store::folder::{Piece, Stream};
use serde::Deserialize;

use crate::terminal::paint::{Paint, Tone};
use crate::terminal::text::{Line, harmless};

/// A line of a command that is longer than this is shown in parts, in bytes.
const LONGEST: usize = 64 << 10;

/// A line of the file, as far as it is shown.
#[derive(Deserialize)]
pub(super) struct Written {
    pub(super) at: String,
    pub(super) level: LogLevel,
    pub(super) stream: Stream,
    pub(super) msg: String,
    #[serde(flatten)]
    pub(super) piece: Option<Piece>,
}

/// Lines on their way to whoever reads them.
pub(super) struct Shown {
    /// Only lines that are at least so loud.
    level: LogLevel,
    /// Whether lines are shown as they are in the file.
    is_raw: bool,
    paint: Paint,
    /// Beginnings of lines that commands have not finished, and when those began.
    unfinished: BTreeMap<(String, Stream), (String, String)>,
}

impl Shown {
    pub(super) fn new(level: LogLevel, is_raw: bool, paint: Paint) -> Self {
        Self { level, is_raw, paint, unfinished: BTreeMap::new() }
    }

    /// A line as it is shown; one that can't be understood is shown as it is.
    pub(super) fn line(&mut self, line: &str) -> Option<String> {
        let Ok(Written { at, level, stream, msg, piece }) = serde_json::from_str(line) else {
            return Some(harmless(line).into_owned());
        };
        if level < self.level {
            return None;
        }
        if self.is_raw {
            return Some(line.to_owned());
        }
        let Some(Piece { command, goes_on, .. }) = piece else {
            return Some(painted(self.paint, &at, level, &msg));
        };
        let begun = self.unfinished.remove(&(command.clone(), stream));
        let (at, begun) = begun.unwrap_or((at, String::new()));
        let text = begun + &msg;
        if goes_on && text.len() < LONGEST {
            self.unfinished.insert((command, stream), (at, text));
            return None;
        }
        Some(self.output(&at, stream, &text))
    }

    /// Lines that no command will finish any more.
    pub(super) fn rest(&mut self) -> Vec<String> {
        let unfinished = std::mem::take(&mut self.unfinished);
        unfinished
            .into_iter()
            .map(|((_, stream), (at, text))| self.output(&at, stream, &text))
            .collect()
    }

    fn output(&self, at: &str, stream: Stream, text: &str) -> String {
        let sign = if stream == Stream::Stderr { "! " } else { "| " };
        let line = Line::of(Tone::Faint, at).with(Tone::Faint, &format!(" {sign}"));
        line.with(Tone::Plain, &harmless(text)).painted(self.paint)
    }
}

fn painted(paint: Paint, at: &str, level: LogLevel, message: &str) -> String {
    let (tone, word) = match level {
        LogLevel::Trace => (Tone::Faint, "trace"),
        LogLevel::Debug => (Tone::Faint, "debug"),
        LogLevel::Info => (Tone::Plain, "info"),
        LogLevel::Warn => (Tone::Warning, "warn"),
        LogLevel::Error => (Tone::Bad, "error"),
        LogLevel::Fatal => (Tone::Bad, "fatal"),
    };
    let line = Line::of(Tone::Faint, at).with(tone, &format!(" {word:<5} "));
    line.with(Tone::Plain, &harmless(message)).painted(paint)
}
