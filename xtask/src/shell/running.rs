//! A program that runs beside, and is ended with whoever started it: by its id, and never any other.

use std::io::{self, BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus};
use std::time::Duration;

use super::{CommandLine, pause};

/// How long a program may take to end when it is asked to.
const TIMEOUT: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(50);

/// A program that runs.
pub(crate) struct Running {
    child: Child,
    said: Option<BufReader<ChildStdout>>,
}

impl Running {
    pub(super) fn start(command: &mut Command) -> io::Result<Self> {
        let mut child = command.spawn()?;
        let said = child.stdout.take().map(BufReader::new);
        Ok(Self { child, said })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// The next line that it says; nothing once it has ended, or if nobody listens.
    pub(crate) fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let read = self.said.as_mut().map(|said| said.read_line(&mut line)).transpose()?;
        Ok(read.is_some_and(|bytes| bytes > 0).then(|| line.trim_end().to_owned()))
    }

    /// Ends it at once (SIGKILL): it can't do anything about it.
    pub(crate) fn kill(&mut self) -> io::Result<()> {
        self.child.kill()?;
        self.child.wait().map(drop)
    }

    /// Asks it to end as Ctrl-C does, and waits for that.
    pub(crate) fn stop(mut self) -> io::Result<ExitStatus> {
        if self.ended()?.is_none() {
            let id = self.child.id().to_string();
            CommandLine::new("kill", ["-INT", &id]).succeeds();
        }
        self.wait_for_end()
    }

    /// Waits for its end. One that takes too long is killed.
    fn wait_for_end(&mut self) -> io::Result<ExitStatus> {
        for _ in 0..TIMEOUT.as_millis() / LOOK.as_millis() {
            if let Some(status) = self.ended()? {
                return Ok(status);
            }
            pause(LOOK);
        }
        self.child.kill()?;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _gone = self.child.wait();
    }
}
