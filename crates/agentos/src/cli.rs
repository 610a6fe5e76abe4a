//! Arguments: what every command takes, and which command is meant.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agentos_sdk::Workflows;
use agentos_workspace::surroundings::Surroundings;
use clap::{ArgMatches, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};

use crate::catalog::{Catalog, Listed};
use crate::commands::{
    approve, artifacts, cancel, check, config, db, diff, doctor, fork, init, logs, mcp, query,
    resume, retry, run, serve, show, signal, status, token, top, workflows, workspace,
};
use crate::config::Flags;
use crate::elsewhere;
use crate::error::{CommandError, Result};
use crate::executor;
use crate::guard;
use crate::inputs::{add_flags, without_flag};
use crate::session::{self, Session};
use crate::terminal::paint::ColorChoice;

/// Runs software-development workflows durably: kill it anywhere and it goes on without repeating finished work
#[derive(Debug, Parser)]
#[command(name = "agentos", version, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    /// Tell more of what is going on inside (-vv: even more)
    #[arg(short, long, global = true, action = clap::ArgAction::Count, display_order = 100)]
    pub(crate) verbose: u8,

    /// When to colour
    #[arg(long, global = true, value_enum, value_name = "WHEN", display_order = 100)]
    pub(crate) color: Option<ColorChoice>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write a first workflow, types for the editor and a commented configuration
    Init(init::Args),
    /// Start a run of a workflow and see it to its end
    Run(run::Args),
    /// Go on with runs that nobody drives
    Resume(resume::Args),
    /// List runs
    Status(status::Args),
    /// Watch runs on the whole screen, answer and cancel them
    Top(top::Args),
    /// Ask all databases of the repository in SQL; nothing can be changed
    Query(query::Args),
    /// Show one run with its steps
    Show(show::Args),
    /// Show what a run has logged
    Logs(logs::Args),
    /// List what a run has kept, or copy it somewhere
    Artifacts(artifacts::Args),
    /// Show what a run or one of its steps has done to the files, or how two runs differ
    Diff(diff::Args),
    /// End a run and what it has started
    Cancel(cancel::Args),
    /// Start a new run that mends a failed one: finished work is kept
    Retry(retry::Args),
    /// Start a new run from before some step of another one, with the files as they were then
    Fork(fork::Args),
    /// Send an event to a run
    Signal(signal::Args),
    /// Answer a question of a run
    Approve(approve::Args),
    /// List the workflows that can be started here
    Workflows(workflows::Args),
    /// Read all workflow templates with a critical eye
    Check(check::Args),
    /// Checkouts in which somebody works and nobody else
    Workspace(workspace::Args),
    /// Serve the dashboard, REST and WebSocket, and drive what is due
    Serve(serve::Args),
    /// Speak the Model Context Protocol: coding agents ask what runs, and may start something
    Mcp(mcp::Args),
    /// Let others use the server: tokens for other machines, users and proxies
    Token(token::Args),
    /// The checkpoint database
    Db(db::Args),
    /// Show the configuration, and where each value comes from
    Config(config::Args),
    /// Look at the tools and the state here, and tell what is wrong
    Doctor(doctor::Args),
    /// Attend to a database until nothing is left to do
    #[command(name = executor::VERB, hide = true)]
    Executor {
        /// The database
        #[arg(long)]
        database: PathBuf,
    },
}

/// Does what the arguments say.
pub(crate) fn run(
    arguments: Vec<OsString>,
    surroundings: Surroundings,
    workflows: Arc<Workflows>,
) -> Result<ExitCode> {
    // Where we stand is asked once; the flags of a workflow follow from it.
    let (location, catalog) = session::find(&surroundings, workflows);
    // Where nobody knows which checkout this is, that is what is wrong.
    let command = command_for(&arguments, &catalog)
        .map_err(|error| location.as_ref().err().map_or(error, CommandError::from))?;
    let matches = match command.try_get_matches_from(&arguments) {
        Ok(matches) => matches,
        Err(error) => return Ok(show_usage(&error)),
    };
    let cli =
        Cli::from_arg_matches(&matches).map_err(|error| CommandError::usage(error.to_string()))?;
    let flags = Flags { color: cli.color, verbosity: cli.verbose, concurrency: None };
    let session = Session::new(surroundings, location, catalog, flags)?;
    carry_out(cli.command, &session, &matches)
}

/// The commands; where a workflow is named, with its inputs as flags.
fn command_for(arguments: &[OsString], catalog: &Catalog) -> Result<clap::Command> {
    let command = Cli::command();
    // Whoever asks for help about a workflow names it all the same.
    let named = arguments.iter().filter(|argument| *argument != "--help" && *argument != "-h");
    let lenient = command.clone().ignore_errors(true).try_get_matches_from(named);
    let named = lenient.ok().and_then(|matches| {
        let (_, matches) = matches.subcommand().filter(|(name, _)| *name == "run")?;
        matches.try_get_one::<String>("name").ok().flatten().cloned()
    });
    // Flags of a workflow that there is not are not to be complained about first.
    let Some(found) = named.map(|name| catalog.find(&name)).transpose()? else {
        return Ok(command);
    };
    Ok(command.mut_subcommand("run", |run| {
        let taken = found.input.as_ref().map(|schema| without_flag(&run, schema));
        let run = match &found.input {
            Some(schema) => add_flags(run, schema),
            None => run,
        };
        let more = [further_inputs(&taken.unwrap_or_default()), roles(&found)];
        let more: Vec<String> = more.into_iter().flatten().collect();
        if more.is_empty() { run } else { run.after_help(more.join("\n\n")) }
    }))
}

/// Inputs whose names are those of flags of ours, as help tells of them.
fn further_inputs(lines: &[String]) -> Option<String> {
    let lines: Vec<String> = lines.iter().map(|line| format!("      {line}")).collect();
    (!lines.is_empty())
        .then(|| format!("Inputs that have no flag of their own:\n{}", lines.join("\n")))
}

/// The roles of a workflow, as help tells of them.
fn roles(found: &Listed) -> Option<String> {
    let first = found.agents.keys().next()?;
    let roles: Vec<String> =
        found.agents.iter().map(|(role, agent)| format!("{role} ({agent})")).collect();
    let roles = roles.join(", ");
    Some(format!(
        "Roles: {roles}. `--agent {first}=NAME` or [roles] in .agent/config.toml gives one to another agent."
    ))
}

/// Help and version are answers; everything else that the parser says is a complaint.
fn show_usage(error: &clap::Error) -> ExitCode {
    // Who can't read it does not have to.
    let _unread = error.print();
    if error.use_stderr() { ExitCode::from(2) } else { ExitCode::SUCCESS }
}

/// What a run has started does not decide about runs.
fn check_guard(command: &Command, session: &Session) -> Result<()> {
    match command {
        Command::Approve(_) | Command::Db(_) | Command::Token(_) => {
            guard::refuse_own(&session.surroundings)
        }
        _ => Ok(()),
    }
}

/// The run that the command is about, if it is about one.
fn run_named_in(matches: &ArgMatches) -> Option<&str> {
    let (_, matches) = matches.subcommand()?;
    matches.try_get_one::<String>("run").ok().flatten().map(String::as_str)
}

fn carry_out(command: Command, session: &Session, matches: &ArgMatches) -> Result<ExitCode> {
    check_guard(&command, session)?;
    match command {
        Command::Workflows(args) => return workflows::run(session, &args),
        Command::Config(args) => return config::run(session, &args),
        Command::Init(args) => return init::run(session, &args),
        Command::Check(args) => return check::run(session, &args),
        Command::Token(args) => return token::run(session, &args),
        _ => {}
    }
    let threads = match command {
        // Many are answered at once.
        Command::Serve(_) => {
            std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2))
        }
        _ => 2,
    };
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let done = runtime.block_on(async {
        // A run of another worktree is dealt with there.
        let moved = match run_named_in(matches) {
            Some(name) => elsewhere::at_run(session, name).await?,
            None => None,
        };
        let session = moved.as_ref().unwrap_or(session);
        match command {
            Command::Run(args) => {
                let matches = matches.subcommand_matches("run");
                run::run(session, args, matches).await
            }
            Command::Resume(args) => resume::run(session, &args).await,
            Command::Status(args) => status::run(session, &args).await,
            Command::Top(args) => top::run(session, &args).await,
            Command::Query(args) => query::run(session, &args).await,
            Command::Show(args) => show::run(session, &args).await,
            Command::Logs(args) => logs::run(session, &args).await,
            Command::Artifacts(args) => artifacts::run(session, &args).await,
            Command::Diff(args) => diff::run(session, &args).await,
            Command::Cancel(args) => cancel::run(session, &args).await,
            Command::Retry(args) => retry::run(session, &args).await,
            Command::Fork(args) => fork::run(session, &args).await,
            Command::Signal(args) => signal::run(session, &args).await,
            Command::Approve(args) => approve::run(session, &args).await,
            Command::Doctor(args) => doctor::run(session, &args).await,
            Command::Workspace(args) => workspace::run(session, &args).await,
            Command::Serve(args) => serve::run(session, &args).await,
            Command::Mcp(args) => mcp::run(session, &args).await,
            Command::Db(args) => db::run(session, &args).await,
            Command::Executor { database } => executor::serve(session, &database).await,
            Command::Workflows(_)
            | Command::Config(_)
            | Command::Init(_)
            | Command::Check(_)
            | Command::Token(_) => Ok(ExitCode::SUCCESS),
        }
    });
    // Whatever still runs in there has been told to end, or is not worth waiting for.
    runtime.shutdown_background();
    agentos_store::sqlite::checkpoint_before_exit();
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
