//! `agentos run`: a new run, seen to its end.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_store::records::Records as _;
use clap::ArgMatches;

use super::report;
use crate::agents;
use crate::error::{CommandError, Result};
use crate::foreground;
use crate::inputs::{Given, assemble, files, given_flags};
use crate::launch::{self, Launched, Order};
use crate::session::Session;
use crate::view::Stream;
use crate::workspace::WorkspaceArgs;

/// The longest input that is read, in bytes.
const LONGEST: u64 = 64 << 20;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workflow; its inputs can be given as flags (`agentos run NAME --help` lists them)
    #[arg(value_name = "WORKFLOW")]
    name: String,

    /// An input, or `-` for all of them as JSON on standard input
    #[arg(long, value_name = "KEY=VALUE")]
    input: Vec<String>,

    /// A JSON file with inputs
    #[arg(long, value_name = "FILE")]
    input_file: Option<PathBuf>,

    #[command(flatten)]
    place: WorkspaceArgs,

    /// Put another agent in the place of one or into a role, for this run: `claude=codex`, `reviewer=gemini`, or
    /// `claude=scripted:FILE` to play a scenario
    #[arg(long, value_name = "NAME=OTHER[:FILE]")]
    agent: Vec<String>,

    /// Leave the run to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document (with --detach: as it stands)
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(
    session: &Session,
    args: Args,
    matches: Option<&ArgMatches>,
) -> Result<ExitCode> {
    let workflow = session.catalog.find(&args.name)?;
    for twin in session.catalog.twins(&args.name) {
        session.output.note(&twin);
    }
    let flags = matches.map(given_flags).unwrap_or_default();
    let given = assemble(workflow.input.as_ref(), gather(&args, flags)?)?;
    let value = launch::accept(&workflow.name, workflow.input.as_ref(), given)?;
    let folder = session.surroundings.cwd.clone().unwrap_or_default();
    let order = Order {
        files: files(workflow.input.as_ref(), &value, &folder)?,
        agents: agents::replacements(session, &workflow.agents, &args.agent, &folder)?,
        workflow: &workflow,
        run: None,
        input: value,
        place: &args.place,
        is_detached: args.detach,
    };
    let Launched { store, run, owner } = launch::launch(session, order).await?;
    let Some(owner) = owner else {
        let detail = store.run_detail(run).await?;
        return match args.json {
            true => session.output.document(&detail).map(|()| ExitCode::SUCCESS),
            false => session.output.lines([detail.run.run_id]).map(|()| ExitCode::SUCCESS),
        };
    };
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::drive(session, &store, (owner, run), stream).await?;
    report(session, &store, &detail, args.json).await
}

fn gather(args: &Args, flags: Vec<(String, Vec<String>)>) -> Result<Given> {
    let file = args.input_file.as_ref().map(|path| {
        let name = path.display().to_string();
        let failed = |error| CommandError::usage(format!("{name} can't be read: {error}"));
        std::fs::read_to_string(path).map(|text| (name.clone(), text)).map_err(failed)
    });
    let (dashes, pairs): (Vec<String>, Vec<String>) =
        args.input.iter().cloned().partition(|pair| pair == "-");
    let stdin = match dashes.is_empty() {
        true => None,
        false => Some(read_stdin()?),
    };
    Ok(Given { file: file.transpose()?, stdin, pairs, flags, ..Given::default() })
}

fn read_stdin() -> Result<String> {
    let mut text = String::new();
    let read = std::io::stdin().take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| CommandError::usage(format!("standard input can't be read: {error}")))?;
    if text.len() as u64 > LONGEST {
        return Err(CommandError::usage(format!(
            "standard input is longer than {} MB",
            LONGEST >> 20
        ))
        .hint("give large data as a file (`\"format\": \"file\"` in the schema)"));
    }
    Ok(text)
}
