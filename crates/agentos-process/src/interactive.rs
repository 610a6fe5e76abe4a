//! A program in the user's own terminal: it reads, writes and is interrupted as if the user had started it.
//!
//! Nobody supervises it, because the user does. Ctrl-C reaches it by itself, as everything in the terminal's foreground;
//! whoever waits for it has to expect the same signal.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Command;

use crate::tool::ToolError;

/// A program to be run in the user's terminal.
#[derive(Debug, Clone)]
pub struct Interactive {
    /// The program, looked for in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Where it is started.
    pub folder: PathBuf,
    /// All of its environment.
    pub environment: BTreeMap<OsString, OsString>,
}

impl Interactive {
    /// Runs it to its end, and answers with its exit status as a shell would give it.
    ///
    /// # Errors
    /// [`ToolError`] if it can't be started.
    #[expect(clippy::disallowed_methods, reason = "this is the door, and the user supervises it")]
    pub fn run(&self) -> Result<i32, ToolError> {
        let program = self.program.to_string_lossy().into_owned();
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(&self.folder);
        command.env_clear().envs(&self.environment);
        let status = command.status().map_err(|source| match source.kind() {
            _ if !self.folder.is_dir() => {
                ToolError::Folder { program: program.clone(), folder: self.folder.clone(), source }
            }
            std::io::ErrorKind::NotFound => ToolError::NotFound { program: program.clone() },
            std::io::ErrorKind::PermissionDenied => {
                ToolError::NotExecutable { program: program.clone() }
            }
            _ => ToolError::Io { program: program.clone(), source },
        })?;
        Ok(status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1))
    }
}
