//! A process that goes on when whoever started it is gone.
//!
//! It has no terminal, writes to a file, and becomes the leader of a session of its own as soon as it calls
//! [`leave_the_terminal`]: a closed window or a Ctrl-C concerns it no longer.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};

/// A log that has become longer than this begins anew.
const LOG_BYTES: u64 = 1 << 20;

/// A process to be started.
#[derive(Debug, Clone)]
pub struct Detached {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it is started.
    pub folder: PathBuf,
    /// What it says goes here.
    pub log: PathBuf,
}

/// A process that was started.
#[derive(Debug)]
pub struct Started {
    child: Child,
}

impl Detached {
    /// Starts it.
    ///
    /// # Errors
    /// The log can't be opened, or the program can't be started.
    #[expect(clippy::disallowed_methods, reason = "this is where executors are started")]
    pub fn start(&self) -> io::Result<Started> {
        let is_long = self.log.metadata().is_ok_and(|found| found.len() > LOG_BYTES);
        if is_long {
            OpenOptions::new().write(true).truncate(true).open(&self.log)?;
        }
        let log = OpenOptions::new().create(true).append(true).open(&self.log)?;
        let child = Command::new(&self.program)
            .args(&self.arguments)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .spawn()?;
        Ok(Started { child })
    }
}

impl Started {
    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The system does not say.
    pub fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Leaves it to itself. Should it end before this process does, nothing of it stays behind.
    pub fn leave(mut self) {
        let reap = move || {
            let _ended = self.child.wait();
        };
        // Without a thread to spare, what is left of it goes when this process does.
        let _unspared = std::thread::Builder::new().name("left".to_owned()).spawn(reap);
    }
}

/// Makes this process the leader of a session of its own. One that leads a group already stays where it is.
pub fn leave_the_terminal() {
    let _leads_already = rustix::process::setsid();
}
