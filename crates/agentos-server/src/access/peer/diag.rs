//! Asking the kernel about one socket: `sock_diag(7)`, which finds it by its addresses without looking at the others.

use std::io;
use std::net::{IpAddr, SocketAddr};

use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

use super::Seen;

/// `nlmsghdr`
const HEADER: usize = 16;
/// `inet_diag_req_v2`
const REQUEST: usize = 56;
/// `inet_diag_msg`
const ANSWER: usize = 72;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const NLM_F_REQUEST: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const IPPROTO_TCP: u8 = 6;
const TCP_ESTABLISHED: u8 = 1;

/// The socket of this machine that has the address `local` and is connected to `remote`.
///
/// # Errors
/// The kernel has no such question, or we may not ask it.
pub(super) fn look_up(local: SocketAddr, remote: SocketAddr) -> io::Result<Option<Seen>> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &question(local, remote), SendFlags::empty(), &kernel)?;
    let mut answer = [0_u8; 1024];
    // It has answered before the question was sent.
    let (length, _) = rustix::net::recv(&socket, &mut answer[..], RecvFlags::DONTWAIT)?;
    read(answer.get(..length).unwrap_or_default(), local.port(), remote.port())
}

fn question(local: SocketAddr, remote: SocketAddr) -> [u8; HEADER + REQUEST] {
    let mut bytes = [0_u8; HEADER + REQUEST];
    let mut at = 0;
    let mut put = |part: &[u8]| {
        bytes[at..at + part.len()].copy_from_slice(part);
        at += part.len();
    };
    put(&((HEADER + REQUEST) as u32).to_ne_bytes());
    put(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    put(&NLM_F_REQUEST.to_ne_bytes());
    // Sequence number and sender.
    put(&[0; 8]);
    let family = match local {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    // Nothing beside the fixed part, one byte of padding, in any state.
    put(&[family.as_raw() as u8, IPPROTO_TCP, 0, 0]);
    put(&u32::MAX.to_ne_bytes());
    put(&local.port().to_be_bytes());
    put(&remote.port().to_be_bytes());
    put(&padded(local.ip()));
    put(&padded(remote.ip()));
    // Any interface, and we know no cookie of it.
    put(&[0; 4]);
    put(&[0xff; 8]);
    bytes
}

fn padded(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V6(address) => address.octets(),
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&address.octets());
            bytes
        }
    }
}

fn read(answer: &[u8], local: u16, remote: u16) -> io::Result<Option<Seen>> {
    let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let kind = u16::from_ne_bytes(part(answer, 4).ok_or_else(short)?);
    if kind == NLMSG_ERROR {
        let code = i32::from_ne_bytes(part(answer, HEADER).ok_or_else(short)?);
        let error = io::Error::from_raw_os_error(-code);
        return if error.kind() == io::ErrorKind::NotFound { Ok(None) } else { Err(error) };
    }
    if kind != SOCK_DIAG_BY_FAMILY || answer.len() < HEADER + ANSWER {
        return Err(short());
    }
    let [_, state, _, _]: [u8; 4] = part(answer, HEADER).ok_or_else(short)?;
    let ports = [part(answer, HEADER + 4), part(answer, HEADER + 6)];
    let is_it = ports == [Some(local.to_be_bytes()), Some(remote.to_be_bytes())];
    let uid = u32::from_ne_bytes(part(answer, HEADER + 64).ok_or_else(short)?);
    let inode = u32::from_ne_bytes(part(answer, HEADER + 68).ok_or_else(short)?);
    // Where nobody is connected, it may name whoever listens there.
    Ok(is_it.then_some(Seen {
        is_established: state == TCP_ESTABLISHED,
        uid,
        inode: u64::from(inode),
    }))
}

fn part<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}
