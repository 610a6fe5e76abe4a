//! The workflow of a run as it is now, for a run that is to go on with it or that is made out of an older one.
//!
//! `resume`, `retry` and `fork` find it here, and what a run begins with under it: the input that the run had, without what the
//! workflow does not know any more and with the defaults of what it has got since, and an agent for each of its roles.

use std::collections::BTreeMap;

use agentos_core::entry::RunStarted;
use agentos_core::rebase::RebaseError;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_sdk::remove_unknown;
use agentos_store::records::RunRecord;
use uuid::Uuid;

use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
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

    /// What a run begins with under this source that is given nothing else than it had, and what is to be said about that.
    pub(crate) fn start_again(
        &self,
        session: &Session,
        (old, started): (&RunRecord, &RunStarted),
    ) -> Result<(RunStarted, Vec<String>)> {
        let (input, notes) = self.known_input(&started.input);
        let start = self.start(session, old, (input, &started.home.agents))?;
        Ok((start, notes))
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

    /// What a run begins with under this source, with this input and these agents. The input has to be one that the workflow
    /// takes now.
    pub(crate) fn start(
        &self,
        session: &Session,
        old: &RunRecord,
        (input, agents): (Value, &BTreeMap<String, String>),
    ) -> Result<RunStarted> {
        let (name, workflow) = (&old.run_id, &self.workflow);
        let input = launch::accept(&workflow.name, workflow.input.as_ref(), input);
        let input = input.map_err(|error| match error.cause {
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
        Ok(start)
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
