//! Copies into the run's folder: beside first, then by a rename, so that nothing half is ever found under its name.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use agentos_core::bounds;
use agentos_core::value::{self, Value};
use agentos_workspace::contained::{Contained, ContainedError, Sink, Tree, TreeFile};
use serde_json::{Map, json};
use sha2::{Digest as _, Sha256};

use super::ARTIFACT_FILES;
use super::place::Place;
use super::request::Request;
use super::safety::Safety;

/// The media type of a folder without files.
const EMPTY_FOLDER: &str = "inode/directory";

/// Keeps one artifact.
pub(super) struct Keeper<'a> {
    pub(super) place: &'a Place,
    pub(super) request: &'a Request,
    pub(super) mark: u64,
    pub(super) is_stopped: &'a dyn Fn() -> bool,
}

/// A file that is kept.
struct Kept {
    size: u64,
    sha256: String,
}

type Done<T> = Result<T, ContainedError>;

impl Keeper<'_> {
    /// Keeps a text.
    pub(super) fn keep_text(&self, text: &str) -> Done<Value> {
        let kept = self.put(|path| {
            write_new(path, Safety::Each, |file| {
                file.write_all(text.as_bytes()).map_err(self.failed())?;
                Ok(Kept { size: text.len() as u64, sha256: hex(Sha256::digest(text)) })
            })
        })?;
        Ok(self.answer(&kept, &self.request.mime_type(&self.place.name)))
    }

    /// Keeps what a path or pattern stands for.
    pub(super) fn keep_files(&self, files: &Contained, path: &str) -> Done<Value> {
        match files.tree(path, ARTIFACT_FILES)? {
            Tree::File => {
                let kept = self.put(|to| self.copy(files, path, (to, Safety::Each)))?;
                Ok(self.answer(&kept, &self.request.mime_type(path)))
            }
            Tree::Files { files: found, skipped } => {
                self.check_answer(path, &found)?;
                let kept = self.put(|to| self.copy_all(files, &found, to))?;
                Ok(self.answer_all(&found, &kept, skipped))
            }
        }
    }

    /// Refuses files whose names are more than one answer holds, before any of them is copied.
    fn check_answer(&self, path: &str, found: &[TreeFile]) -> Done<()> {
        let largest = || Kept { size: 1 << 50, sha256: "0".repeat(64) };
        let kept: Vec<Kept> = found.iter().map(|_| largest()).collect();
        let answer = self.answer_all(found, &kept, usize::MAX);
        value::check(&answer).map_err(|_| ContainedError::TooMany {
            path: path.to_owned(),
            what: "bytes of names and hashes",
            limit: bounds::VALUE_BYTES,
        })
    }

    /// Lets something be made beside, and then take its place, whatever was there.
    fn put<T>(&self, make: impl FnOnce(&Path) -> Done<T>) -> Done<T> {
        let beside = self.place.folder().join(format!(".{:016x}.new", self.mark));
        remove(&beside).map_err(self.failed())?;
        let made = make(&beside).and_then(|made| {
            remove(&self.place.path).map_err(self.failed())?;
            fs::rename(&beside, &self.place.path).map_err(self.failed())?;
            self.place.sync().map_err(self.failed())?;
            Ok(made)
        });
        if made.is_err() {
            // What is left of it is of no use; why it failed is known already.
            let _gone = remove(&beside);
        }
        made
    }

    fn copy_all(&self, files: &Contained, found: &[TreeFile], to: &Path) -> Done<Vec<Kept>> {
        fs::create_dir(to).map_err(self.failed())?;
        let safety = Safety::of(found.len());
        let mut folders = BTreeSet::from([to.to_owned()]);
        let mut kept = Vec::with_capacity(found.len());
        for file in found {
            let target = to.join(&file.relative);
            let folder = target.parent().unwrap_or(to);
            fs::create_dir_all(folder).map_err(self.failed())?;
            let made = folder.ancestors().take_while(|above| above.starts_with(to));
            folders.extend(made.map(Path::to_owned));
            kept.push(self.copy(files, &file.path, (&target, safety))?);
        }
        safety.finish(to, &folders).map_err(self.failed())?;
        Ok(kept)
    }

    fn copy(&self, files: &Contained, from: &str, (to, safety): (&Path, Safety)) -> Done<Kept> {
        let mut source = files.open_source(from)?;
        let mut hash = Sha256::new();
        let shown = self.place.relative.display().to_string();
        write_new(to, safety, |file| {
            let sink = Sink { file, path: &shown };
            let size = source.copy_into(sink, self.is_stopped, |piece| match piece {
                Some(piece) => hash.update(piece),
                None => hash.reset(),
            })?;
            Ok(Kept { size, sha256: String::new() })
        })
        .map(|kept| Kept { sha256: hex(hash.finalize()), ..kept })
        .map_err(|error| self.named(error, from))
    }

    /// A failure to write is about the artifact, whichever file is copied.
    fn named(&self, error: ContainedError, from: &str) -> ContainedError {
        match error {
            ContainedError::Io { source, path, .. } if path != from => self.failed()(source),
            other => other,
        }
    }

    fn failed(&self) -> impl Fn(io::Error) -> ContainedError {
        let path = self.place.relative.display().to_string();
        move |source| {
            let what = match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "can't be kept; make room, then try again"
                }
                _ => "can't be kept",
            };
            ContainedError::Io { path: path.clone(), what, source }
        }
    }

    fn answer(&self, kept: &Kept, mime_type: &str) -> Value {
        json!({
            "name": self.place.name,
            "storage_path": self.place.relative.display().to_string(),
            "size_bytes": kept.size,
            "sha256": kept.sha256,
            "mime_type": mime_type,
            "files": 1,
        })
    }

    fn answer_all(&self, found: &[TreeFile], kept: &[Kept], skipped: usize) -> Value {
        let entries = found.iter().zip(kept).map(|(file, kept)| {
            json!({
                "path": file.relative,
                "size_bytes": kept.size,
                "sha256": kept.sha256,
                "mime_type": self.request.mime_type(&file.relative),
            })
        });
        let mut answer = Map::new();
        answer.insert("name".into(), json!(self.place.name));
        answer.insert("storage_path".into(), json!(self.place.relative.display().to_string()));
        answer.insert("size_bytes".into(), json!(kept.iter().map(|kept| kept.size).sum::<u64>()));
        answer.insert("files".into(), json!(found.len()));
        if found.is_empty() {
            answer.insert("mime_type".into(), json!(EMPTY_FOLDER));
        } else {
            answer.insert("entries".into(), entries.collect());
        }
        if skipped > 0 {
            answer.insert("skipped".into(), json!(skipped));
        }
        answer.into()
    }
}

/// Lets a new file be filled, and sees that it is on the disk.
fn write_new(
    path: &Path,
    safety: Safety,
    fill: impl FnOnce(&mut File) -> Done<Kept>,
) -> Done<Kept> {
    let failed = |source| ContainedError::Io {
        path: path.display().to_string(),
        what: "can't be written",
        source,
    };
    let file = OpenOptions::new().write(true).create_new(true).open(path);
    let mut file = file.map_err(failed)?;
    let kept = fill(&mut file)?;
    safety.finish_file(&file).map_err(failed)?;
    Ok(kept)
}

/// Removes a file or folder, if there is one.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn hex(digest: impl AsRef<[u8]>) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(64);
    for byte in digest.as_ref() {
        let _never_fails = write!(text, "{byte:02x}");
    }
    text
}
