//! A difference as it stands on the screen: a line for each file, then the text.

use agentos_workspace::version_control::{ChangedFile, Diff};

use crate::output::Output;
use crate::terminal::paint::Tone;
use crate::terminal::table::{Column, Table};
use crate::terminal::text::Line;

/// How many signs stand for all lines of the file that has changed most.
const BAR: u64 = 24;

/// A line for each file, and one for all of them.
pub(super) fn summary(output: &Output, diff: &Diff) -> Vec<String> {
    let (paint, width) = (output.paint, output.size.map(|size| size.width));
    let changes = |file: &ChangedFile| file.insertions + file.deletions;
    let most = diff.files.iter().map(changes).max().unwrap_or(0).max(1);
    let mut table = Table::new(&[
        Column::text("FILE"),
        Column::number("ADDED"),
        Column::number("REMOVED"),
        Column::text(""),
    ]);
    for file in &diff.files {
        let number = |count: u64, sign: char| match count {
            0 => String::new(),
            count => format!("{sign}{count}"),
        };
        let (added, removed, bar) = match file.binary {
            true => (Line::default(), Line::default(), Line::of(Tone::Faint, "binary")),
            false => (
                Line::of(Tone::Good, &number(file.insertions, '+')),
                Line::of(Tone::Bad, &number(file.deletions, '-')),
                bar(file, most),
            ),
        };
        table.row(vec![Line::of(Tone::Plain, &named(file)), added, removed, bar]);
    }
    let mut lines = table.lines(width, paint);
    let files = if diff.files_changed == 1 { "file" } else { "files" };
    let left_out = diff.files_changed.saturating_sub(diff.files.len());
    let more = if left_out > 0 { format!(", {left_out} not listed") } else { String::new() };
    let total = Line::of(Tone::Strong, &format!("{} {files}", diff.files_changed))
        .with(Tone::Good, &format!("  +{}", diff.insertions))
        .with(Tone::Bad, &format!("  -{}", diff.deletions))
        .with(Tone::Faint, &more);
    lines.push(total.painted(paint));
    lines
}

fn named(file: &ChangedFile) -> String {
    match &file.from {
        Some(from) => format!("{from} → {}", file.path),
        None => file.path.clone(),
    }
}

fn bar(file: &ChangedFile, most: u64) -> Line {
    let signs = |count: u64| match count {
        0 => 0,
        count => usize::try_from((count * BAR / most).max(1)).unwrap_or(1),
    };
    Line::of(Tone::Good, &"+".repeat(signs(file.insertions)))
        .with(Tone::Bad, &"-".repeat(signs(file.deletions)))
}

/// The text: in colours on a terminal, where nothing in it may do anything else; elsewhere as it is, so that it can be
/// applied.
pub(super) fn patch(output: &Output, diff: &Diff) -> Vec<String> {
    let Some(text) = diff.text.as_deref() else { return Vec::new() };
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    if output.size.is_none() {
        return lines.map(str::to_owned).collect();
    }
    lines.map(|line| Line::of(tone(line), line).painted(output.paint)).collect()
}

fn tone(line: &str) -> Tone {
    let is_head =
        ["diff ", "index ", "--- ", "+++ ", "new ", "deleted ", "rename ", "similarity ", "old "];
    match line.as_bytes().first() {
        _ if line.starts_with("diff ") => Tone::Strong,
        _ if is_head.iter().any(|begin| line.starts_with(begin)) => Tone::Faint,
        Some(b'+') => Tone::Good,
        Some(b'-') => Tone::Bad,
        Some(b'@') => Tone::Busy,
        _ => Tone::Plain,
    }
}
