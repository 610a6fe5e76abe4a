//! Whether a run has started some process of this machine, or something that started it.
//!
//! For whoever is asked by another process and has to know whether that is a person's. A guard, not a sandbox: a process that
//! wants to hide where it comes from can.

use std::fs;
use std::path::Path;

use crate::processes::Process;
use crate::token;

/// Whether the process of this number comes from a run. None if there is none, or we may not look.
#[must_use]
pub fn of_process(pid: i32) -> Option<bool> {
    let process = Process::load(pid).filter(|process| !process.is_zombie)?;
    // An environment that can't be read says nothing, and every process that was started by somebody has one.
    fs::read(format!("/proc/{pid}/environ")).ok()?;
    Some(token::is_carried_from(process))
}

/// Whether one of the processes that have this socket open comes from a run. None if nobody has it, as far as we can see.
#[must_use]
pub fn of_socket(inode: u64) -> Option<bool> {
    let name = format!("socket:[{inode}]");
    let mut known = None;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if has_open(&entry.path().join("fd"), &name) {
            match of_process(pid) {
                Some(true) => return Some(true),
                found => known = known.or(found),
            }
        }
    }
    known
}

/// Whether one of a process's descriptors stands for this. What is not ours to look at does not.
fn has_open(descriptors: &Path, name: &str) -> bool {
    let Ok(found) = fs::read_dir(descriptors) else { return false };
    found.flatten().any(|descriptor| {
        fs::read_link(descriptor.path()).is_ok_and(|target| target.as_os_str() == name)
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn the_process_that_has_a_socket_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let inode = rustix::fs::fstat(client.as_fd()).unwrap().st_ino;
        let own = i32::try_from(std::process::id()).unwrap();
        // These tests may themselves be started by a run.
        assert!(of_process(own).is_some());
        assert_eq!(of_socket(inode), of_process(own));
        drop(client);
        assert_eq!(of_socket(inode), None, "nobody has it any more");
        assert_eq!(of_process(-1), None);
    }
}
