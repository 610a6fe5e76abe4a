//! Runs a build behind one progress line: its output goes to a file, and is shown only if the build fails.
//!
//! On a terminal the line is drawn anew in place; elsewhere a line is printed now and then, so that a reader of the log sees
//! that the build goes on.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{CommandLine, is_terminal, pause, say};
use crate::stopwatch::{self, Stopwatch};

/// How often the line is drawn, and how often a line is printed where it can't be drawn anew.
const REDRAW: Duration = Duration::from_millis(250);
const PRINT: Duration = Duration::from_secs(30);

/// How much of the output is shown when the build fails.
const SHOWN_LINES: usize = 40;

/// Runs `command`, called `title` on the progress line. Its output goes to `log`.
///
/// # Errors
/// If the command fails, after the end of its output was printed; or if `is_interrupted` becomes true.
pub(crate) fn run(
    title: &str,
    command: &CommandLine,
    log: &Path,
    is_interrupted: &AtomicBool,
) -> Result<()> {
    let clock = Stopwatch::start();
    let mut running = command.start_into(log)?;
    let mut printed = Duration::ZERO;
    let status = loop {
        if let Some(status) = running.ended()? {
            break status;
        }
        ensure!(!is_interrupted.load(Ordering::Relaxed), "interrupted");
        let elapsed = clock.elapsed();
        if is_terminal() {
            draw(&line(title, elapsed, &output(log)));
        } else if elapsed - printed >= PRINT {
            say(line(title, elapsed, &output(log)));
            printed = elapsed;
        }
        pause(REDRAW);
    };
    if is_terminal() {
        draw("");
    }
    ensure!(!is_interrupted.load(Ordering::Relaxed), "interrupted");
    if !status.success() {
        for line in last_lines(&output(log)) {
            say(line);
        }
        bail!("`{command}` failed ({status}); its whole output is in {}", log.display());
    }
    say(format!("  {title}: {}", stopwatch::shown(clock.elapsed())));
    Ok(())
}

/// `  AgentOS: 1m 07s, 212 crates compiled, now oxc_parser`
fn line(title: &str, elapsed: Duration, output: &str) -> String {
    let names = output.lines().filter_map(|line| line.trim_start().strip_prefix("Compiling "));
    let (mut count, mut last) = (0_usize, None);
    for name in names {
        (count, last) = (count + 1, name.split(' ').next());
    }
    let done = last.map(|name| format!(", {count} crates compiled, now {name}"));
    format!("  {title}: {}{}", stopwatch::shown(elapsed), done.unwrap_or_default())
}

fn last_lines(output: &str) -> impl Iterator<Item = &str> {
    let count = output.lines().count();
    output.lines().skip(count.saturating_sub(SHOWN_LINES))
}

/// What the build has written so far; nothing if it can't be read, since the build matters more than the line.
fn output(log: &Path) -> String {
    fs::read(log).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Writes over the progress line.
fn draw(line: &str) {
    let mut out = io::stdout();
    drop(write!(out, "\r\x1b[2K{line}").and_then(|()| out.flush()));
}

/// Makes the folder of a log file.
pub(crate) fn make_folder(log: &Path) -> Result<()> {
    let folder = log.parent().context("a log file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_has_the_time_and_what_is_compiled() {
        let output = "   Compiling libc v0.2.1\n   Compiling oxc_parser v0.146.0\nwarning: x\n";
        let shown = line("AgentOS", Duration::from_secs(67), output);
        assert_eq!(shown, "  AgentOS: 1m 07s, 2 crates compiled, now oxc_parser");
        assert_eq!(line("dashboard", Duration::from_secs(1), ""), "  dashboard: 1.0s");
    }

    #[test]
    fn a_failed_build_names_its_log_and_keeps_its_output() {
        let log = std::env::temp_dir().join(format!("xtask-progress-{}.log", std::process::id()));
        let failing = CommandLine::new("sh", ["-c", "echo broken >&2; exit 3"]);
        let error = run("it", &failing, &log, &AtomicBool::new(false)).unwrap_err().to_string();
        let kept = fs::read_to_string(&log).unwrap();
        fs::remove_file(&log).unwrap();
        assert!(
            error.contains("exit status: 3") && error.contains(&*log.to_string_lossy()),
            "{error}"
        );
        assert_eq!(kept, "broken\n");
    }
}
