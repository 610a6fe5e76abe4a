//! The kernel's table of sockets, `/proc/net/tcp` and `tcp6`: for kernels that can't be asked about one.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::Seen;

const ESTABLISHED: &str = "01";

/// The socket of this machine that has the address `local` and is connected to `remote`.
pub(super) fn look_up(local: SocketAddr, remote: SocketAddr) -> Option<Seen> {
    // A program that speaks IPv6 can have an IPv4 connection; it is in the other table.
    ["/proc/net/tcp", "/proc/net/tcp6"].iter().find_map(|table| {
        let text = fs::read_to_string(table).ok()?;
        text.lines().skip(1).find_map(|line| row(line, local, remote))
    })
}

/// `sl local remote state queues timer retransmits uid timeout inode …`
fn row(line: &str, local: SocketAddr, remote: SocketAddr) -> Option<Seen> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (found_local, found_remote) = (fields.next()?, fields.next()?);
    if address(found_local)? != local || address(found_remote)? != remote {
        return None;
    }
    let state = fields.next()?;
    let uid = fields.nth(3)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok()?;
    Some(Seen { is_established: state == ESTABLISHED, uid, inode })
}

/// `0100007F:1F90`: words in the machine's order, the port as people write it.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let mut bytes = [0; 16];
            for (number, part) in bytes.chunks_exact_mut(4).enumerate() {
                part.copy_from_slice(&word(number * 8)?);
            }
            IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}
