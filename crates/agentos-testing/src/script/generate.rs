//! Random programs from a seed.

use super::Node;
use crate::chance::Chance;

/// Which parts of the language a generated program uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All of it.
    Everything,
    /// Without what ends the program early, so that long programs stay long.
    Steady,
}

/// Makes programs up.
#[derive(Debug)]
pub struct Generator {
    chance: Chance,
    shape: Shape,
    invokes: Option<String>,
}

impl Generator {
    /// The generator of this seed.
    #[must_use]
    pub fn new(seed: u64, shape: Shape) -> Self {
        Self { chance: Chance::new(format!("program {seed}")), shape, invokes: None }
    }

    /// The same, for programs that invoke this workflow.
    #[must_use]
    pub fn invoking(mut self, workflow: impl Into<String>) -> Self {
        self.invokes = Some(workflow.into());
        self
    }

    /// A small program, for a child run.
    pub fn small_program(&mut self) -> Node {
        Node::Seq { of: vec![self.node(2), self.node(2)] }
    }

    /// A program.
    pub fn program(&mut self) -> Node {
        Node::Seq { of: vec![self.node(4), self.node(3), self.node(3)] }
    }

    fn name(&mut self) -> String {
        (*self.chance.pick(&["a", "b", "c"])).to_owned()
    }

    fn seq(&mut self, depth: u32, most: u32) -> Node {
        let count = 1 + self.chance.below(most);
        Node::Seq { of: (0..count).map(|_| self.node(depth.saturating_sub(1))).collect() }
    }

    fn boxed(&mut self, depth: u32, most: u32) -> Box<Node> {
        Box::new(self.seq(depth, most))
    }

    fn node(&mut self, depth: u32) -> Node {
        let draw = self.chance.below(100);
        if depth == 0 || draw < 38 {
            return self.leaf();
        }
        match draw {
            38..50 => self.seq(depth, 4),
            50..66 => Node::Step {
                name: self.name(),
                body: self.boxed(depth, 4),
                attempts: 1 + self.chance.below(3),
                delay: u64::from(1 + self.chance.below(3)),
                timeout: if self.chance.percent(20) {
                    u64::from(2 + self.chance.below(8))
                } else {
                    0
                },
                own: false,
            },
            66..68 => Node::Phase { name: self.name(), body: self.boxed(depth, 3) },
            68..80 => {
                let branches = 2 + u32::from(self.chance.percent(30));
                Node::All { of: (0..branches).map(|_| self.seq(depth, 3)).collect() }
            }
            80..90 => Node::Race { of: vec![self.seq(depth, 2), self.seq(depth, 2)] },
            90..96 => Node::Try {
                body: self.boxed(depth, 3),
                rescue: self.chance.percent(40).then(|| self.boxed(depth, 2)),
                cleanup: self.boxed(depth, 2),
            },
            _ => Node::Repeat { times: 2 + self.chance.below(2), body: self.boxed(depth, 2) },
        }
    }

    fn leaf(&mut self) -> Node {
        let steady = self.shape == Shape::Steady;
        match self.chance.below(100) {
            0..8 if let Some(workflow) = self.invokes.clone() => Node::Invoke { name: workflow },
            0..20 => Node::Shell { name: self.name() },
            20..32 => Node::Pure { name: self.name() },
            32..43 => Node::Set { key: self.name(), value: i64::from(self.chance.below(9)) },
            43..56 => Node::Get { key: self.name() },
            56..58 => Node::Delete { key: self.name() },
            58..65 => Node::Random,
            65..71 => Node::Now,
            71..79 => Node::Sleep { name: self.name(), ms: u64::from(1 + self.chance.below(4)) },
            79..82 => Node::Approve { name: self.name(), ms: u64::from(1 + self.chance.below(8)) },
            82..87 => Node::Wait {
                name: (*self.chance.pick(&["ev0", "ev1"])).to_owned(),
                ms: u64::from(1 + self.chance.below(8)),
            },
            87..91 => Node::Forget { name: self.name(), caught: steady || self.chance.percent(75) },
            91..93 => Node::Comment { on_run: self.chance.percent(50) },
            93..95 => Node::Log,
            95..96 => Node::Artifact { name: self.name() },
            96..98 if !steady => Node::Throw { retryable: self.chance.percent(70) },
            98..99 if !steady => Node::Skip,
            99 if !steady => Node::Never,
            _ => Node::Pure { name: self.name() },
        }
    }
}
