//! Who is let in. Pure: tickets in, decisions out.

use std::collections::{BTreeMap, HashSet};

use super::claim::{Claim, Wish};

/// How many runs may be started by one another before it is not followed any further.
const DEPTH: u32 = 16;

/// How many names are told.
const NAMES: usize = 5;

/// A ticket that somebody who lives has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    /// The name of its file; they are in the order in which people came.
    pub(super) name: String,
    pub(super) is_in: bool,
    pub(super) wish: Wish,
}

/// Lets in everybody for whom there is room, in the order in which they came; which ones.
pub(super) fn let_in(tickets: &mut [Found]) -> Vec<usize> {
    let mut fresh = Vec::new();
    for index in 0..tickets.len() {
        if !tickets[index].is_in && in_the_way(tickets, index).is_none() {
            tickets[index].is_in = true;
            fresh.push(index);
        }
    }
    fresh
}

/// The first claim of a ticket for which there is no room, and how much there is.
fn in_the_way(tickets: &[Found], index: usize) -> Option<(&Claim, u32)> {
    let ticket = &tickets[index];
    let limited = ticket.wish.claims.iter().filter_map(|claim| Some((claim, claim.limit?)));
    limited.into_iter().find(|(claim, limit)| {
        let inside = inside(tickets, &claim.key);
        let who = counted(tickets, ticket, claim, 0);
        !inside.contains_key(who) && inside.len() >= *limit as usize
    })
}

/// Who is in under a key: each with the name of a run.
fn inside<'a>(tickets: &'a [Found], key: &str) -> BTreeMap<&'a str, &'a str> {
    let mut inside = BTreeMap::new();
    for ticket in tickets.iter().filter(|ticket| ticket.is_in) {
        if let Some(claim) = ticket.wish.claim(key) {
            let who = counted(tickets, ticket, claim, 0);
            let name = inside.entry(who).or_insert(ticket.wish.name.as_str());
            if who == claim.who {
                *name = &ticket.wish.name;
            }
        }
    }
    inside
}

/// As whom a ticket counts under a claim: as the run that started it, if that has the same.
fn counted<'a>(tickets: &'a [Found], ticket: &'a Found, claim: &'a Claim, depth: u32) -> &'a str {
    let Some(place) = ticket.wish.within.as_ref().filter(|_| depth < DEPTH) else {
        return &claim.who;
    };
    let outer = tickets.iter().find_map(|outer| {
        let is_it = outer.is_in && outer.name != ticket.name && outer.wish.place == *place;
        let same = outer.wish.claim(&claim.key).filter(|_| is_it)?;
        Some((outer, same))
    });
    outer.map_or(&claim.who, |(outer, same)| counted(tickets, outer, same, depth + 1))
}

/// Why a ticket is not in, for people; nothing if it is.
pub(super) fn why_not(tickets: &[Found], name: &str) -> Option<String> {
    let index = tickets.iter().position(|ticket| ticket.name == name && !ticket.is_in)?;
    let Some((claim, limit)) = in_the_way(tickets, index) else {
        return Some("its turn is about to come".to_owned());
    };
    let inside = inside(tickets, &claim.key);
    let names: HashSet<&str> = inside.values().copied().collect();
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_unstable();
    let rest = names.len().saturating_sub(NAMES);
    names.truncate(NAMES);
    let mut who = names.join(", ");
    if rest > 0 {
        who = format!("{who} and {rest} more");
    }
    let before = tickets[..index]
        .iter()
        .filter(|other| !other.is_in && other.wish.claim(&claim.key).is_some());
    let turn = match before.count() {
        0 => String::new(),
        before => format!("; {before} before it"),
    };
    let (count, what) = (inside.len(), &claim.what);
    Some(format!("{count} of {limit} {what} at work: {who}{turn}"))
}
