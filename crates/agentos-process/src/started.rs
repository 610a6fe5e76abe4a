//! `started.json`: that somebody has begun, and how to find what he left if he dies.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::processes::{Process, load_all};
use crate::token::Token;

/// That a supervisor has begun. Written before there is a child.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// The supervisor's process, and the session of everything below it that made none of its own.
    pub supervisor: i32,
    /// When the supervisor's process began, in ticks since the machine started.
    pub since_ticks: u64,
    /// Which start of the machine that was.
    pub boot: String,
    /// What everything below it has in its environment.
    pub token: Token,
    /// The control group of everything below it, if it has one.
    pub group: Option<PathBuf>,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The supervisor has left because there was no room for the record of how the command ended.
    #[serde(default)]
    pub out_of_room: bool,
}

impl Started {
    /// The process of the command itself, while it and its supervisor live and can be seen.
    #[must_use]
    pub fn load_command_pid(&self) -> Option<i32> {
        Process::load(self.supervisor).filter(|found| found.since_ticks == self.since_ticks)?;
        let all = load_all().ok()?;
        let below = all.values().filter(|process| process.parent == self.supervisor);
        let alive = below.filter(|process| !process.is_zombie);
        // What lost its parents is below the supervisor too, but began later.
        alive.min_by_key(|process| (process.since_ticks, process.pid)).map(|process| process.pid)
    }
}

/// Which start of the machine this is; empty where the system does not tell.
pub(crate) fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
