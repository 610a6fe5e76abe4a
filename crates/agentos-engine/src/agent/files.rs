//! What is kept of a session in the run's folder: everything that the agent wrote, and the same as people read it.
//!
//! The files of a try are written from their beginning whenever somebody attaches: what the supervisor keeps is all there.
//! So a crash costs nothing, and nothing is in them twice.

use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use agentos_core::id::Try;
use agentos_core::value::Value;
use agentos_store::folder::RunFolder;
use agentos_store::ids::step_id;
use serde_json::json;

use crate::artifact::step_around;
use crate::shell::{Whose, directory_name};

/// How much of a stream is kept in the run's folder, in bytes.
const RAW_BYTES: u64 = 64 << 20;

/// How much of a transcript is kept, in bytes.
const TRANSCRIPT_BYTES: u64 = 16 << 20;

/// What a file of a session is.
const FILES: [(&str, &str); 2] = [("jsonl", "application/jsonl"), ("txt", "text/plain")];

/// The files of one try.
pub(super) struct Files {
    raw: Kept,
    transcript: Kept,
}

/// One file that does not grow for ever.
struct Kept {
    file: Option<BufWriter<File>>,
    left: u64,
}

impl Kept {
    fn create(path: Option<PathBuf>, most: u64) -> Self {
        let file = path.and_then(|path| match create(&path) {
            Ok(file) => Some(BufWriter::new(file)),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "a session's file is not kept");
                None
            }
        });
        Self { file, left: most }
    }

    fn write(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let Some(file) = &mut self.file else { return };
        if length > self.left {
            let _lost = file.write_all("… the rest is not kept\n".as_bytes());
            let _flushed = file.flush();
            self.file = None;
        } else if let Err(error) = file.write_all(bytes) {
            tracing::warn!(%error, "the rest of a session's file is not kept");
            self.file = None;
        } else {
            self.left -= length;
        }
    }
}

fn create(path: &Path) -> std::io::Result<File> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    File::create(path)
}

impl Files {
    pub(super) fn create(whose: &Whose) -> Self {
        let path = |extension| absolute(whose, whose.r#try, extension);
        Self {
            raw: Kept::create(path("jsonl"), RAW_BYTES),
            transcript: Kept::create(path("txt"), TRANSCRIPT_BYTES),
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
        for kept in [&mut self.raw, &mut self.transcript] {
            if let Some(Err(error)) = kept.file.as_mut().map(std::io::Write::flush) {
                tracing::warn!(%error, "the rest of a session's file is not kept");
            }
        }
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
