//! Makes a supervisor look at once, instead of within a second.
//!
//! A socket without a place on disk, named after the directory: making a file would cost more than all the rest, and a user
//! has only some hundred inotify instances. What is sent says nothing, so it does not matter who sends it; what counts are
//! the files.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::directory::Directory;

/// Where the supervisor of a directory is called.
fn address(directory: &Directory) -> io::Result<SocketAddr> {
    let found = directory.path().metadata()?;
    SocketAddr::from_abstract_name(format!("agentos-process/{}/{}", found.dev(), found.ino()))
}

/// Listens for calls. If that is not possible, the supervisor looks by itself from time to time.
pub(crate) fn listen(directory: &Directory) -> Option<UnixDatagram> {
    let socket = UnixDatagram::bind_addr(&address(directory).ok()?).ok()?;
    socket.set_nonblocking(true).ok()?;
    Some(socket)
}

/// Calls whoever listens. If nobody does, nobody has to be called.
pub(crate) fn call(directory: &Directory) {
    let called = UnixDatagram::unbound().and_then(|socket| {
        // One who has too many calls already does not need another.
        socket.set_nonblocking(true)?;
        socket.send_to_addr(b"!", &address(directory)?)
    });
    let _unheard = called;
}
