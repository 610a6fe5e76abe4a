//! `agentos fork`: a new run that goes on from before some step of another one, with the files as they were then.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_core::entry::{Entry, Record, RunStarted};
use agentos_core::value::Value;
use agentos_engine::fork::{ForkAt, ForkError, fork, trial};
use agentos_engine::library::Library as _;
use agentos_engine::travel::Asked;
use agentos_store::folder::RunFolder;
use agentos_store::log::load_whole_log;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::{Owner, SqliteStore};
use serde_json::Map;

use super::report;
use crate::error::{Cause, CommandError, Result};
use crate::inputs::{Given, assemble, files, files_within};
use crate::launch;
use crate::session::Session;
use crate::start::RunNames;
use crate::travel::fresh::Fresh;
use crate::travel::past::Past;
use crate::travel::sequel::Sequel;
use crate::view::Stream;
use crate::workspace::tend;
use crate::{agents, foreground, names, scribe};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// The step that the new run begins with: its number, or its name
    #[arg(long, value_name = "STEP")]
    from_step: String,

    /// Put another agent in the place of one: `claude=codex`, or `claude=scripted:FILE` to play a scenario
    #[arg(long, value_name = "NAME=OTHER[:FILE]")]
    agent: Vec<String>,

    /// An input that is another one in the new run
    #[arg(long, value_name = "KEY=VALUE")]
    input: Vec<String>,

    /// The same, already read
    #[arg(skip)]
    values: Map<String, Value>,

    /// Whoever asks is somewhere else: only files of the project are meant
    #[arg(skip)]
    from_afar: bool,

    /// How the new run's workspace is kept apart: `worktree`, `clone` or `jj` (default: as the old one is)
    #[arg(long, value_name = "KIND")]
    workspace: Option<String>,

    /// Leave the new run to the background executor, and return at once
    #[arg(long)]
    detach: bool,

    /// Print the finished run as a JSON document (with --detach: as it stands)
    #[arg(long)]
    json: bool,
}

/// What somebody wants to be another in the new run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// The step that the new run begins with: its number, or its name.
    pub(crate) from_step: String,
    /// `claude=codex`
    pub(crate) agents: Vec<String>,
    /// Inputs that are others.
    pub(crate) input: Map<String, Value>,
    /// How the new run's workspace is kept apart.
    pub(crate) workspace: Option<String>,
}

/// Makes the new run at the request of somebody who is elsewhere, and leaves it to whoever attends to the database.
pub(crate) async fn detached(session: &Session, run: &str, wanted: Wanted) -> Result<RunNames> {
    let opened = session.open_for(run)?;
    let store = &opened.store;
    let past = Past::load(store, names::find(store, run).await?).await?;
    let step = past.step(&wanted.from_step).map_err(|error| error.field("/fromStep"))?;
    let args = Args {
        run: run.to_owned(),
        from_step: wanted.from_step.clone(),
        agent: wanted.agents,
        input: Vec::new(),
        values: wanted.input,
        from_afar: true,
        workspace: wanted.workspace,
        detach: true,
        json: true,
    };
    let names = make(session, store, (&past, step), &args, None).await?;
    scribe::write(store, names.run).await;
    opened.ensure_attended().await?;
    Ok(names)
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    let past = Past::load(store, names::find(store, &args.run).await?).await?;
    let step = past.step(&args.from_step)?;
    let owner = if args.detach { None } else { Some(foreground::enlist(store)?) };
    let names = make(session, store, (&past, step), args, owner.as_ref()).await?;
    let old = &past.run.run_id;
    session.output.note(&format!(
        "{} goes on from step {} `{}` of {old}",
        names.run_id, step.number, step.name
    ));
    scribe::write(store, names.run).await;
    let Some(owner) = owner else {
        opened.ensure_attended().await?;
        if args.json {
            session.output.document(&store.run_detail(names.run).await?)?;
        } else {
            session.output.lines([names.run_id])?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::drive(session, store, (owner, names.run), stream).await?;
    report(session, &detail, args.json)
}

/// Makes the run: tried first, then its workspace, then the run itself.
async fn make(
    session: &Session,
    store: &SqliteStore,
    (past, step): (&Past, &Asked),
    args: &Args,
    owner: Option<&Owner>,
) -> Result<RunNames> {
    let old = &past.run;
    let fresh = Fresh::plan(session, store, past, args.workspace.as_deref()).await?;
    let names = RunNames::new(store, &old.workflow).await?;
    let mut sequel = Sequel::in_the_same_place(old, names.run, names.run_id.clone());
    let folder = session.surroundings.cwd.clone().unwrap_or_default();
    if !args.agent.is_empty() {
        let mut all = started_agents(store, old).await?;
        let given = agents::replacements(session, &all, &args.agent, &folder)?;
        all.extend(given);
        sequel = sequel.with_agents(all);
    }
    sequel = with_input(session, store, (old, &names), (sequel, args)).await?;
    let (path, branch) = fresh.expected(&names.run_id).await?;
    let sequel = sequel.in_workspace(&path, &names.run_id, branch);
    let at = ForkAt::Step(step.number);
    let library = session.library(store);
    let tried = trial(store, library.clone(), sequel.request(at, None)).await;
    let notices = tried.map_err(|error| refused(old, error))?;
    notices.iter().for_each(|notice| session.output.note(&notice.to_string()));
    let made = fresh.make(store, (past, step), &names).await?;
    made.notes.iter().for_each(|note| session.output.note(note));
    let workspace = &made.workspace;
    let sequel =
        sequel.in_workspace(&workspace.path, workspace.id.as_str(), workspace.branch.clone());
    let request = sequel.request(at, owner.map(Owner::id));
    fork(store, library, request).await.map_err(|error| refused(old, error))?;
    let record = store.run_detail(names.run).await?.run;
    tend::occupy(session, store, &record, made.workspace).await?;
    Ok(names)
}

/// What the old run started with.
async fn started(store: &SqliteStore, old: &RunRecord) -> Result<Option<RunStarted>> {
    let log = load_whole_log(store, old.id).await?;
    let mut records = log.into_iter().flat_map(agentos_core::codec::Chunk::into_records);
    Ok(match records.next() {
        Some(Record { entry: Entry::RunStarted(start), .. }) => Some(start),
        _ => None,
    })
}

/// Who works in the place of which agent in the old run.
async fn started_agents(store: &SqliteStore, old: &RunRecord) -> Result<BTreeMap<String, String>> {
    Ok(started(store, old).await?.map(|start| start.home.agents).unwrap_or_default())
}

/// With what is said to be another input. It has to be what the run's own source takes.
async fn with_input<'a>(
    session: &Session,
    store: &SqliteStore,
    (old, names): (&RunRecord, &RunNames),
    (sequel, args): (Sequel<'a>, &Args),
) -> Result<Sequel<'a>> {
    if args.input.is_empty() && args.values.is_empty() {
        return Ok(sequel);
    }
    let schema = schema_of(session, store, old).await?;
    // Files that are not named again are those that the old run has, whatever became of where they came from.
    let (before, mut given_files) = match started(store, old).await? {
        Some(start) => (start.input, start.home.given_files),
        None => (Value::Null, BTreeMap::new()),
    };
    let given = Given {
        file: Some(&before)
            .filter(|input| !input.is_null())
            .map(|input| ("the run's input".to_owned(), input.to_string())),
        pairs: args.input.clone(),
        values: args.values.clone(),
        ..Given::default()
    };
    let given = assemble(schema.as_ref(), given)?;
    let mut input = launch::accept(&old.workflow, schema.as_ref(), given)?;
    let project = PathBuf::from(old.work_dir.clone().unwrap_or_default());
    let found = if args.from_afar {
        files_within(&project, schema.as_ref(), &input)?
    } else {
        let cwd = session.surroundings.cwd.clone().unwrap_or_default();
        files(schema.as_ref(), &input, &cwd)?
    };
    let folder = RunFolder::new(&project, names.run);
    folder.create().map_err(|error| CommandError::failed(error.to_string()))?;
    let context = folder.path().join("context");
    for file in found {
        if before.get(&file.property) != input.get(&file.property) {
            given_files.insert(file.property.clone(), file.told(&project));
        }
        file.copy_into(&context, &mut input)?;
    }
    // What is no file any more has no other name.
    given_files.retain(|property, _| input.get(property).is_some());
    Ok(sequel.with_input(input, (&context, given_files)))
}

/// What the run's own source takes.
async fn schema_of(
    session: &Session,
    store: &SqliteStore,
    old: &RunRecord,
) -> Result<Option<Value>> {
    if let Ok(listed) = session.catalog.find(&old.workflow)
        && listed.definition == old.definition_hash
    {
        return Ok(listed.input);
    }
    let library = session.library(store);
    if let Some(start) = started(store, old).await? {
        let start = RunStarted { definition: old.definition_hash.clone(), ..start };
        // What could not be prepared can't be executed either, and that is said then.
        let _unprepared = library.prepare(&start).await;
    }
    let kept = library.scripts.kept(&old.definition_hash);
    Ok(kept.and_then(|definition| definition.config().input.clone()))
}

fn refused(old: &RunRecord, error: ForkError) -> CommandError {
    match error {
        ForkError::Rebase(error) => {
            CommandError::refused(format!("{} can't be forked there: {error}", old.run_id))
                .because(Cause::NotForkable)
        }
        error => error.into(),
    }
}
