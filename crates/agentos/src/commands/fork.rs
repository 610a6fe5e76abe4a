//! `agentos fork`: a new run that goes on from before some step of another one, with the files as they were then.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use agentos_core::entry::RunStarted;
use agentos_core::value::Value;
use agentos_engine::fork::{ForkAt, ForkError, fork, trial};
use agentos_engine::library::Library as _;
use agentos_engine::travel::Asked;
use agentos_store::records::{Records as _, RunRecord};
use agentos_store::sqlite::{Owner, SqliteStore};
use serde_json::Map;

use super::report;
use crate::error::{Cause, CommandError, Result};
use crate::inputs::{Given, assemble};
use crate::launch;
use crate::output::Notes;
use crate::session::{Opened, Session};
use crate::start::RunNames;
use crate::travel::fresh::Fresh;
use crate::travel::input_files::{self, NewFolder};
use crate::travel::latest::{self, Before, Latest};
use crate::travel::past::{self, Past};
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

    /// Use the workflow as it is now, not the source that the run had
    #[arg(long)]
    latest: bool,

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
    /// With the workflow as it is now.
    pub(crate) latest: bool,
}

/// Makes the new run at the request of a caller who is elsewhere, and leaves it to the executor or server of the database. Answers with
/// what was said about it as well.
pub(crate) async fn detached(
    session: &Session,
    run: &str,
    wanted: Wanted,
) -> Result<(RunNames, Vec<String>)> {
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
        latest: wanted.latest,
        detach: true,
        json: true,
    };
    let mut notes = Notes::new(&session.output);
    let names = make(session, &opened, (&past, step), &args, (None, &mut notes)).await?;
    scribe::write(store, names.run).await;
    foreground::leave_if_ended(session, store, names.run).await?;
    opened.ensure_attended().await?;
    Ok((names, notes.said()))
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let opened = session.open_for(&args.run)?;
    let store = &opened.store;
    let past = Past::load(store, names::find(store, &args.run).await?).await?;
    let step = past.step(&args.from_step)?;
    let owner = if args.detach { None } else { Some(foreground::enlist(store)?) };
    let mut notes = Notes::new(&session.output);
    let names = make(session, &opened, (&past, step), args, (owner.as_ref(), &mut notes)).await?;
    let old = &past.run.run_id;
    let source = if args.latest { ", with the latest source" } else { "" };
    session.output.note(&format!(
        "{} goes on from step {} `{}` of {old}{source}",
        names.run_id, step.number, step.title
    ));
    if !args.latest && latest::has_changed(session, &past.run) {
        let workflow = &past.run.workflow;
        session.output.note(&format!(
            "the workflow `{workflow}` has changed since; `--latest` forks with it as it is now"
        ));
    }
    scribe::write(store, names.run).await;
    let Some(owner) = owner else {
        foreground::leave_if_ended(session, store, names.run).await?;
        opened.ensure_attended().await?;
        if args.json {
            session.output.document(&store.run_detail(names.run).await?)?;
        } else {
            session.output.lines([names.run_id])?;
        }
        return Ok(ExitCode::SUCCESS);
    };
    let stream = if args.json { Stream::Error } else { Stream::Out };
    let detail = foreground::see_to_end(session, store, (owner, names.run), stream).await?;
    report(session, store, &detail, args.json).await
}

/// Makes the run: tried first, then its workspace, then the run itself.
async fn make(
    session: &Session,
    opened: &Opened,
    (past, step): (&Past, &Asked),
    args: &Args,
    (owner, notes): (Option<&Owner>, &mut Notes<'_>),
) -> Result<RunNames> {
    let (store, old) = (&opened.store, &past.run);
    if past.is_superseded(step) {
        let message = format!(
            "{} can't be forked from step {} `{}`: it is superseded, the run's present source does not ask for it",
            old.run_id, step.number, step.title
        );
        return Err(CommandError::refused(message)
            .because(Cause::NotForkable)
            .cli_hint(format!("`agentos show {}` lists the steps", old.run_id)));
    }
    let latest = match args.latest {
        true => Some(Latest::find(session, old)?),
        false => None,
    };
    let fresh = Fresh::plan(session, store, past, args.workspace.as_deref()).await?;
    let names = RunNames::new(store, &old.workflow).await?;
    let sequel = Sequel::in_the_same_place(old, names.run, names.run_id.clone());
    let started = past::started(store, old.id).await?;
    let agents = agents_of(session, started.as_ref(), args)?;
    let before = started.as_ref().map(|start| start.input.clone()).unwrap_or_default();
    let (schema, (before, left_out)) = match &latest {
        Some(latest) => (latest.workflow.input.clone(), latest.known_input(&before)),
        None => (schema_of(session, store, old).await?, (before, Vec::new())),
    };
    left_out.iter().for_each(|note| notes.note(note));
    let context = Context { old, names: &names, started: started.as_ref(), before, schema };
    let mut sequel = with_input(session, &context, (sequel, args))?;
    sequel = match &latest {
        Some(latest) => with_latest(session, &context, latest, (sequel, &agents, args.from_afar))?,
        None => sequel.with_agents(agents),
    };
    let (path, branch) = fresh.expected(&names.run_id).await?;
    let sequel = sequel.in_workspace(&path, &names.run_id, branch);
    let at = ForkAt::Step(step.number);
    let library = session.library(store);
    let tried = trial(store, library.clone(), sequel.request(at, None)).await;
    let notices = tried.map_err(|error| refused(old, error, args.latest))?;
    notices.iter().for_each(|notice| notes.note(notice));
    let made = fresh.make(store, (past, step), &names).await?;
    made.notes.iter().for_each(|note| notes.note(note));
    let workspace = &made.workspace;
    let sequel =
        sequel.in_workspace(&workspace.path, workspace.id.as_str(), workspace.branch.clone());
    let sequel = sequel.kept(opened).await?;
    let request = sequel.request(at, owner.map(Owner::id));
    fork(store, library, request).await.map_err(|error| refused(old, error, args.latest))?;
    let record = store.run_detail(names.run).await?.run;
    tend::occupy(session, store, &record, made.workspace).await?;
    Ok(names)
}

/// Which agents work for the new run: those of the old one, but for others that are named.
fn agents_of(
    session: &Session,
    started: Option<&RunStarted>,
    args: &Args,
) -> Result<BTreeMap<String, String>> {
    let mut all = started.map(|start| start.home.agents.clone()).unwrap_or_default();
    if !args.agent.is_empty() {
        let folder = session.surroundings.cwd.clone().unwrap_or_default();
        let given = agents::replacements(session, &all, &args.agent, &folder)?;
        all.extend(given);
    }
    Ok(all)
}

/// What an input of the new run follows from.
struct Context<'a> {
    old: &'a RunRecord,
    names: &'a RunNames,
    /// What the old run started with.
    started: Option<&'a RunStarted>,
    /// Its input, as far as the new run's source knows it.
    before: Value,
    /// What the new run's source takes.
    schema: Option<Value>,
}

/// With what is said to be another input. It has to be what the new run's source takes.
fn with_input<'a>(
    session: &Session,
    Context { old, names, started, before, schema }: &Context<'_>,
    (sequel, args): (Sequel<'a>, &Args),
) -> Result<Sequel<'a>> {
    if args.input.is_empty() && args.values.is_empty() {
        return Ok(sequel);
    }
    // Files that are not named again are those that the old run has, whatever became of where they came from.
    let mut given_files = started.map(|start| start.home.given_files.clone()).unwrap_or_default();
    let given = Given {
        file: Some(before)
            .filter(|input| !input.is_null())
            .map(|input| ("the run's input".to_owned(), input.to_string())),
        pairs: args.input.clone(),
        values: args.values.clone(),
        ..Given::default()
    };
    let given = assemble(schema.as_ref(), given)?;
    let mut input = launch::accept(&old.workflow, schema.as_ref(), given)?;
    let found = input_files::find(session, old, (schema.as_ref(), &input), args.from_afar)?;
    let project = input_files::project_of(old);
    for file in &found {
        if before.get(&file.property) != input.get(&file.property) {
            given_files.insert(file.property.clone(), file.told(&project));
        }
    }
    let folder = NewFolder::create(old, names.run, (found.iter(), &mut input))?;
    // What is no file any more has no other name.
    given_files.retain(|property, _| input.get(property).is_some());
    Ok(sequel.with_input(input, given_files).in_new_folder(&folder))
}

/// With the workflow as it is now, and with what a run of that begins with.
fn with_latest<'a>(
    session: &Session,
    Context { old, names, started, before, .. }: &Context<'_>,
    latest: &Latest,
    (sequel, agents, from_afar): (Sequel<'a>, &BTreeMap<String, String>, bool),
) -> Result<Sequel<'a>> {
    // With another input it has copies of its own already.
    let home = match (sequel.input(), started) {
        (None, Some(start)) => &start.home,
        _ => sequel.home(),
    };
    let before = Before {
        input: sequel.input().unwrap_or(before).clone(),
        context: Path::new(&home.context_path),
        given_files: &home.given_files,
        agents,
        from_afar,
    };
    let beginning = latest.start(session, old, before)?;
    let (start, folder) = beginning.in_new_folder(old, names.run)?;
    let sequel = sequel.with_source(latest.clone(), start);
    Ok(match &folder {
        Some(folder) => sequel.in_new_folder(folder),
        None => sequel,
    })
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
    if let Some(start) = past::started(store, old.id).await? {
        let start = RunStarted { definition: old.definition_hash.clone(), ..start };
        // What could not be prepared can't be executed either, and that is said then.
        let _unprepared = library.prepare(&start).await;
    }
    let kept = library.scripts.kept(&old.definition_hash);
    Ok(kept.and_then(|definition| definition.config().input.clone()))
}

fn refused(old: &RunRecord, error: ForkError, is_latest: bool) -> CommandError {
    match error {
        ForkError::Rebase(error) if is_latest && latest::is_misfit(&error) => {
            latest::does_not_fit(old, &error)
        }
        ForkError::Rebase(error) => {
            CommandError::refused(format!("{} can't be forked there: {error}", old.run_id))
                .because(Cause::NotForkable)
        }
        error => error.into(),
    }
}
