//! `agentos db backup FILE`: copies the database to a file, as of one moment.

use std::path::PathBuf;
use std::process::ExitCode;

use agentos_store::sqlite::{Backup, BackupError};
use serde::Serialize;

use crate::databases::counted;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::terminal::bytes;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The file to make; it must not exist
    file: PathBuf,

    /// Print a document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    database: PathBuf,
    file: PathBuf,
    bytes: u64,
    runs: u64,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let database = session.database()?.to_owned();
    let store = session.look()?.ok_or_else(|| {
        CommandError::not_found(format!("there is no database at {} yet", database.display()))
            .hint("a run makes one; `agentos db path --explain` tells why it is looked for there")
    })?;
    let file = match &session.surroundings.cwd {
        Some(folder) => folder.join(&args.file),
        None => args.file.clone(),
    };
    let Backup { bytes, runs } = store.backup(&file).await?;
    let report = Report { database, file, bytes, runs };
    if args.json {
        session.output.document(&report)?;
    } else {
        session.output.lines(lines(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lines(report: &Report) -> [String; 2] {
    let runs = counted(usize::try_from(report.runs).unwrap_or(usize::MAX), "run");
    [
        format!(
            "{} ({runs}, {}) copied to {}",
            report.database.display(),
            bytes::size(report.bytes),
            report.file.display()
        ),
        "logs and artifacts of runs are files in .agent/workflows/executions/ and not part of it"
            .to_owned(),
    ]
}

impl From<BackupError> for CommandError {
    fn from(error: BackupError) -> Self {
        let message = error.to_string();
        match error {
            BackupError::Exists { .. } => {
                Self::refused(message).hint("name another file, or remove that one first")
            }
            BackupError::WrongPath { .. } => {
                Self::usage(message).hint("name a file in a folder that exists and can be written")
            }
            BackupError::Backend { source, .. } => Self { message, ..source.into() },
        }
    }
}
