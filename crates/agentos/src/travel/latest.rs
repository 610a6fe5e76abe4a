//! The workflow of a run as it is now, for a run that is to go on with it or that is made out of an older one.
//!
//! `resume`, `retry` and `fork` find it here, and what a run begins with under it: the input that the run had, without what the
//! workflow does not know any more and with the defaults of what it has got since, and an agent for each of its roles.

use std::collections::BTreeMap;
use std::path::Path;

use agentos_core::entry::RunStarted;
use agentos_core::id::RunId;
use agentos_core::rebase::RebaseError;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_sdk::remove_unknown;
use agentos_store::records::RunRecord;
use uuid::Uuid;

use super::input_files::{self, InputFiles, NewFolder};
use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
use crate::inputs::FileInput;
use crate::session::{Opened, Session};
use crate::{cast, launch, start};

/// The source that a workflow has now.
#[derive(Debug, Clone)]
pub(crate) struct Latest {
    pub(crate) workflow: Listed,
    /// The id of its definition and the version of that, once the database keeps it.
    pub(crate) definition: Option<(Uuid, u32)>,
}

impl Latest {
    /// Finds the workflow of a run as it is now. Nothing is written before it is known to fit.
    pub(crate) fn find(session: &Session, old: &RunRecord) -> Result<Self> {
        Ok(Self { workflow: session.catalog.find(&old.workflow)?, definition: None })
    }

    /// Has the database keep its definition.
    pub(crate) async fn keep(&self, opened: &Opened) -> Result<Self> {
        let Opened { store, prepared, .. } = opened;
        let definition = start::register(store, prepared, &self.workflow).await?;
        Ok(Self { definition: Some(definition), ..self.clone() })
    }

    /// Whether a run has this source already.
    pub(crate) fn is_source_of(&self, run: &RunRecord) -> bool {
        self.workflow.definition == run.definition_hash
    }

    /// What a run begins with under this source that is given nothing else than it had, and what is to be said about that. A
    /// caller who is elsewhere is given nothing but files of the project.
    pub(crate) fn start_again(
        &self,
        session: &Session,
        (old, started): (&RunRecord, &RunStarted),
        from_afar: bool,
    ) -> Result<(Beginning, Vec<String>)> {
        let (input, notes) = self.known_input(&started.input);
        let home = &started.home;
        let before = Before {
            input,
            context: Path::new(&home.context_path),
            given_files: &home.given_files,
            agents: &home.agents,
            from_afar,
        };
        Ok((self.start(session, old, before)?, notes))
    }

    /// The input of a run as far as this source knows it, and a line for each field that it does not know any more.
    pub(crate) fn known_input(&self, before: &Value) -> (Value, Vec<String>) {
        let (mut input, workflow) = (before.clone(), &self.workflow.name);
        let unknown = remove_unknown(self.workflow.input.as_ref(), &mut input).into_iter();
        let line = |name| {
            format!("the input `{name}` is left out: `{workflow}` as it is now does not know it")
        };
        (input, unknown.map(line).collect())
    }

    /// What a run begins with under this source. The input has to be one that the workflow takes now, as for a new run.
    pub(crate) fn start(
        &self,
        session: &Session,
        old: &RunRecord,
        before: Before<'_>,
    ) -> Result<Beginning> {
        let Before { input, context, given_files, agents, from_afar } = before;
        let (name, workflow) = (&old.run_id, &self.workflow);
        let schema = workflow.input.as_ref();
        let accepted = launch::accept(&workflow.name, schema, input).and_then(|input| {
            let place = (context, from_afar);
            let files = input_files::find_new(session, old, (schema, &input), place)?;
            Ok((input, files))
        });
        let (input, files) = accepted.map_err(|error| match error.cause {
            Some(Cause::Input) => error
                .cli_hint(format!(
                    "`agentos fork {name} --from-step STEP --latest --input KEY=VALUE` gives a new run another input"
                ))
                .api_hint(format!(
                    "`POST /api/executions/{name}/fork` with `latest` and `input` gives a new run another input"
                )),
            _ => error,
        })?;
        let mut start = workflow.start(old.id, input, SystemClock.now())?;
        start.home.agents = cast::cast(session, workflow, agents)?;
        let project = input_files::project_of(old);
        let new = files.new.iter().map(|file| (file.property.clone(), file.told(&project)));
        start.home.given_files = given_files.clone().into_iter().chain(new).collect();
        // What is no file any more has no other name.
        start.home.given_files.retain(|property, _| start.input.get(property).is_some());
        Ok(Beginning { start, files })
    }
}

/// What a run has that is to begin anew, or that a new one is made out of.
pub(crate) struct Before<'a> {
    /// Its input, as far as the source knows it.
    pub(crate) input: Value,
    /// The folder with the copies of its input files.
    pub(crate) context: &'a Path,
    /// What they are called where they come from.
    pub(crate) given_files: &'a BTreeMap<String, String>,
    pub(crate) agents: &'a BTreeMap<String, String>,
    /// Whether the caller is elsewhere.
    pub(crate) from_afar: bool,
}

/// What a run begins with.
pub(crate) struct Beginning {
    /// Its input names files where they are: they have to be copied.
    pub(crate) start: RunStarted,
    /// The files of its input.
    files: InputFiles,
}

impl Beginning {
    /// For a run that has its folder already: what it begins with, and the files that have to be copied there before it does.
    pub(crate) fn in_folder(mut self, context: &Path) -> (RunStarted, Vec<FileInput>) {
        for file in &self.files.new {
            file.name_copy(context, &mut self.start.input);
        }
        (self.start, self.files.new)
    }

    /// For a new run. It reads the copies that the old one has, unless its input names other files: then all of them are copied
    /// into its own folder.
    pub(crate) fn in_new_folder(
        mut self,
        old: &RunRecord,
        run: RunId,
    ) -> Result<(RunStarted, Option<NewFolder>)> {
        let InputFiles { new, copies } = &self.files;
        if new.is_empty() {
            return Ok((self.start, None));
        }
        let all = (new.iter().chain(copies), &mut self.start.input);
        let folder = NewFolder::create(old, run, all)?;
        Ok((self.start, Some(folder)))
    }
}

/// Whether the workflow of a run has changed since the run got its source.
pub(crate) fn has_changed(session: &Session, run: &RunRecord) -> bool {
    Latest::find(session, run).is_ok_and(|latest| !latest.is_source_of(run))
}

/// Whether it is the other source that can't be executed over what the run has done.
pub(crate) const fn is_misfit(error: &RebaseError) -> bool {
    !matches!(
        error,
        RebaseError::Empty
            | RebaseError::Log(_)
            | RebaseError::Ended
            | RebaseError::NoSuchStep(_)
            | RebaseError::NotFailed
    )
}

/// The workflow as it is now does not fit what the run has done.
pub(crate) fn does_not_fit(run: &RunRecord, error: &RebaseError) -> CommandError {
    let at = match error {
        RebaseError::Fails(failure) => failure.detail.as_ref().and_then(|detail| detail.get("at")),
        _ => None,
    };
    let at = at.and_then(Value::as_str).map(|at| format!(" ({WORKFLOWS_FOLDER}/{at})"));
    let why = format!("{error}{}", at.unwrap_or_default());
    CommandError::refused(format!("{} can't go on with the latest source: {why}", run.run_id))
        .because(Cause::LatestDoesNotFit)
        .cli_hint("nothing has changed; without `--latest` it goes on with its own source")
        .api_hint("nothing has changed; without `latest` it goes on with its own source")
}
