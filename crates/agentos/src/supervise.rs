//! Who performs what runs order, and the hidden verb under which this program supervises one command.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use agentos_core::operation::OperationKind;
use agentos_engine::performer::Performers;
use agentos_engine::shell::{Settings, ShellPerformer};
use agentos_process::launch::Launcher;
use agentos_process::supervisor;

use crate::lines::FileLines;

/// The hidden verb.
const VERB: &str = "supervise";

/// The folder beside the database in which commands have their directories.
const FOLDER: &str = "commands";

/// Supervises a command, if that is what the arguments ask for. It is looked at before anything else, because it has to be
/// quick and needs nothing of the rest.
pub(crate) fn asked_for(arguments: &[OsString]) -> Option<ExitCode> {
    match arguments {
        [_, verb, directory] if verb == VERB => Some(supervisor::main(Path::new(directory))),
        _ => None,
    }
}

/// Those who perform what the runs of this database order.
pub(crate) fn performers(database: &Path, lines: FileLines) -> std::io::Result<Performers> {
    let launcher = Launcher::new(std::env::current_exe()?, [VERB]);
    let settings = Settings::new(launcher, database.with_file_name(FOLDER));
    let shell = ShellPerformer::new(Settings { output: Box::new(lines), ..settings });
    Ok(Performers::new().with(OperationKind::Shell, shell))
}
