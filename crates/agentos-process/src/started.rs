//! `started.json`: that somebody has begun, and how to find what he left if he dies.

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
}

/// Which start of the machine this is; empty where the system does not tell.
pub(crate) fn boot() -> String {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    text.trim().to_owned()
}
