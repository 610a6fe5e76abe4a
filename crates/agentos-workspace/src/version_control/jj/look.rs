//! Questions: how the files stand, what differs, and what was.

use super::super::Result;
use super::super::answer::{ChangeKind, Diff, LoggedCommit, Status, StatusEntry, Unfinished};
use super::super::bounds::NAMES_BYTES;
use super::super::request::{DiffRequest, LogRequest};
use super::standing::Standing;
use super::{JjRepository, UNRECORDED};

/// A changed file: its letter, where it was, where it is, and what it was and is. Each ends with a zero byte.
const TEMPLATE: &str = concat!(
    r#"status_char ++ "\0" ++ source.path() ++ "\0" ++ path ++ "\0" ++ source.file_type() ++ "\0""#,
    r#" ++ target.file_type() ++ "\0""#
);
const FIELDS: usize = 5;

impl JjRepository {
    pub(super) fn look_at_files(&self, limit: usize) -> Result<Status> {
        let standing = self.record()?;
        let mut status = Status {
            branch: self.checked_out()?,
            head: standing.head(),
            operation: (standing.parents.len() > 1).then_some(Unfinished::Merge),
            ..Status::default()
        };
        let mut room = NAMES_BYTES;
        for entry in self.entries(&standing)? {
            status.total += 1;
            match entry.kind {
                ChangeKind::Conflicted => status.conflicted += 1,
                _ => status.staged += 1,
            }
            let size = entry.path.len() + entry.from.as_ref().map_or(0, String::len);
            if status.entries.len() < limit && size <= room {
                room -= size;
                status.entries.push(entry);
            }
        }
        status.truncated = status.entries.len() < status.total;
        status.clean = status.total == 0;
        Ok(status)
    }

    /// The changed files. All of them are part of the next commit, which git calls staged.
    fn entries(&self, standing: &Standing) -> Result<Vec<StatusEntry>> {
        let question = [UNRECORDED, "diff", "-r", &standing.files, "-T", TEMPLATE];
        let output = self.answer("diff", &self.tool(question))?;
        let text = String::from_utf8_lossy(&output);
        let fields: Vec<&str> = text.split('\0').collect();
        let is_in_conflict = |path: &str| standing.conflicts.iter().any(|other| other == path);
        let mut entries: Vec<StatusEntry> = fields
            .chunks_exact(FIELDS)
            .filter(|fields| !is_in_conflict(fields[2]))
            .map(entry)
            .collect();
        entries.extend(standing.conflicts.iter().map(|path| StatusEntry {
            path: path.clone(),
            from: None,
            code: "UU".to_owned(),
            kind: ChangeKind::Conflicted,
        }));
        Ok(entries)
    }

    pub(super) fn compare(&self, request: &DiffRequest) -> Result<Diff> {
        request.check()?;
        let to = request.to.as_deref().map(|to| self.revision(to)).transpose()?;
        let standing = if to.is_some() { self.standing()? } else { self.record()? };
        let from = match &request.from {
            Some(from) => self.revision(from)?,
            None => standing.before(&self.store)?,
        };
        let (to, embedded) = match to {
            Some(to) => (to, Vec::new()),
            None => {
                // What jj keeps of a conflict is not what is in the files.
                standing.refuse_conflicts()?;
                (standing.files.clone(), self.store.embedded_beside(&standing.files)?)
            }
        };
        let is_among = |path: &&String| {
            let path = path.trim_end_matches('/');
            let is_below = |above: &String| {
                let above = above.trim_end_matches('/');
                path.strip_prefix(above)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            request.paths.is_empty() || request.paths.iter().any(is_below)
        };
        let embedded = embedded.iter().filter(is_among).cloned().collect();
        let from = match (request.merge_base, standing.head()) {
            (true, head) => {
                let to = if request.to.is_some() { to.clone() } else { head.unwrap_or(to.clone()) };
                self.store.merge_base(&from, &to)?
            }
            (false, _) => from,
        };
        self.store.compare_sides(&[from, to], request, None, embedded)
    }

    pub(super) fn list(&self, request: &LogRequest) -> Result<Vec<LoggedCommit>> {
        request.check()?;
        let to = match &request.to {
            Some(to) => Some(self.revision(to)?),
            None => self.standing()?.head(),
        };
        let from = request.from.as_deref().map(|from| self.revision(from)).transpose()?;
        self.store.list_between(from, to, request)
    }
}

fn entry(fields: &[&str]) -> StatusEntry {
    let &[letter, from, path, was, is] = fields else { unreachable!("chunks of {FIELDS}") };
    let is_retyped = letter == "M" && (was == "symlink") != (is == "symlink");
    let letter = if is_retyped { "T" } else { letter };
    let kind = match letter {
        "A" => ChangeKind::Added,
        "D" => ChangeKind::Deleted,
        "R" => ChangeKind::Renamed,
        "C" => ChangeKind::Copied,
        "T" => ChangeKind::Retyped,
        _ => ChangeKind::Modified,
    };
    let is_moved = matches!(kind, ChangeKind::Renamed | ChangeKind::Copied);
    StatusEntry {
        path: path.to_owned(),
        from: is_moved.then(|| from.to_owned()),
        code: format!("{letter} "),
        kind,
    }
}
