//! Who is in a workspace: processes that stand in it or have a file of it open.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct User {
    /// Its number.
    pub pid: u32,
    /// What it is called.
    pub name: String,
}

/// The processes of this machine that can be looked at, other than this one.
pub(super) fn inside(folder: &Path) -> Vec<User> {
    let own = std::process::id();
    let mut users = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok());
        let Some(pid) = pid.filter(|pid| *pid != own) else { continue };
        let process = entry.path();
        if places(&process).any(|place| place.starts_with(folder)) {
            let name = fs::read_to_string(process.join("comm")).unwrap_or_default();
            users.push(User { pid, name: name.trim().to_owned() });
        }
    }
    users
}

/// Where a process is: its current folder, and what it has open. What belongs to another user can't be seen.
fn places(process: &Path) -> impl Iterator<Item = PathBuf> {
    let open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let links = [process.join("cwd")].into_iter().chain(open.map(|entry| entry.path()));
    links.filter_map(|link| fs::read_link(link).ok())
}
