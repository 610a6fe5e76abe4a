//! The door to the outside: the only module of xtask that starts programs or prints.
//!
//! Programs run in the repository's root, whatever directory the caller stood in, and inherit its
//! environment. A failed program is an error that repeats the command line, so that it can be
//! pasted and tried alone. There is no supervision: these are a developer's foreground commands,
//! and Ctrl-C reaches them all.

use std::fmt;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

mod running;

pub(crate) use running::Running;

/// The repository's root: the folder that holds `xtask/`.
pub(crate) fn root() -> PathBuf {
    // `cargo run` names the checkout it runs in; the path baked in at build time could be that of
    // another one.
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest_dir.parent().map(Path::to_path_buf).unwrap_or(manifest_dir)
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| root().join("target"), |folder| root().join(Path::new(&folder)))
}

/// Prints one line to the user.
pub(crate) fn say(line: impl fmt::Display) {
    write_line(io::stdout(), line);
}

/// Prints a line that stands out, where that is possible.
pub(crate) fn headline(line: &str) {
    let is_plain =
        !is_terminal() || std::env::var_os("NO_COLOR").is_some_and(|set| !set.is_empty());
    match is_plain {
        true => say(format!("\n## {line}\n")),
        false => say(format!("\n\x1b[1;36m▍\x1b[0m \x1b[1m{line}\x1b[0m\n")),
    }
}

/// Whether somebody reads along.
pub(crate) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Prints why nothing came of it, where it does not mix with the output.
pub(crate) fn complain(line: impl fmt::Display) {
    write_line(io::stderr(), line);
}

/// A reader that went away (`| head`) is no reason to panic, which is what `println!` would do.
fn write_line(mut to: impl Write, line: impl fmt::Display) {
    drop(writeln!(to, "{line}"));
}

/// Waits a moment between two looks at a program that runs by itself.
#[expect(clippy::disallowed_methods, reason = "another program's progress can only be looked at")]
pub(crate) fn pause(length: Duration) {
    std::thread::sleep(length);
}

/// One command line, to be run in the repository's root.
#[derive(Clone)]
pub(crate) struct CommandLine {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    folder: Option<PathBuf>,
    /// The variables of the caller that the program sees; all, if nothing is said.
    inherited: Option<&'static [&'static str]>,
}

impl CommandLine {
    /// A program with its arguments.
    pub(crate) fn new<A: Into<String>>(program: &str, args: impl IntoIterator<Item = A>) -> Self {
        let args = args.into_iter().map(Into::into).collect();
        Self { program: program.to_owned(), args, env: Vec::new(), folder: None, inherited: None }
    }

    /// `cargo` with its arguments.
    pub(crate) fn cargo<A: Into<String>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::new("cargo", args)
    }

    /// `git` with its arguments.
    pub(crate) fn git<A: Into<String>>(args: impl IntoIterator<Item = A>) -> Self {
        Self::new("git", args)
    }

    /// Adds arguments at the end.
    pub(crate) fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable for the program alone.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Runs it in another folder than the repository's root.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    /// Shows the program nothing of the caller's environment but these variables.
    pub(crate) fn inherit_only(mut self, names: &'static [&'static str]) -> Self {
        self.inherited = Some(names);
        self
    }

    /// Starts it in the user's terminal and does not wait for its end.
    pub(crate) fn start(&self) -> Result<Running> {
        Running::start(&mut self.command()).with_context(|| format!("could not start `{self}`"))
    }

    /// Starts it, and leaves it to the caller what it says on stdout.
    pub(crate) fn start_and_listen(&self) -> Result<Running> {
        Running::start(self.command().stdout(Stdio::piped()))
            .with_context(|| format!("could not start `{self}`"))
    }

    /// Starts it with all of its output in a file, which is made anew.
    pub(crate) fn start_into(&self, log: &Path) -> Result<Running> {
        let failed = || format!("could not write to {}", log.display());
        let file = std::fs::File::create(log).with_context(failed)?;
        let errors = file.try_clone().with_context(failed)?;
        Running::start(self.command().stdin(Stdio::null()).stdout(file).stderr(errors))
            .with_context(|| format!("could not start `{self}`"))
    }

    /// What it prints to stdout, and whether it succeeds.
    pub(crate) fn try_output(&self) -> Result<(bool, String)> {
        let output =
            self.command().output().with_context(|| format!("could not start `{self}`"))?;
        let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        Ok((output.status.success(), text))
    }

    /// Runs it in the user's terminal; anything but success is an error.
    pub(crate) fn run(&self) -> Result<()> {
        let status =
            self.command().status().with_context(|| format!("could not start `{self}`"))?;
        ensure!(status.success(), "`{self}` failed ({status})");
        Ok(())
    }

    /// Whether it starts and succeeds; its output is thrown away.
    pub(crate) fn succeeds(&self) -> bool {
        let status = self.command().stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// What it prints to stdout, without the line ending at its end.
    pub(crate) fn output(&self) -> Result<String> {
        let output =
            self.command().output().with_context(|| format!("could not start `{self}`"))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            bail!("`{self}` failed ({}): {}", output.status, complaint.trim());
        }
        let text = String::from_utf8(output.stdout)
            .with_context(|| format!("`{self}` printed bytes that are not UTF-8"))?;
        Ok(text.trim_end().to_owned())
    }

    /// Runs it in the user's terminal and also hands back the lines it printed to stdout.
    pub(crate) fn run_and_listen(&self) -> Result<Vec<String>> {
        let mut child = self
            .command()
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("could not start `{self}`"))?;
        let stdout = child.stdout.take().context("a piped stdout is there to be taken")?;
        let mut lines = Vec::new();
        for line in BufReader::new(stdout).lines() {
            let line = line.with_context(|| format!("could not read what `{self}` prints"))?;
            say(&line);
            lines.push(line);
        }
        let status = child.wait().with_context(|| format!("could not wait for `{self}`"))?;
        ensure!(status.success(), "`{self}` failed ({status})");
        Ok(lines)
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a development tool runs cargo and git in the foreground; no run depends on it"
    )]
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        if let Some(names) = self.inherited {
            let known = names.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
            command.env_clear().envs(known);
        }
        command
            .args(&self.args)
            .envs(self.env.iter().cloned())
            .current_dir(self.folder.clone().unwrap_or_else(root));
        command
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", self.program)?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

/// The word as a shell wants it, so that what we show can be pasted.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_shown_as_it_would_be_typed() {
        let doc = CommandLine::cargo(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(doc.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_failed_program_is_an_error_that_names_it() {
        let error = CommandLine::cargo(["no-such-verb"]).output().unwrap_err().to_string();
        assert!(error.starts_with("`cargo no-such-verb` failed"), "{error}");
    }

    #[test]
    fn a_program_sees_only_what_it_is_given() {
        let env = CommandLine::new("env", [""; 0]).inherit_only(&["PATH"]).env("HOME", "/nowhere");
        let seen = env.output().unwrap();
        let mut names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
        names.sort_unstable();
        assert_eq!(names, ["HOME", "PATH"]);
    }

    #[test]
    fn a_program_that_is_not_waited_for_is_ended_and_can_be_asked_to() {
        let cat = CommandLine::new("sh", ["-c", "echo here; exec sleep 600"]);
        let mut running = cat.start_and_listen().unwrap();
        assert_eq!(running.line().unwrap().as_deref(), Some("here"));
        let status = running.stop().unwrap();
        assert!(!status.success(), "{status}");
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_succeed() {
        assert!(!CommandLine::new("no-such-program", ["--version"]).succeeds());
    }

    #[test]
    fn listening_hands_back_the_printed_lines() {
        let lines = CommandLine::cargo(["--version"]).run_and_listen().unwrap();
        assert!(lines[0].starts_with("cargo "), "{lines:?}");
    }
}
