//! One life of the process that executes the run: claim, fold, replay, then turn after turn.
//!
//! This is all that a driver has to do. It keeps nothing to itself: when it is killed, everything in here is gone.

use std::io;
use std::rc::Rc;

use agentos_core::effect::{Effect, Happening};
use agentos_core::execution::{Execution, Options};
use agentos_core::id::{Epoch, Seq};
use agentos_core::journal::Journal;
use agentos_core::time::Timestamp;
use agentos_core::turn::Turn;
use agentos_store::claim::ClaimMode;
use agentos_store::commit::TurnCommit;
use agentos_store::store::Store;
use pollster::block_on;

use super::machine::Machine;
use super::narrate::Narrator;
use super::workflow;
use crate::script::Script;

/// More turns than the workflow needs.
const TURNS: u32 = 100;

/// What is known of a process that is gone.
#[derive(Debug)]
pub(super) struct Life {
    /// Whether it saw the end of the run.
    pub(super) ended: bool,
    /// How often it committed.
    pub(super) commits: u32,
    /// Where its last commit began.
    pub(super) last_commit: Seq,
    /// Where the log ended after it.
    pub(super) head: Seq,
    /// What it had committed to and not begun.
    pub(super) not_begun: Vec<Effect>,
}

/// A process that executes the run.
struct Process<'a> {
    machine: &'a mut Machine,
    execution: Execution<Script>,
    epoch: Epoch,
    life: Life,
}

/// Executes the run until it has ended, or until the process is killed.
pub(super) fn live(
    machine: &mut Machine,
    narrator: &mut Narrator<'_>,
    kill_after: Option<u32>,
) -> io::Result<Life> {
    let (mut process, mut turn) = Process::start(machine);
    for _ in 0..TURNS {
        let effects = std::mem::take(&mut turn.effects);
        if !turn.is_empty() {
            narrator.committed(&turn.chunk)?;
            process.commit(turn);
            if kill_after == Some(process.life.commits) {
                process.life.not_begun = effects;
                break;
            }
        }
        for effect in &effects {
            let performed = process.machine.perform(effect);
            narrator.performs(process.machine.now, effect, performed)?;
        }
        if process.life.ended {
            break;
        }
        turn = process.take_turn();
    }
    Ok(process.life)
}

impl<'a> Process<'a> {
    /// Takes the run and executes its program from the top, up to where its log ends.
    fn start(machine: &'a mut Machine) -> (Self, Turn) {
        let claim = machine.store.claim(machine.run, machine.owner(), ClaimMode::IfFree);
        let epoch = block_on(claim).expect("nobody else has the run").epoch;
        let journal = Journal::fold(machine.log()).expect("the log is one that the core wrote");
        let program = Script::new(Rc::new(workflow::program()));
        let now = Timestamp(machine.now);
        let (execution, turn) = Execution::replay(program, journal, Options::default(), now)
            .expect("the program is the one that wrote the log");
        let life = Life {
            ended: false,
            commits: 0,
            last_commit: Seq::FIRST,
            head: Seq::FIRST,
            not_begun: Vec::new(),
        };
        (Self { machine, execution, epoch, life }, turn)
    }

    fn commit(&mut self, turn: Turn) {
        let Turn { chunk, consumed, standing, .. } = turn;
        self.life.commits += 1;
        self.life.last_commit = chunk.first;
        self.life.ended = standing.is_ended();
        let commit = TurnCommit {
            run: self.machine.run,
            epoch: self.epoch,
            expected: chunk.first,
            chunk,
            consumed,
            standing,
            outgoing: Vec::new(),
        };
        let answer = block_on(self.machine.store.commit(vec![commit])).pop();
        let answer = answer.expect("a commit is answered");
        self.life.head = answer.expect("the store takes its owner's commit").head;
    }

    /// Waits until something happens, and lets the program go on.
    fn take_turn(&mut self) -> Turn {
        let first_timer = self.execution.timers().next().map(|(due, _)| due);
        let mut happenings = self.machine.wait(first_timer);
        let now = Timestamp(self.machine.now);
        let due = self.execution.timers().take_while(|(due, _)| *due <= now);
        happenings.extend(due.map(|(_, timer)| Happening::Timer(timer.clone())));
        self.execution.advance(happenings, now).expect("the core goes on")
    }
}
