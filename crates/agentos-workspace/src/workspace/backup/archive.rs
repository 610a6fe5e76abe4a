//! The part of a backup that is not git's: ignored files, repositories inside the workspace, and the workspace's private
//! folder. A plain tar, so that people can look into it with what they have.
//!
//! It lies beside the repository's objects and not among them: what was ignored may be secret, and refs get pushed.

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Component, Path, PathBuf};

use sha2::{Digest as _, Sha256};
use tar::{Builder, EntryType, Header};

use super::manifest::{self, Manifest};
use super::{BackupError, io_error};

/// The workspace's files in the archive.
pub(crate) const FILES: &str = "files";

/// The private folder in the archive.
pub(crate) const PRIVATE: &str = "private";

/// What git knows of worktrees inside, in the archive.
pub(crate) const WORKTREES: &str = "worktrees";

/// The branch's log in the archive.
pub(crate) const BRANCH_LOG: &str = "branch-log";

/// Something that goes into an archive: from where, and under which name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::workspace) struct Item {
    pub(super) from: PathBuf,
    pub(super) name: PathBuf,
}

/// Everything in a folder, without what is named at its top.
pub(in crate::workspace) fn items_of(
    folder: &Path,
    name: &str,
    left_out: &[&str],
) -> Result<Vec<Item>, BackupError> {
    let mut items = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(inside) = folders.pop() {
        let whole = folder.join(&inside);
        let mut is_empty = true;
        for entry in fs::read_dir(&whole).map_err(io_error(&whole))? {
            let entry = entry.map_err(io_error(&whole))?;
            is_empty = false;
            let path = inside.join(entry.file_name());
            let is_top = inside.as_os_str().is_empty();
            if is_top && left_out.iter().any(|left| entry.file_name() == *left) {
                continue;
            }
            let kind = entry.file_type().map_err(io_error(&whole))?;
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() || kind.is_symlink() {
                items.push(Item { from: entry.path(), name: Path::new(name).join(path) });
            }
        }
        if is_empty && !inside.as_os_str().is_empty() {
            items.push(Item { from: whole, name: Path::new(name).join(inside) });
        }
    }
    items.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(items)
}

/// How much is in them, in bytes, with the largest first.
pub(super) fn weigh(items: &[Item]) -> Result<(u64, Vec<(u64, PathBuf)>), BackupError> {
    let mut sizes = Vec::new();
    for item in items {
        let about = fs::symlink_metadata(&item.from).map_err(io_error(&item.from))?;
        if about.is_file() {
            sizes.push((about.len(), item.name.clone()));
        }
    }
    let sum = sizes.iter().map(|(bytes, _)| bytes).sum();
    sizes.sort_by(|one, other| other.cmp(one));
    Ok((sum, sizes))
}

/// Writes an archive, so that it is on the disk when this returns; its hash.
pub(super) fn write(
    file: &Path,
    manifest: &Manifest,
    items: &[Item],
) -> Result<String, BackupError> {
    let unfinished = file.with_extension("new");
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    let made = options.open(&unfinished).map_err(io_error(&unfinished))?;
    let mut builder = Builder::new(BufWriter::new(made));
    let text = serde_json::to_vec_pretty(manifest)
        .map_err(|error| io_error(file)(io::Error::other(error)))?;
    let mut header = Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    let put = builder.append_data(&mut header, manifest::FILE, text.as_slice());
    put.map_err(io_error(&unfinished))?;
    for item in items {
        append(&mut builder, item)?;
    }
    let finish = || -> io::Result<()> {
        let mut writer = builder.into_inner()?;
        writer.flush()?;
        writer.get_ref().sync_all()?;
        fs::rename(&unfinished, file)?;
        file.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
    };
    finish().map_err(io_error(file))?;
    hash(file).map_err(io_error(file))
}

fn append(builder: &mut Builder<BufWriter<File>>, item: &Item) -> Result<(), BackupError> {
    let failed = io_error(&item.from);
    let mut put = || -> io::Result<bool> {
        let about = fs::symlink_metadata(&item.from)?;
        let mut header = Header::new_gnu();
        header.set_metadata(&about);
        if about.is_symlink() {
            header.set_size(0);
            header.set_entry_type(EntryType::Symlink);
            let target = fs::read_link(&item.from)?;
            builder.append_link(&mut header, &item.name, target)?;
        } else if about.is_dir() {
            header.set_size(0);
            header.set_entry_type(EntryType::Directory);
            builder.append_data(&mut header, &item.name, io::empty())?;
        } else {
            let mut counted =
                Counted { inner: File::open(&item.from)?.take(about.size()), bytes: 0 };
            builder.append_data(&mut header, &item.name, &mut counted)?;
            return Ok(counted.bytes == about.size());
        }
        Ok(true)
    };
    match put().map_err(failed)? {
        true => Ok(()),
        false => Err(BackupError::Restless { path: item.from.clone() }),
    }
}

/// Counts what is read: a file that becomes shorter meanwhile would break the archive.
struct Counted<R> {
    inner: R,
    bytes: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes += read as u64;
        Ok(read)
    }
}

/// The hash of a file.
pub(crate) fn hash(file: &Path) -> io::Result<String> {
    let mut reader = BufReader::new(File::open(file)?);
    let (mut hasher, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    loop {
        match reader.read(&mut buffer)? {
            0 => break,
            read => hasher.update(&buffer[..read]),
        }
    }
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Reads what an archive says about itself.
pub(crate) fn load_manifest(file: &Path) -> io::Result<Manifest> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(file)?));
    let first = archive.entries()?.next();
    let mut first = first.ok_or(io::ErrorKind::UnexpectedEof)??;
    if first.path()?.as_os_str() != manifest::FILE {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "it does not begin with a manifest",
        ));
    }
    let mut text = Vec::new();
    first.read_to_end(&mut text)?;
    serde_json::from_slice(&text).map_err(io::Error::other)
}

/// The names in a part of an archive.
pub(crate) fn names(file: &Path, part: &str) -> io::Result<Vec<PathBuf>> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(file)?));
    let mut names = Vec::new();
    for entry in archive.entries()? {
        let path = entry?.path()?.into_owned();
        names.extend(path.strip_prefix(part).ok().map(Path::to_owned));
    }
    Ok(names)
}

/// Puts a part of an archive into a folder, over what is there. Modes of folders are set when everything is in them.
pub(crate) fn unpack(
    file: &Path,
    part: &str,
    to: &Path,
    is_wanted: impl Fn(&Path) -> bool,
) -> io::Result<()> {
    let mut archive = tar::Archive::new(BufReader::new(File::open(file)?));
    archive.set_preserve_permissions(true);
    let mut folders: Vec<(PathBuf, u32)> = Vec::new();
    for entry in archive.entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        let Ok(inside) = path.strip_prefix(part) else { continue };
        let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || !is_wanted(inside) {
            continue;
        }
        let target = if inside.as_os_str().is_empty() { to.to_owned() } else { to.join(inside) };
        let above = target.parent().unwrap_or(to);
        fs::create_dir_all(above)?;
        if entry.header().entry_type() == EntryType::Directory {
            fs::create_dir_all(&target)?;
            folders.push((target, entry.header().mode()?));
            continue;
        }
        match fs::symlink_metadata(&target) {
            Ok(found) if !found.is_dir() => fs::remove_file(&target)?,
            _ => {}
        }
        entry.unpack(&target)?;
    }
    // The deepest first: one that may not be written to stays in the way.
    folders.sort();
    for (folder, mode) in folders.into_iter().rev() {
        fs::set_permissions(folder, fs::Permissions::from_mode(mode & 0o7777))?;
    }
    Ok(())
}
