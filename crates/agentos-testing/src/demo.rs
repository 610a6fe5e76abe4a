//! The durable core, shown to a person: one run, executed in peace, then killed and recovered.
//!
//! What is shown is what happened. The clock, the commands and the store are simulated, so that the demonstration takes
//! no time and is the same each time; the core that decides is the real one. The second run really loses everything that
//! a killed process loses, and the closing comparison is made, not claimed.

mod machine;
mod narrate;
mod paint;
mod process;
mod workflow;

use std::io::{self, Write};

use agentos_core::entry::Record;

use machine::Machine;
use narrate::Narrator;
pub use paint::Paint;
use process::{Life, live};

/// The commit that [`play`] kills after unless told otherwise: tests and review are ordered and have not begun.
pub const KILL_AFTER: u32 = 5;

/// How the demonstration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Both logs are equal, and no command was started twice.
    Equal,
    /// They are not.
    Different,
    /// The run has fewer commits than the one to be killed after.
    NotKilled {
        /// So many.
        commits: u32,
    },
}

/// Plays the demonstration.
///
/// # Errors
/// If `out` can't be written to.
pub fn play(out: &mut dyn Write, paint: Paint, kill_after: u32) -> io::Result<Verdict> {
    let mut narrator = Narrator::new(out, paint);
    narrator.introduce()?;

    let mut peaceful = Machine::new();
    narrator.heading("Uninterrupted")?;
    let ended = live(&mut peaceful, &mut narrator, None)?;
    if kill_after == 0 || kill_after > ended.commits {
        return Ok(Verdict::NotKilled { commits: ended.commits });
    }

    let mut struck = Machine::new();
    narrator.heading(&format!("Killed after commit {kill_after}, before its effects"))?;
    let killed = live(&mut struck, &mut narrator, Some(kill_after))?;
    recover(&mut struck, &killed, &mut narrator)?;
    compare(&peaceful, &struck, &killed, &mut narrator)
}

/// A new process finds nothing but the log, and goes on.
fn recover(machine: &mut Machine, killed: &Life, narrator: &mut Narrator<'_>) -> io::Result<()> {
    narrator.killed(machine, killed)?;
    machine.owner_dies();
    if killed.ended {
        return Ok(());
    }
    narrator.recovered(machine)?;
    live(machine, narrator, None)?;
    Ok(())
}

fn compare(
    peaceful: &Machine,
    struck: &Machine,
    killed: &Life,
    narrator: &mut Narrator<'_>,
) -> io::Result<Verdict> {
    let (expected, found): (Vec<Record>, Vec<Record>) = (peaceful.log(), struck.log());
    let once = struck.commands().all(|command| command.starts == 1);
    narrator.show_log(&found, killed)?;
    let equal = expected == found;
    narrator.close(&expected, &found, struck)?;
    Ok(if equal && once { Verdict::Equal } else { Verdict::Different })
}
