//! The workflow of a run as it is now, for a run that is to go on with it or that is made out of an older one.

use agentos_core::entry::RunStarted;
use agentos_core::rebase::RebaseError;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_store::projection::WorkflowStatus;
use agentos_store::records::RunRecord;
use uuid::Uuid;

use crate::catalog::Listed;
use crate::error::{Cause, CommandError, Result};
use crate::launch;
use crate::session::{Opened, Session};
use crate::start;

/// The source for a new run.
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

    /// What the new run starts with under this source. The input has to be one that the workflow takes now.
    pub(crate) fn start(&self, old: &RunStarted, input: Option<&Value>) -> Result<RunStarted> {
        let input = input.unwrap_or(&old.input).clone();
        let input = launch::accept(&self.workflow.name, self.workflow.input.as_ref(), input)?;
        self.workflow.start(old.run, input, SystemClock.now())
    }
}

/// Whether the workflow of a run has changed since the run got its source.
pub(crate) fn has_changed(session: &Session, run: &RunRecord) -> bool {
    session.catalog.find(&run.workflow).is_ok_and(|now| now.definition != run.definition_hash)
}

/// What can be done about a failure whose workflow has changed since.
pub(crate) fn hint(session: &Session, run: &RunRecord) -> Option<String> {
    let is_failure = matches!(run.status, WorkflowStatus::Failed | WorkflowStatus::TimedOut);
    (is_failure && has_changed(session, run)).then(|| {
        format!(
            "the workflow `{}` has changed since; `agentos retry {} --latest` tries again with it as it is now",
            run.workflow, run.run_id
        )
    })
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
