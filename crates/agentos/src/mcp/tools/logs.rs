//! What a run has said.

use clap::ValueEnum as _;
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;

use super::{Deed, Scene, Tool};
use crate::commands::logs::{self, Last, Level};
use crate::error::{CommandError, Result};
use crate::mcp::answer::{Answer, MOST_BYTES, head};
use crate::names;

/// How many lines are read if nobody says, and at most.
const USUAL: usize = 100;
const MOST: usize = 2_000;

/// `read_logs`
pub(super) struct ReadLogs;

/// Which lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Which {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// Only this step, by its number; the whole run if left out.
    step: Option<u32>,
    /// Only lines that are at least so loud: trace, debug, info, warn, error or fatal.
    level: Option<String>,
    /// How many of the last lines, from 1 to 2000; 100 if left out.
    #[schemars(range(min = 1, max = 2000))]
    tail: Option<usize>,
}

impl Tool for ReadLogs {
    const NAME: &'static str = "read_logs";
    const TITLE: &'static str = "Read logs";
    const DESCRIPTION: &'static str = "Reads the last lines that a run, or one step of it, has logged: messages of the workflow \
        and what its commands and agents wrote (`|` standard output, `!` standard error). `show_run` lists the steps with their \
        numbers. The same lines as `agentos logs --tail`.";
    const DEED: Deed = Deed::Reads;
    type Arguments = Which;

    async fn call(scene: &Scene, which: Which) -> Result<Answer> {
        let level = which.level.as_deref().map(level_of).transpose()?.unwrap_or(Level::Trace);
        let tail = which.tail.unwrap_or(USUAL);
        if !(1..=MOST).contains(&tail) {
            return Err(CommandError::usage(format!("`tail` has to be from 1 to {MOST}")));
        }
        let store = scene.at(&which.run).await?.look_for(&which.run)?;
        let detail = names::find_detail(&store, &which.run).await?;
        let last = logs::tail(&detail, (which.step, level), Last::new(tail, MOST_BYTES))?;
        let left_out = last.left_out();
        let lines = Vec::from(last.into_lines());
        if lines.is_empty() {
            return Ok(Answer::text("(no lines)".to_owned()));
        }
        let text = lines.join("\n");
        let is_cut = text.len() > MOST_BYTES;
        let mut answer = Answer::text(head(&text, MOST_BYTES));
        if left_out > 0 {
            let lines = if left_out == 1 { "1 line" } else { &format!("{left_out} lines") };
            answer = answer.note(format!(
                "cut: {lines} before these are left out; ask for one `step`, a `level`, or a longer `tail`"
            ));
        }
        Ok(if is_cut {
            answer.note("cut: the last line is longer than an answer may be")
        } else {
            answer
        })
    }
}

fn level_of(text: &str) -> Result<Level> {
    Level::from_str(text, true).map_err(|_| {
        CommandError::usage(format!("there is no level `{text}`"))
            .hint("there are trace, debug, info, warn, error, fatal")
    })
}
