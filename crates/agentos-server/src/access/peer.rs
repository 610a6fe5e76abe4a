//! Who is at the other end of a connection, as far as the system can tell.
//!
//! On loopback the kernel knows which user made the other socket. It is asked once, when the connection is accepted, and
//! only an answer that can't be mistaken counts:
//!
//! - The other socket is ESTABLISHED and has a file. One that was closed at once has neither owner nor file, and shows up as
//!   root's; so whoever sends a request and goes away is somebody that nobody knows.
//! - Our own socket is looked up *after* the other one, and is still ESTABLISHED with our own file. A connection that was
//!   reset can still be read from, while its addresses may already belong to somebody else's; had that happened, ours would
//!   not be there any more.

#[cfg(target_os = "linux")]
mod diag;
#[cfg(target_os = "linux")]
mod table;

use std::net::SocketAddr;

use tokio::net::{TcpStream, UnixStream};

/// What the kernel says where it can't name a user: of another namespace, for example.
const OVERFLOW_UID: u32 = 65_534;

/// Who is at the other end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Peer {
    /// Somebody on this machine, by the Unix socket.
    Unix {
        /// The user.
        uid: u32,
        /// The process that connected, if the system tells.
        pid: Option<i32>,
    },
    /// Somebody on this machine, whose user the system has told.
    Local {
        /// Their address.
        address: SocketAddr,
        /// The user.
        uid: u32,
        /// The number of their socket.
        inode: u64,
    },
    /// Anybody: from elsewhere, or nobody can tell.
    Unknown {
        /// Their address.
        address: SocketAddr,
    },
}

/// How a process on the other end can be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace {
    /// By its number.
    Process(i32),
    /// By a socket that it has.
    Socket(u64),
}

impl Peer {
    /// Looks who has connected to us.
    #[must_use]
    pub fn of_tcp(stream: &TcpStream, address: SocketAddr) -> Self {
        match local_user(stream, address) {
            Some((uid, inode)) => Self::Local { address, uid, inode },
            None => Self::Unknown { address },
        }
    }

    /// Looks who has connected to our Unix socket. None if the system does not tell.
    #[must_use]
    pub fn of_unix(stream: &UnixStream) -> Option<Self> {
        let known = stream.peer_cred().ok()?;
        Some(Self::Unix { uid: known.uid(), pid: known.pid().filter(|pid| *pid > 0) })
    }

    /// The user, where that is beyond doubt.
    #[must_use]
    pub fn uid(&self) -> Option<u32> {
        match self {
            Self::Unix { uid, .. } | Self::Local { uid, .. } => {
                Some(*uid).filter(|uid| *uid != OVERFLOW_UID)
            }
            Self::Unknown { .. } => None,
        }
    }

    /// Where to look for the process, if it is on this machine.
    #[must_use]
    pub fn trace(&self) -> Option<Trace> {
        match self {
            Self::Unix { pid, .. } => pid.map(Trace::Process),
            Self::Local { inode, .. } => Some(Trace::Socket(*inode)),
            Self::Unknown { .. } => None,
        }
    }
}

impl std::fmt::Display for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unix { uid, .. } => write!(f, "unix:uid={uid}"),
            Self::Local { address, uid, .. } => write!(f, "{address}:uid={uid}"),
            Self::Unknown { address } => write!(f, "{address}"),
        }
    }
}

/// One socket of this machine, as the kernel describes it.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    is_established: bool,
    uid: u32,
    /// The number of its file; 0 if nobody has it open any more.
    inode: u64,
}

/// The user of the other socket, and its number.
#[cfg(target_os = "linux")]
fn local_user(stream: &TcpStream, peer: SocketAddr) -> Option<(u32, u64)> {
    if !peer.ip().to_canonical().is_loopback() {
        return None;
    }
    let own = stream.local_addr().ok()?;
    let is_whole = |seen: &Seen| seen.is_established && seen.inode != 0;
    let other = look_up(peer, own).filter(is_whole)?;
    let ours = look_up(own, peer).filter(is_whole)?;
    let file = rustix::fs::fstat(stream).ok()?;
    (ours.inode == file.st_ino).then_some((other.uid, other.inode))
}

/// Nobody can be asked.
#[cfg(not(target_os = "linux"))]
fn local_user(_: &TcpStream, _: SocketAddr) -> Option<(u32, u64)> {
    None
}

/// The socket of this machine that has the address `local` and is connected to `remote`.
#[cfg(target_os = "linux")]
fn look_up(local: SocketAddr, remote: SocketAddr) -> Option<Seen> {
    let canonical =
        |address: SocketAddr| SocketAddr::new(address.ip().to_canonical(), address.port());
    let (local, remote) = (canonical(local), canonical(remote));
    match diag::look_up(local, remote) {
        Ok(found) => found,
        // Not every kernel has it. The table says the same, only it has to be read as a whole.
        Err(error) => {
            tracing::debug!(%error, "the kernel is not asked about one socket, but about all");
            table::look_up(local, remote)
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
