//! What differs.
//!
//! Files that are not part of the history are part of what an agent has done, so they count. git compares only what its
//! index knows; they are made known to a copy of the index, which nobody else sees and which is thrown away. Repositories
//! among the files are only named: git does not look into them.

use std::fs;
use std::io;

use agentos_process::tool::Tool;

use super::super::Result;
use super::super::answer::{ChangedFile, Diff};
use super::super::bounds::{LIST_BYTES, NAMES_BYTES};
use super::super::error::VersionControlError;
use super::super::request::DiffRequest;
use super::scratch::Scratch;
use super::{GitRepository, text};

/// Nothing that the user configured for his own eyes, and no program of anybody's choice.
pub(crate) const PLAIN: [&str; 8] = [
    "diff",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
    "--find-renames",
    "--src-prefix=a/",
    "--dst-prefix=b/",
];

impl GitRepository {
    pub(super) fn compare(&self, request: &DiffRequest) -> Result<Diff> {
        request.check()?;
        let sides = self.sides(request)?;
        let with_files = request.to.is_none() && !request.staged;
        let (mut known, mut embedded) = (None, Vec::new());
        if with_files && request.untracked.unwrap_or(true) {
            embedded = self.embedded(&[])?;
            known = Some(self.index_of_everything(&embedded, "--intent-to-add")?);
        }
        if !embedded.is_empty() && !request.paths.is_empty() {
            embedded = self.embedded(&request.paths)?;
        }
        self.compare_sides(&sides, request, known.as_ref(), embedded)
    }

    /// Compares these two sides, as git wants to be told of them; with the files as this index knows them, and with
    /// repositories among them.
    pub(in crate::version_control) fn compare_sides(
        &self,
        sides: &[String],
        request: &DiffRequest,
        known: Option<&Scratch>,
        embedded: Vec<String>,
    ) -> Result<Diff> {
        let question = |how: &[&str]| -> Tool {
            let words = PLAIN.iter().chain(how).copied().map(str::to_owned);
            let words = words.chain(sides.iter().cloned()).chain(["--".to_owned()]);
            let tool = self.question(words.chain(request.paths.iter().cloned()));
            match known {
                Some(folder) => tool.set("GIT_INDEX_FILE", folder.path().join("index")),
                None => tool,
            }
        };
        let numbers = question(&["--numstat", "-z"]).output_bytes(LIST_BYTES);
        let mut listed = Listed::new(request.limit());
        read(&self.answer("diff", &numbers)?.output, &mut listed);
        embedded
            .into_iter()
            .for_each(|path| listed.add(ChangedFile { path, ..ChangedFile::default() }));
        let mut diff = listed.diff();
        if !request.stat {
            let patch = question(&["--patch"]).cut_output(request.text_bytes());
            let patch = self.answer("diff", &patch)?;
            (diff.text, diff.text_truncated) = (Some(cut_text(&patch.output)), patch.is_cut);
        }
        Ok(diff)
    }

    /// What is compared, as git wants to be told.
    fn sides(&self, request: &DiffRequest) -> Result<Vec<String>> {
        let to = request.to.as_deref().map(|to| self.revision(to)).transpose()?;
        let from = match &request.from {
            Some(from) => Some(self.revision(from)?),
            None => self.head()?,
        };
        let from = match from {
            Some(from) if request.merge_base => {
                let to = to.clone().map_or_else(|| self.revision("HEAD"), Ok)?;
                self.merge_base(&from, &to)?
            }
            Some(from) => from,
            None => self.empty_tree()?,
        };
        let staged = request.staged.then(|| "--cached".to_owned());
        Ok(staged.into_iter().chain([from]).chain(to).collect())
    }

    /// A copy of the index that knows of every file outside of these folders: their names (`--intent-to-add`) or all that
    /// is in them (`--all`).
    pub(super) fn index_of_everything(&self, outside: &[String], how: &str) -> Result<Scratch> {
        let failed = |source| VersionControlError::File { what: "a copy of git's index", source };
        let folder = self.scratch()?;
        let copy = folder.path().join("index");
        match fs::copy(self.git_dir.join("index"), &copy) {
            // There is none before the first file is staged.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let which = folder.path().join("paths");
        let outside = outside.iter().map(|path| format!(":(exclude,literal){path}\0"));
        fs::write(&which, [".\0".to_owned()].into_iter().chain(outside).collect::<String>())
            .map_err(failed)?;
        let words = self.add_words().into_iter().chain([how, "--pathspec-file-nul"]);
        let add = self.tool(words).args(["--pathspec-from-file"]).args([which.as_os_str()]);
        let add = add.timeout(self.patient()).set("GIT_INDEX_FILE", copy.as_os_str());
        self.answer("add", &add)?;
        Ok(folder)
    }
}

/// What was found so far: all of it counted, and named as much as there is room for.
struct Listed {
    diff: Diff,
    limit: usize,
    room: usize,
}

impl Listed {
    fn new(limit: usize) -> Self {
        Self { diff: Diff::default(), limit, room: NAMES_BYTES }
    }

    fn add(&mut self, file: ChangedFile) {
        let Self { diff, limit, room } = self;
        diff.files_changed += 1;
        diff.insertions += file.insertions;
        diff.deletions += file.deletions;
        let size = file.path.len() + file.from.as_ref().map_or(0, String::len);
        if diff.files.len() < *limit && size <= *room {
            *room -= size;
            diff.files.push(file);
        }
    }

    fn diff(mut self) -> Diff {
        self.diff.truncated = self.diff.files.len() < self.diff.files_changed;
        self.diff
    }
}

/// What `--numstat -z` says, with so many files named.
pub(crate) fn numbers(output: &[u8], limit: usize) -> Diff {
    let mut listed = Listed::new(limit);
    read(output, &mut listed);
    listed.diff()
}

/// Reads `--numstat -z`: a rename has its two names in parts of their own.
fn read(output: &[u8], listed: &mut Listed) {
    let mut parts = output.split(|byte| *byte == 0);
    while let Some(part) = parts.next() {
        let mut fields = part.splitn(3, |byte| *byte == b'\t');
        let (Some(added), Some(removed), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let (from, path) = match path.is_empty() {
            true => (parts.next(), parts.next().unwrap_or_default()),
            false => (None, path),
        };
        let number = |field: &[u8]| text(field).parse::<u64>().ok();
        listed.add(ChangedFile {
            path: text(path),
            from: from.map(text),
            insertions: number(added).unwrap_or(0),
            deletions: number(removed).unwrap_or(0),
            binary: number(added).is_none(),
        });
    }
}

/// As text, without the half of a letter at its end.
pub(crate) fn cut_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) if error.error_len().is_none() => text(&bytes[..error.valid_up_to()]),
        Err(_) => text(bytes),
    }
}
