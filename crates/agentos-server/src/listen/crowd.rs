//! Who is connected, counted: in all, by peer, and strangers apart from the user whose server it is.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::access::Peer;

/// Everybody who is counted as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Party {
    User(u32),
    Address(IpAddr),
}

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    strangers: usize,
    parties: HashMap<Party, usize>,
}

/// Who is connected.
#[derive(Debug)]
pub(super) struct Crowd {
    counts: Arc<Mutex<Counts>>,
    all: usize,
    strangers: usize,
    per_peer: usize,
}

impl Crowd {
    pub(super) fn new(all: usize, per_peer: usize) -> Self {
        Self { counts: Arc::default(), all, strangers: all - all / 4, per_peer }
    }

    /// A place for one more connection, if there is one. It is given back when it is dropped.
    pub(super) fn enter(&self, peer: &Peer, is_same_user: bool) -> Option<Place> {
        let party = match (peer.uid(), peer) {
            (Some(uid), _) => Party::User(uid),
            (None, Peer::Unknown { address } | Peer::Local { address, .. }) => {
                Party::Address(network(address.ip()))
            }
            (None, Peer::Unix { uid, .. }) => Party::User(*uid),
        };
        let mut counts = lock(&self.counts);
        let of_party = counts.parties.get(&party).copied().unwrap_or(0);
        let is_full = counts.all >= self.all
            || of_party >= self.per_peer
            || (!is_same_user && counts.strangers >= self.strangers);
        if is_full {
            return None;
        }
        counts.all += 1;
        counts.strangers += usize::from(!is_same_user);
        counts.parties.insert(party, of_party + 1);
        Some(Place { counts: self.counts.clone(), party, is_stranger: !is_same_user })
    }
}

/// Somebody who has one address of IPv6 has more of them than anybody can count.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let mut bytes = address.octets();
            bytes[8..].fill(0);
            IpAddr::V6(bytes.into())
        }
        address => address,
    }
}

fn lock(counts: &Mutex<Counts>) -> MutexGuard<'_, Counts> {
    counts.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A place of one connection.
#[derive(Debug)]
pub(super) struct Place {
    counts: Arc<Mutex<Counts>>,
    party: Party,
    is_stranger: bool,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut counts = lock(&self.counts);
        counts.all -= 1;
        counts.strangers -= usize::from(self.is_stranger);
        match counts.parties.get_mut(&self.party) {
            Some(count) if *count > 1 => *count -= 1,
            _ => {
                counts.parties.remove(&self.party);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Peer {
        Peer::Unix { uid: 7, pid: None }
    }

    fn from(address: &str) -> Peer {
        Peer::Unknown { address: format!("{address}:1").parse().unwrap() }
    }

    #[test]
    fn strangers_leave_a_quarter_to_the_one_whose_server_it_is() {
        let crowd = Crowd::new(8, 8);
        let strangers: Vec<_> =
            (0..10).filter_map(|n| crowd.enter(&from(&format!("10.0.0.{n}")), false)).collect();
        assert_eq!(strangers.len(), 6);
        let owners: Vec<_> = (0..10).filter_map(|_| crowd.enter(&own(), true)).collect();
        assert_eq!(owners.len(), 2);
        drop((strangers, owners));
        let owners: Vec<_> = (0..10).filter_map(|_| crowd.enter(&own(), true)).collect();
        assert_eq!(owners.len(), 8);
        drop(owners);
        assert!(lock(&crowd.counts).parties.is_empty(), "nobody is remembered");
    }

    #[test]
    fn one_peer_gets_its_share_and_a_network_of_addresses_is_one_peer() {
        let crowd = Crowd::new(100, 2);
        let places = ["[2001:db8::1]", "[2001:db8::2]", "[2001:db8::3]", "[2001:db8:0:1::1]"]
            .map(|address| crowd.enter(&from(address), false));
        assert_eq!(places.map(|place| place.is_some()), [true, true, false, true]);
    }
}
