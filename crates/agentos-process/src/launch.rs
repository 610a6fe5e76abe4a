//! Starts a command, or finds it: at most one supervisor ever begins in a directory.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::attached::{Attached, Event, FollowError};
use crate::bounds::STARTS;
use crate::case::Case;
use crate::directory::Directory;
use crate::outcome::Outcome;
use crate::points::{NoPoints, Point, Points};
use crate::recover::{clear_up, forbid};
use crate::shell_word::quoted_path;
use crate::spec::CommandSpec;
use crate::{lock, memory, open_files, wake};

/// How supervisors are started: a program that calls [`supervisor::main`](crate::supervisor::main) with its last argument.
/// It finds what to execute on its standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Launcher {
    program: PathBuf,
    args: Vec<OsString>,
}

impl Launcher {
    /// Starts this program with these arguments and the directory behind them.
    pub fn new<A: Into<OsString>>(
        program: impl Into<PathBuf>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self { program: program.into(), args: args.into_iter().map(Into::into).collect() }
    }

    /// Starts the command unless somebody has begun it already, and attaches to it.
    ///
    /// The order must be durable before: whoever asks again with the same directory, after any crash, finds what is
    /// there instead of starting it twice.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn start_or_attach(
        &self,
        path: &Path,
        spec: &CommandSpec,
    ) -> Result<Attached<'static>, FollowError> {
        self.start_or_attach_with(path, spec, &NoPoints)
    }

    /// The same, watched.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn start_or_attach_with<'a>(
        &self,
        path: &Path,
        spec: &CommandSpec,
        points: &'a dyn Points,
    ) -> Result<Attached<'a>, FollowError> {
        let directory = Directory::at(path)?;
        directory.create()?;
        // Before there is a supervisor: the command is not alone, however long we need to get ready to listen.
        let _attendance = lock::share(directory.path())?;
        let supervisor = match Case::of(&directory)? {
            Case::Held | Case::Over(_) => None,
            Case::Lost(_) => {
                clear_up(&directory, points)?;
                None
            }
            Case::Nothing => {
                points.pass(Point::Ordered);
                let supervisor = self.spawn(&directory, spec)?;
                points.pass(Point::Launched);
                Some(supervisor)
            }
        };
        // A supervisor needs a moment to begin, in which we get ready to listen.
        Ok(Attached::to(&directory, points)?.with_supervisor(supervisor))
    }

    /// Starts the command or finds it, and waits for its end. Supervisors that die before they begin are replaced.
    ///
    /// # Errors
    /// [`FollowError`].
    pub fn outcome(
        &self,
        path: &Path,
        spec: &CommandSpec,
        longest: usize,
        points: &dyn Points,
    ) -> Result<Outcome, FollowError> {
        for _ in 0..STARTS {
            let attached = self.start_or_attach_with(path, spec, points)?;
            if let Some(outcome) = attached.outcome(longest)? {
                return Ok(outcome);
            }
        }
        Err(self.no_supervisor())
    }

    /// What to say when supervisors die before they begin.
    #[must_use]
    pub fn no_supervisor(&self) -> FollowError {
        FollowError::NoSupervisor { tries: STARTS, program: quoted_path(&self.program) }
    }

    #[expect(clippy::disallowed_methods, reason = "this is where supervisors are started")]
    fn spawn(&self, directory: &Directory, spec: &CommandSpec) -> io::Result<Child> {
        Command::new(&self.program)
            .args(&self.args)
            .arg(directory.path())
            // Nothing of ours is kept open or busy by something that outlives us.
            .current_dir("/")
            .envs(open_files::told())
            .stdin(memory::file("command", &serde_json::to_vec(spec)?)?)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
    }
}

/// Ends the command of a directory, wherever it stands, and returns when nothing of it is alive. One that has not begun
/// never will.
///
/// # Errors
/// [`FollowError`].
pub fn stop(path: &Path) -> Result<(), FollowError> {
    let directory = Directory::at(path)?;
    directory.create()?;
    request_stop(&directory)?;
    let mut attached = Attached::to(&directory, &NoPoints)?;
    loop {
        match Case::of(&directory)? {
            Case::Nothing => forbid(&directory)?,
            Case::Lost(_) => clear_up(&directory, &NoPoints)?,
            Case::Over(_) => return Ok(()),
            Case::Held => {
                if let Event::Ended(_) = attached.next(Duration::from_secs(1))? {
                    return Ok(());
                }
            }
        }
    }
}

/// Says that the command is to be ended, without waiting for it.
///
/// # Errors
/// The directory is gone or can't be written.
pub fn request_stop(directory: &Directory) -> io::Result<()> {
    std::fs::write(directory.stop(), b"")?;
    wake::call(directory);
    Ok(())
}
