//! The same program, changed: what becomes of a run whose source somebody edits.

use super::Node;
use crate::chance::Chance;

/// The program with some steps keeping an account of their own, and back-offs of all lengths.
#[must_use]
pub fn with_own_accounts(node: &Node, chance: &mut Chance) -> Node {
    let mut changed = node.clone();
    each(&mut changed, &mut |node| {
        if let Node::Step { own, delay, .. } = node {
            *own = chance.percent(60);
            *delay = u64::from(1 + chance.below(12));
        }
    });
    changed
}

/// The program with everything in sequence: what happens at once in it happens one after the other, so that its outcome
/// does not depend on how long things take.
#[must_use]
pub fn in_sequence(node: &Node) -> Node {
    let mut changed = node.clone();
    each(&mut changed, &mut |node| match node {
        Node::All { of } | Node::Race { of } => *node = Node::Seq { of: std::mem::take(of) },
        Node::Forget { name, .. } => *node = Node::Shell { name: name.clone() },
        Node::Step { timeout, .. } => *timeout = 0,
        Node::Now => *node = Node::Random,
        _ => {}
    });
    changed
}

/// The program without what follows from the names of its own operations or waits for nothing: numbers that are pure or
/// drawn, and promises that never settle. What is left means the same to whoever asks for it under other names.
#[must_use]
pub fn in_plain_words(node: &Node) -> Node {
    let mut changed = node.clone();
    each(&mut changed, &mut |node| {
        if matches!(node, Node::Pure { .. } | Node::Random | Node::Now | Node::Never) {
            *node = Node::Log;
        }
    });
    changed
}

/// The program with one or two edits, as people make them.
#[must_use]
pub fn edited(node: &Node, chance: &mut Chance) -> Node {
    let mut changed = node.clone();
    for _ in 0..=chance.below(2) {
        let mut count = 0;
        each(&mut changed, &mut |_| count += 1);
        let (mut index, chosen) = (0, chance.below(count));
        each(&mut changed, &mut |node| {
            if index == chosen {
                edit(node, chance);
            }
            index += 1;
        });
    }
    changed
}

/// Visits every piece, the outermost first.
fn each(node: &mut Node, visit: &mut impl FnMut(&mut Node)) {
    visit(node);
    match node {
        Node::Seq { of } | Node::All { of } | Node::Race { of } => {
            of.iter_mut().for_each(|node| each(node, visit));
        }
        Node::Step { body, .. } | Node::Phase { body, .. } | Node::Repeat { body, .. } => {
            each(body, visit);
        }
        Node::Try { body, rescue, cleanup } => {
            each(body, visit);
            rescue.iter_mut().for_each(|rescue| each(rescue, visit));
            each(cleanup, visit);
        }
        _ => {}
    }
}

/// Changes one piece.
fn edit(node: &mut Node, chance: &mut Chance) {
    match node {
        Node::Seq { of } | Node::All { of } => {
            let place = chance.below(u32::try_from(of.len()).unwrap_or(0) + 1) as usize;
            match chance.below(4) {
                0 if of.len() > 1 => {
                    of.remove(place.min(of.len() - 1));
                }
                1 if of.len() > 1 => of.rotate_left(1),
                _ => of.insert(place, something(chance)),
            }
        }
        Node::Step { attempts, delay, timeout, .. } => match chance.below(3) {
            0 => *attempts = 1 + chance.below(3),
            1 => *delay += 1,
            _ => *timeout = u64::from(chance.below(9)),
        },
        Node::Shell { name } if chance.percent(30) => {
            *node = Node::Artifact { name: name.clone() };
        }
        Node::Shell { name } => name.push('x'),
        Node::Sleep { ms, .. } | Node::Wait { ms, .. } | Node::Approve { ms, .. } => *ms += 3,
        Node::Set { value, .. } => *value += 1,
        Node::Repeat { times, .. } => *times = 1 + chance.below(3),
        other => *other = something(chance),
    }
}

fn something(chance: &mut Chance) -> Node {
    let name = || "new".to_owned();
    match chance.below(6) {
        0 => Node::Set { key: name(), value: 1 },
        1 => Node::Get { key: "a".to_owned() },
        2 => Node::Sleep { name: name(), ms: 2 },
        3 => Node::Random,
        4 => Node::Step {
            name: name(),
            body: Box::new(Node::Shell { name: name() }),
            attempts: 1,
            delay: 1,
            timeout: 0,
            own: true,
        },
        _ => Node::Shell { name: name() },
    }
}
