//! How the files stand.
//!
//! All of git's list is read, since it is counted; only as much of it as was asked for is answered.

use super::super::Result;
use super::super::answer::{ChangeKind, Status, StatusEntry, Unfinished};
use super::super::bounds::{LIST_BYTES, NAMES_BYTES};
use super::{GitRepository, text};

/// The files by which git knows what it has not finished.
const UNFINISHED: [(&str, Unfinished); 6] = [
    ("rebase-merge", Unfinished::Rebase),
    ("rebase-apply", Unfinished::Rebase),
    ("MERGE_HEAD", Unfinished::Merge),
    ("CHERRY_PICK_HEAD", Unfinished::CherryPick),
    ("REVERT_HEAD", Unfinished::Revert),
    ("BISECT_LOG", Unfinished::Bisect),
];

impl GitRepository {
    pub(super) fn look_at_files(&self, limit: usize) -> Result<Status> {
        let question = [
            "status",
            "--porcelain=v2",
            "--branch",
            "--ahead-behind",
            "--untracked-files=all",
            "-z",
        ];
        let answer = self.answer("status", &self.question(question).output_bytes(LIST_BYTES))?;
        let mut status = read(&answer.output, limit);
        status.operation = self.unfinished();
        Ok(status)
    }

    /// What was begun and is not over.
    pub(super) fn unfinished(&self) -> Option<Unfinished> {
        let found = UNFINISHED.iter().find(|(name, _)| self.git_dir.join(name).exists());
        found.map(|(_, unfinished)| *unfinished)
    }
}

/// Reads the second porcelain format.
fn read(output: &[u8], limit: usize) -> Status {
    let mut status = Status::default();
    let mut room = NAMES_BYTES;
    let mut parts = output.split(|byte| *byte == 0);
    while let Some(part) = parts.next() {
        if let Some(header) = part.strip_prefix(b"# ") {
            read_header(&mut status, &text(header));
            continue;
        }
        // A rename has its old name in a part of its own.
        let from = if part.starts_with(b"2 ") { parts.next() } else { None };
        let Some((code, path)) = changed(part) else { continue };
        count(&mut status, code);
        let entry = StatusEntry {
            path: text(path),
            from: from.map(text),
            code: code.iter().map(|letter| as_shown(*letter)).collect(),
            kind: kind_of(code, part[0]),
        };
        let size = entry.path.len() + entry.from.as_ref().map_or(0, String::len);
        if status.entries.len() < limit && size <= room {
            room -= size;
            status.entries.push(entry);
        }
    }
    status.truncated = status.entries.len() < status.total;
    status.clean = status.total == 0;
    status
}

fn read_header(status: &mut Status, header: &str) {
    let Some((name, value)) = header.split_once(' ') else { return };
    match name {
        "branch.oid" if value != "(initial)" => status.head = Some(value.to_owned()),
        "branch.head" if value != "(detached)" => status.branch = Some(value.to_owned()),
        "branch.upstream" => status.upstream = Some(value.to_owned()),
        "branch.ab" => {
            let mut numbers = value.split(' ').map(|number| number.trim_start_matches(['+', '-']));
            let mut number = || numbers.next().and_then(|number| number.parse().ok()).unwrap_or(0);
            (status.ahead, status.behind) = (number(), number());
        }
        _ => {}
    }
}

/// The two letters of an entry, and its path.
fn changed(part: &[u8]) -> Option<([u8; 2], &[u8])> {
    let fields = match part.first()? {
        b'1' => 8,
        b'2' => 9,
        b'u' => 10,
        b'?' => return Some((*b"??", part.get(2..)?)),
        _ => return None,
    };
    let code = [*part.get(2)?, *part.get(3)?];
    let path = part.splitn(fields + 1, |byte| *byte == b' ').nth(fields)?;
    Some((code, path))
}

fn count(status: &mut Status, code: [u8; 2]) {
    status.total += 1;
    if code == *b"??" {
        status.untracked += 1;
    } else if is_conflict(code) {
        status.conflicted += 1;
    } else {
        status.staged += usize::from(code[0] != b'.');
        status.unstaged += usize::from(code[1] != b'.');
    }
}

fn is_conflict(code: [u8; 2]) -> bool {
    code.contains(&b'U') || code == *b"AA" || code == *b"DD"
}

fn as_shown(letter: u8) -> char {
    if letter == b'.' { ' ' } else { char::from(letter) }
}

fn kind_of(code: [u8; 2], first: u8) -> ChangeKind {
    let letter = if code[0] == b'.' { code[1] } else { code[0] };
    match (first, letter) {
        (b'u', _) => ChangeKind::Conflicted,
        (b'?', _) => ChangeKind::Untracked,
        (_, b'A') => ChangeKind::Added,
        (_, b'D') => ChangeKind::Deleted,
        (_, b'R') => ChangeKind::Renamed,
        (_, b'C') => ChangeKind::Copied,
        (_, b'T') => ChangeKind::Retyped,
        _ => ChangeKind::Modified,
    }
}
