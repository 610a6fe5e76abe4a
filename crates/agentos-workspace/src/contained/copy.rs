//! Copying a file within the workspace, or an input into it, at any size.

use std::fs::{File, Metadata};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use super::error::ContainedError;
use super::read::Source;
use super::write::failed_at;
use super::{Contained, Writing};

/// How much is copied at once, in bytes.
const PIECE: usize = 256 * 1024;

impl Contained {
    /// Copies a file, and says how many bytes it has. It can be executed if the other can.
    ///
    /// # Errors
    /// A path is refused, there is no such file, it changes all the time, or the file system refuses.
    pub fn copy(
        &self,
        from: &str,
        to: &str,
        how: &Writing,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<u64, ContainedError> {
        let mut source = self.open_source(from)?;
        let found = source.file.metadata().map_err(ContainedError::unread(from))?;
        let executable = how.executable || found.permissions().mode() & 0o100 != 0;
        let mut size = 0;
        self.replace(to, &Writing { executable, ..*how }, |file| {
            size = source.copy_into(Sink { file, path: to }, is_stopped, |_| ())?;
            Ok(())
        })?;
        Ok(size)
    }
}

/// A file that is being filled, and what errors call it.
#[derive(Debug)]
pub struct Sink<'a> {
    /// The file.
    pub file: &'a mut File,
    /// What whoever asked calls it.
    pub path: &'a str,
}

impl Source {
    /// Copies all of it into another file, which begins anew if this one changes meanwhile, and says how many bytes it
    /// had. Every piece is shown to `seen`, and `None` when it begins.
    ///
    /// # Errors
    /// It changed twice, somebody wants it stopped, or the file system refuses.
    pub fn copy_into(
        &mut self,
        to: Sink<'_>,
        is_stopped: &dyn Fn() -> bool,
        mut seen: impl FnMut(Option<&[u8]>),
    ) -> Result<u64, ContainedError> {
        let unread = ContainedError::unread(&self.path);
        let unwritten = failed_at(to.path);
        let mut piece = vec![0; PIECE];
        for _ in 0..2 {
            self.file.rewind().map_err(&unread)?;
            to.file.rewind().and_then(|()| to.file.set_len(0)).map_err(&unwritten)?;
            seen(None);
            let before = self.file.metadata().map_err(&unread)?;
            let mut size = 0;
            loop {
                if is_stopped() {
                    return Err(ContainedError::Stopped);
                }
                let count = self.file.read(&mut piece).map_err(&unread)?;
                if count == 0 {
                    break;
                }
                to.file.write_all(&piece[..count]).map_err(&unwritten)?;
                seen(Some(&piece[..count]));
                size += count as u64;
                if size > before.len() {
                    break;
                }
            }
            let after = self.file.metadata().map_err(&unread)?;
            if size == before.len() && is_same(&before, &after) {
                return Ok(size);
            }
        }
        Err(ContainedError::Changing { path: self.path.clone() })
    }
}

/// Whether nothing was written between two looks.
fn is_same(before: &Metadata, after: &Metadata) -> bool {
    let look = |found: &Metadata| (found.len(), found.mtime(), found.mtime_nsec());
    look(before) == look(after)
}
