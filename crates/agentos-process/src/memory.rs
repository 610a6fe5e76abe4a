//! Files in memory: given to a process to read, without anybody waiting for it, and without a trace on disk.

use std::fs::File;
use std::io::{self, Seek as _, Write as _};

use rustix::fs::{MemfdFlags, memfd_create};

/// A file with these bytes, to be read from its beginning.
pub(crate) fn file(name: &str, bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create(name, MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    file.rewind()?;
    Ok(file)
}
