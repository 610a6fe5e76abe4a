//! Whether a program is at work somewhere: for those who find a lock and ask whose it is.

use std::fs;
use std::io;
use std::path::Path;

use crate::processes::load_all;

/// Whether a process of this program (or of one that is called `{program}-…`) stands in this folder or below it.
///
/// # Errors
/// The processes of this machine can't be listed.
pub fn is_at_work_in(program: &str, folder: &Path) -> io::Result<bool> {
    let folder = folder.canonicalize()?;
    let is_meant = |pid: i32| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let rest = name.trim_end().strip_prefix(program);
        let is_program = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'));
        is_program
            && fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&folder))
    };
    Ok(load_all()?.values().any(|process| !process.is_zombie && is_meant(process.pid)))
}
