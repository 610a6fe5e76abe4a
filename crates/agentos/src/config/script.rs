//! `[script]`: how much one turn of a TypeScript workflow may use.

use agentos_script::limits::Limits;
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

const MEGABYTE: usize = 1 << 20;

/// `[script]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Script {
    /// Memory of one execution, in megabytes.
    pub(crate) memory_mb: Setting<u32>,
    /// Processor time between one answer and the next, in milliseconds.
    pub(crate) turn_ms: Setting<u32>,
}

impl Script {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("script.memory_mb", &self.memory_mb), Row::of("script.turn_ms", &self.turn_ms)]
    }

    /// The limits of every execution.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            memory_bytes: self.memory_mb.value as usize * MEGABYTE,
            turn_ms: u64::from(self.turn_ms.value),
            ..Limits::default()
        }
    }
}

/// `[script]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    memory_mb: Option<Spanned<Memory>>,
    turn_ms: Option<Spanned<Turn>>,
}

/// Megabytes.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Memory(u32);

impl TryFrom<i64> for Memory {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        let sane = u32::try_from(number).ok().filter(|number| (8..=4_096).contains(number));
        sane.map(Self).ok_or("must be between 8 and 4096")
    }
}

/// Milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Turn(u32);

impl TryFrom<i64> for Turn {
    type Error = &'static str;

    fn try_from(number: i64) -> Result<Self, &'static str> {
        let sane = u32::try_from(number).ok().filter(|number| (10..=600_000).contains(number));
        sane.map(Self).ok_or("must be between 10 and 600000")
    }
}

/// `[script]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    memory_mb: Option<Setting<u32>>,
    turn_ms: Option<Setting<u32>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self {
            memory_mb: written.memory_mb.map(|number| file.setting(number, |number| number.0)),
            turn_ms: written.turn_ms.map(|number| file.setting(number, |number| number.0)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            memory_mb: self.memory_mb.or(below.memory_mb),
            turn_ms: self.turn_ms.or(below.turn_ms),
        }
    }

    pub(super) fn or_default(self) -> Script {
        let limits = Limits::default();
        let memory = u32::try_from(limits.memory_bytes / MEGABYTE).unwrap_or(u32::MAX);
        let turn = u32::try_from(limits.turn_ms).unwrap_or(u32::MAX);
        Script {
            memory_mb: self.memory_mb.unwrap_or(Setting::default(memory)),
            turn_ms: self.turn_ms.unwrap_or(Setting::default(turn)),
        }
    }
}
