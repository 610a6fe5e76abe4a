//! Smaller versions of a program that failed.

use super::Node;

/// How large a program is.
#[must_use]
pub fn size(node: &Node) -> usize {
    1 + children(node).iter().map(|child| size(child)).sum::<usize>()
        + match node {
            Node::Step { attempts, .. } => *attempts as usize,
            Node::Repeat { times, .. } => *times as usize,
            _ => 0,
        }
}

fn children(node: &Node) -> Vec<&Node> {
    match node {
        Node::Seq { of } | Node::All { of } | Node::Race { of } => of.iter().collect(),
        Node::Step { body, .. } | Node::Phase { body, .. } | Node::Repeat { body, .. } => {
            vec![body]
        }
        Node::Try { body, rescue, cleanup } => [Some(body), rescue.as_ref(), Some(cleanup)]
            .into_iter()
            .flatten()
            .map(AsRef::as_ref)
            .collect(),
        _ => Vec::new(),
    }
}

/// Every program that is this one with something taken away, the boldest cuts first.
#[must_use]
pub fn shrinks(node: &Node) -> Vec<Node> {
    let mut smaller: Vec<Node> = children(node).into_iter().cloned().collect();
    match node {
        Node::Seq { of } | Node::All { of } | Node::Race { of } => {
            if of.len() > 1 {
                smaller.extend((0..of.len()).map(|cut| {
                    let kept = of.iter().enumerate().filter(|(index, _)| *index != cut);
                    with_list(node, kept.map(|(_, node)| node.clone()).collect())
                }));
            }
            for (index, child) in of.iter().enumerate() {
                smaller.extend(shrinks(child).into_iter().map(|shrunk| {
                    let mut of = of.clone();
                    of[index] = shrunk;
                    with_list(node, of)
                }));
            }
        }
        Node::Step { name, body, attempts, delay, timeout, own } => {
            let step = |body: Node, attempts| Node::Step {
                name: name.clone(),
                body: Box::new(body),
                attempts,
                delay: *delay,
                timeout: *timeout,
                own: *own,
            };
            if *attempts > 1 {
                smaller.push(step((**body).clone(), attempts - 1));
            }
            smaller.extend(shrinks(body).into_iter().map(|body| step(body, *attempts)));
        }
        Node::Phase { name, body } => {
            smaller.extend(
                shrinks(body)
                    .into_iter()
                    .map(|body| Node::Phase { name: name.clone(), body: Box::new(body) }),
            );
        }
        Node::Repeat { times, body } => {
            let repeat = |body: Node, times| Node::Repeat { times, body: Box::new(body) };
            if *times > 1 {
                smaller.push(repeat((**body).clone(), times - 1));
            }
            smaller.extend(shrinks(body).into_iter().map(|body| repeat(body, *times)));
        }
        Node::Try { body, rescue, cleanup } => {
            smaller.extend(shrink_try(body, rescue.as_deref(), cleanup))
        }
        _ => {}
    }
    smaller.retain(|shrunk| size(shrunk) < size(node));
    smaller
}

fn with_list(node: &Node, of: Vec<Node>) -> Node {
    match node {
        Node::All { .. } => Node::All { of },
        Node::Race { .. } => Node::Race { of },
        _ => Node::Seq { of },
    }
}

fn shrink_try(body: &Node, rescue: Option<&Node>, cleanup: &Node) -> Vec<Node> {
    let attempt = |body: &Node, rescue: Option<&Node>, cleanup: &Node| Node::Try {
        body: Box::new(body.clone()),
        rescue: rescue.map(|rescue| Box::new(rescue.clone())),
        cleanup: Box::new(cleanup.clone()),
    };
    let mut smaller = Vec::new();
    if let Some(rescue) = rescue {
        smaller.push(attempt(body, None, cleanup));
        smaller.extend(shrinks(rescue).iter().map(|rescue| attempt(body, Some(rescue), cleanup)));
    }
    smaller.extend(shrinks(body).iter().map(|body| attempt(body, rescue, cleanup)));
    smaller.extend(shrinks(cleanup).iter().map(|cleanup| attempt(body, rescue, cleanup)));
    smaller
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::{Generator, Shape};

    #[test]
    fn every_shrink_is_smaller_and_shrinking_ends() {
        for seed in 0..8 {
            let mut node = Generator::new(seed, Shape::Everything).program();
            let mut steps = 0;
            while let Some(smaller) = shrinks(&node).into_iter().next() {
                assert!(size(&smaller) < size(&node));
                node = smaller;
                steps += 1;
            }
            assert!(steps > 0 && shrinks(&node).is_empty());
        }
    }
}
