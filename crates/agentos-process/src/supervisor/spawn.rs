//! Starts the child.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::fs::{Access, access};

use crate::memory;
use crate::spec::{CommandSpec, Program};
use crate::token;

/// Starts the child in a process group of its own, with pipes for what it writes. An error is for people.
#[expect(clippy::disallowed_methods, reason = "this is where commands are started")]
pub(super) fn spawn(spec: &CommandSpec) -> Result<Child, String> {
    let (name, mut command) = match &spec.program {
        Program::Line(line) => {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(line);
            ("/bin/sh", command)
        }
        Program::Argv(argv) => {
            let Some((program, args)) = argv.split_first() else {
                return Err("there is no program to start; name one".to_owned());
            };
            let mut command = Command::new(found(program, spec.env.get("PATH")));
            command.arg0(program).args(args);
            (program.as_str(), command)
        }
    };
    // A command that was itself ordered from within a command carries both marks.
    let outer = std::env::var(token::VARIABLE).ok();
    command
        .env_clear()
        .envs(&spec.env)
        .env(token::VARIABLE, spec.token.within(outer.as_deref()))
        .current_dir(&spec.cwd)
        .stdin(stdin(spec).map_err(|error| format!("its input can't be kept: {error}"))?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0);
    command.spawn().map_err(|error| {
        if spec.cwd.is_dir() {
            format!("`{name}` can't be started: {error}; is it installed and in PATH?")
        } else {
            format!("`{name}` can't be started in {}: there is no such folder", spec.cwd.display())
        }
    })
}

/// Where the program is. The standard library would look for it too, but only in a slower way of starting it.
fn found(program: &str, path: Option<&String>) -> PathBuf {
    let folders = path.into_iter().flat_map(std::env::split_paths);
    let candidates = folders.map(|folder| folder.join(program));
    let is_program = |path: &PathBuf| access(path, Access::EXEC_OK).is_ok() && path.is_file();
    let mut candidates = candidates.filter(|_| !program.contains('/'));
    candidates.find(is_program).unwrap_or_else(|| Path::new(program).to_owned())
}

/// Input is a file in memory, so that nobody has to wait until the command reads it.
fn stdin(spec: &CommandSpec) -> std::io::Result<Stdio> {
    match &spec.input {
        Some(input) => Ok(memory::file("input", input.as_bytes())?.into()),
        None => Ok(Stdio::null()),
    }
}
