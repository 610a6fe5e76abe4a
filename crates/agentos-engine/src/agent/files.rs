//! What is kept of a session in the run's folder: everything that the agent wrote, and the same as people read it.
//!
//! The files of a try are written from their beginning whenever somebody attaches: what the supervisor keeps is all there.
//! So a crash costs nothing, and nothing is in them twice.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use agentos_core::id::Try;
use agentos_core::value::Value;
use agentos_store::folder::RunFolder;
use agentos_store::ids::step_id;
use serde_json::json;

use crate::artifact::step_around;
use crate::room::{IsWanted, wait_for_room};
use crate::shell::{Whose, directory_name};

/// How much of a stream is kept in the run's folder, in bytes.
const RAW_BYTES: u64 = 64 << 20;

/// How much of a transcript is kept, in bytes.
const TRANSCRIPT_BYTES: u64 = 16 << 20;

/// What a file of a session is.
const FILES: [(&str, &str); 3] =
    [("jsonl", "application/jsonl"), ("txt", "text/plain"), (ANSWER, "text/plain")];

/// How the file of an answer ends that is too long for the run's log.
const ANSWER: &str = "answer.txt";

/// How much is gathered before it is written, in bytes.
const BUFFER_BYTES: usize = 8 << 10;

/// The files of one try. What is written to them waits for room on the disk.
pub(super) struct Files<'a> {
    raw: SessionFile<'a>,
    transcript: SessionFile<'a>,
    answer: Option<PathBuf>,
    is_wanted: IsWanted<'a>,
}

/// One file that does not grow for ever.
struct SessionFile<'a> {
    is_wanted: IsWanted<'a>,
    file: Option<File>,
    /// How much of it is written.
    length: u64,
    buffer: Vec<u8>,
    left: u64,
}

impl<'a> SessionFile<'a> {
    fn create(path: Option<PathBuf>, most: u64, is_wanted: IsWanted<'a>) -> Self {
        let file = path.and_then(|path| match wait_for_room(is_wanted, || create(&path)) {
            Ok(file) => Some(file),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a session's file is not kept");
                None
            }
        });
        Self { is_wanted, file, length: 0, buffer: Vec::new(), left: most }
    }

    fn write(&mut self, bytes: &[u8]) {
        if self.file.is_none() {
            return;
        }
        let length = bytes.len() as u64;
        if length > self.left {
            self.buffer.extend_from_slice("… the rest is not kept\n".as_bytes());
            self.flush();
            self.file = None;
            return;
        }
        self.left -= length;
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let Some(file) = &self.file else { return };
        let (text, length) = (&self.buffer, self.length);
        // What a failed write has left is overwritten.
        match wait_for_room(self.is_wanted, || file.write_all_at(text, length)) {
            Ok(()) => {
                self.length += self.buffer.len() as u64;
                self.buffer.clear();
            }
            Err(error) => {
                tracing::warn!(%error, "the rest of a session's file is not kept");
                self.file = None;
            }
        }
    }
}

fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(path)
}

impl<'a> Files<'a> {
    pub(super) fn create(whose: &Whose, is_wanted: IsWanted<'a>) -> Self {
        let path = |extension| absolute(whose, whose.r#try, extension);
        Self {
            raw: SessionFile::create(path("jsonl"), RAW_BYTES, is_wanted),
            transcript: SessionFile::create(path("txt"), TRANSCRIPT_BYTES, is_wanted),
            answer: path(ANSWER),
            is_wanted,
        }
    }

    /// Keeps the answer of a round that is too long for the run's log. There is no file of any other.
    pub(super) fn keep_answer(&self, text: Option<&str>) {
        let Some(path) = &self.answer else { return };
        let kept = match text {
            Some(text) => wait_for_room(self.is_wanted, || fs::write(path, text)),
            None => match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            },
        };
        if let Err(error) = kept {
            tracing::warn!(path = %path.display(), %error, "a session's answer is not kept");
        }
    }

    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.raw.write(bytes);
    }

    pub(super) fn transcript(&mut self, text: &str) {
        self.transcript.write(text.as_bytes());
    }

    /// Everything is on its way to the disk.
    pub(super) fn finish(&mut self) {
        self.raw.flush();
        self.transcript.flush();
    }
}

/// The files of all tries that are there, as artifacts.
pub(super) fn listed(whose: &Whose) -> Vec<Value> {
    let mut found = Vec::new();
    for r#try in (1..=whose.r#try.0).map(Try) {
        for (extension, mime_type) in FILES {
            let size = absolute(whose, r#try, extension).and_then(|path| path.metadata().ok());
            let (Some(size), Some(path)) = (size, relative(whose, r#try, extension)) else {
                continue;
            };
            found.push(json!({
                "name": title(whose, r#try, extension),
                "part": name(whose, r#try, extension),
                "type": "SESSION_FILE",
                "storage_path": path,
                "mime_type": mime_type,
                "size_bytes": size.len(),
            }));
        }
    }
    found
}

/// The transcript of the try, relative to the project.
pub(super) fn transcript_path(whose: &Whose) -> Option<PathBuf> {
    relative(whose, whose.r#try, "txt")
}

/// What it is called, for people.
fn title(whose: &Whose, r#try: Try, extension: &str) -> String {
    let session = whose.operation.name();
    let session = session.as_ref().map_or("session", |name| name.as_str());
    match r#try {
        Try::FIRST => format!("{session}.{extension}"),
        again => format!("{session}-try{again}.{extension}"),
    }
}

/// What the file is called: a session of the same name may come again.
fn name(whose: &Whose, r#try: Try, extension: &str) -> String {
    format!("{}.{extension}", directory_name(&whose.operation, r#try))
}

/// Nothing is kept of runs that have no project.
fn relative(whose: &Whose, r#try: Try, extension: &str) -> Option<PathBuf> {
    let project = Some(&whose.home.project_path).filter(|project| !project.is_empty())?;
    let step = step_around(whose.step.as_ref(), &whose.operation);
    let step = step.map(|path| step_id(whose.run, path));
    let folder = RunFolder::new(Path::new(project), whose.run);
    folder.artifact_file(step, &name(whose, r#try, extension)).ok()
}

fn absolute(whose: &Whose, r#try: Try, extension: &str) -> Option<PathBuf> {
    Some(Path::new(&whose.home.project_path).join(relative(whose, r#try, extension)?))
}
