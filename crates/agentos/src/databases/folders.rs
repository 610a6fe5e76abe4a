//! Folders that are carried along: copied under another name, compared byte by byte, and only then given theirs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::error::{CommandError, Result};

/// Most files that one folder may have.
const FILES: usize = 1_000_000;

/// What was carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Carried {
    pub(crate) files: usize,
    pub(crate) bytes: u64,
}

impl Carried {
    pub(crate) const fn and(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes }
    }
}

/// Copies a folder to a path where nothing is. Whoever is killed meanwhile has copied nothing.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<Carried> {
    let failed = |error: io::Error| {
        let (from, to) = (from.display(), to.display());
        CommandError::failed(format!("{from} can't be copied to {to}: {error}"))
    };
    let unfinished = unfinished(to);
    if unfinished.symlink_metadata().is_ok() {
        fs::remove_dir_all(&unfinished).map_err(failed)?;
    }
    if let Some(above) = to.parent() {
        fs::create_dir_all(above).map_err(failed)?;
    }
    let carried = copy_into(from, &unfinished).map_err(failed)?;
    if !is_same(from, &unfinished).map_err(failed)? {
        return Err(failed(io::Error::other("it changes while it is copied")));
    }
    fs::rename(&unfinished, to).map_err(failed)?;
    let above = to.parent().map_or(Ok(()), |above| File::open(above)?.sync_all());
    above.map_err(failed)?;
    Ok(carried)
}

/// What a folder is called while it is copied.
pub(crate) fn unfinished(to: &Path) -> PathBuf {
    let name = to.file_name().unwrap_or_default().to_string_lossy().into_owned();
    to.with_file_name(format!(".copying-{name}"))
}

fn copy_into(from: &Path, to: &Path) -> io::Result<Carried> {
    let mut carried = Carried::default();
    let mut open = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = open.pop() {
        fs::create_dir(&to)?;
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
            if kind.is_dir() {
                open.push((entry.path(), target));
            } else if kind.is_symlink() {
                symlink(fs::read_link(entry.path())?, target)?;
            } else if kind.is_file() {
                carried.bytes += fs::copy(entry.path(), &target)?;
                carried.files += 1;
                File::open(&target)?.sync_all()?;
            }
            if carried.files > FILES {
                return Err(io::Error::other(format!("it has more than {FILES} files")));
            }
        }
        File::open(&to)?.sync_all()?;
    }
    Ok(carried)
}

/// Whether everything in the one folder is in the other, byte by byte. The other may have more.
pub(crate) fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let mut open = vec![(one.to_owned(), other.to_owned())];
    while let Some((one, other)) = open.pop() {
        for entry in fs::read_dir(&one)? {
            let entry = entry?;
            let (kind, beside) = (entry.file_type()?, other.join(entry.file_name()));
            let is_same = if kind.is_dir() {
                open.push((entry.path(), beside.clone()));
                beside.is_dir()
            } else if kind.is_symlink() {
                fs::read_link(entry.path()).ok() == fs::read_link(&beside).ok()
            } else {
                !kind.is_file() || is_same_file(&entry.path(), &beside)?
            };
            if !is_same {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn is_same_file(one: &Path, other: &Path) -> io::Result<bool> {
    let (mut one, mut other) = match (File::open(one), File::open(other)) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(error), _) => return Err(error),
        (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        (_, Err(error)) => return Err(error),
    };
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 64 << 10], vec![0; 64 << 10]);
    loop {
        let read = fill(&mut one, &mut left)?;
        if fill(&mut other, &mut right)? != read || left[..read] != right[..read] {
            return Ok(false);
        }
        if read == 0 {
            return Ok(true);
        }
    }
}

fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// How much is in a folder; nothing if there is none. What can't be read counts nothing.
pub(crate) fn measure(folder: &Path) -> Carried {
    let mut found = Carried::default();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(about) if about.is_dir() => open.push(entry.path()),
                Ok(about) if about.is_file() => {
                    found = found.and(Carried { files: 1, bytes: about.len() });
                }
                _ => {}
            }
        }
    }
    found
}
