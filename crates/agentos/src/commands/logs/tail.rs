//! The end of a run's log, for whoever has little room.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use agentos_core::turn::LogLevel;
use agentos_store::folder::Stream;
use agentos_store::records::RunDetail;

use super::log_file;
use super::shown::Written;
use crate::terminal::paint::Tone;
use crate::terminal::text::Line;

/// How much of the file is read, in bytes.
const END: u64 = 256 << 10;

/// The latest lines that can be understood. A log that can't be read has none.
pub(crate) fn latest(detail: &RunDetail, most: usize) -> Vec<Line> {
    let text = log_file(detail, None).ok().and_then(|path| load_end(&path)).unwrap_or_default();
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Written>(line).ok());
    let mut lines: Vec<Line> = lines.map(|written| shown(&written)).collect();
    lines.split_off(lines.len().saturating_sub(most))
}

/// The end of a file from a whole line on.
fn load_end(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END))).ok()?;
    let mut bytes = Vec::new();
    file.take(END).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    match length > END {
        true => text.split_once('\n').map(|(_, rest)| rest.to_owned()),
        false => Some(text),
    }
}

/// `12:03:05 message`
fn shown(written: &Written) -> Line {
    let Written { at, level, stream, msg, piece } = written;
    // `2026-11-15T12:03:05.123Z`
    let time = at.get(11..19).unwrap_or(at);
    let tone = match level {
        LogLevel::Trace | LogLevel::Debug => Tone::Faint,
        LogLevel::Info => Tone::Plain,
        LogLevel::Warn => Tone::Warning,
        LogLevel::Error | LogLevel::Fatal => Tone::Bad,
    };
    let sign = match (piece, stream) {
        (Some(_), Stream::Stderr) => "! ",
        (Some(_), _) => "| ",
        (None, _) => "",
    };
    let text = msg.trim_end();
    Line::of(Tone::Faint, &format!("{time} {sign}")).with(tone, text)
}
