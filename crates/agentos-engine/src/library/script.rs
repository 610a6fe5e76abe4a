//! Workflows written in TypeScript, as a library.
//!
//! What can be started is what was found in the project last. What a run executes is the source that it started with: it
//! is kept by the store with its definition's version, and compiled again when a run of it is taken up. Whatever happens to
//! the files meanwhile, the run goes on.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentos_core::concurrency::Concurrency;
use agentos_core::entry::RunStarted;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, Seed};
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_script::definition::Definition;
use agentos_script::limits::Limits;
use agentos_script::run::RunInfo;
use agentos_script::sources::Sources;
use agentos_sdk::{InputError, accept_input};
use agentos_store::backend::BackendError;
use agentos_store::records::{NewDefinition, RecordError, Records};
use async_trait::async_trait;
use uuid::Uuid;

use super::{Invocation, Library, LibraryError, Opened};
use crate::clock::Clock;

/// How many compiled definitions are kept that no run uses at the moment.
const UNUSED: usize = 64;

/// How many definitions are remembered that were written down.
const WRITTEN_DOWN: usize = 1_000;

/// The workflows of a project that are written in TypeScript.
pub struct ScriptLibrary {
    records: Arc<dyn Records>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    shelf: Mutex<Shelf>,
    /// Says what can be started, if that has changed.
    changes: Option<Changes>,
    /// Knows what can be started beside.
    beside: Option<Beside>,
}

/// The workflows that can be started, if they are others than at the last call.
pub type Changes = Box<dyn Fn() -> Option<BTreeMap<String, Arc<Definition>>> + Send + Sync>;

/// The workflow of a name that the project has no template for. It is compiled when somebody asks.
pub type Beside = Box<dyn Fn(&str) -> Option<Arc<Definition>> + Send + Sync>;

#[derive(Default)]
struct Shelf {
    /// What can be started, by name.
    current: BTreeMap<String, Arc<Definition>>,
    /// What runs execute, by hash.
    compiled: HashMap<String, Arc<Definition>>,
    /// What was written down for invocations: of which project, and which hash.
    written_down: HashSet<(Uuid, String)>,
}

impl ScriptLibrary {
    /// A library over the definitions that a store keeps. Nothing can be started yet.
    #[must_use]
    pub fn new(records: Arc<dyn Records>, clock: impl Clock, limits: Limits) -> Self {
        let (clock, shelf) = (Arc::new(clock), Mutex::default());
        Self { records, clock, limits, shelf, changes: None, beside: None }
    }

    /// With workflows that can be started where the project has none of the name.
    #[must_use]
    pub fn beside(mut self, beside: Beside) -> Self {
        self.beside = Some(beside);
        self
    }

    /// Asks this before a workflow is invoked: whatever is in the project then is started.
    #[must_use]
    pub fn asking(mut self, changes: Changes) -> Self {
        self.changes = Some(changes);
        self
    }

    /// Looks whether other workflows can be started now.
    pub(super) fn look(&self) {
        if let Some(changed) = self.changes.as_ref().and_then(|changes| changes()) {
            self.offer(changed);
        }
    }

    /// Says what can be started from now on.
    pub fn offer(&self, workflows: BTreeMap<String, Arc<Definition>>) {
        let mut shelf = self.shelf();
        for definition in workflows.values() {
            shelf.keep(Arc::clone(definition));
        }
        shelf.current = workflows;
    }

    /// The workflow that is started under this name.
    #[must_use]
    pub fn find(&self, workflow: &str) -> Option<Arc<Definition>> {
        let current = self.shelf().current.get(workflow).cloned();
        current.or_else(|| {
            let found = self.beside.as_ref()?(workflow)?;
            self.shelf().keep(Arc::clone(&found));
            Some(found)
        })
    }

    /// The definition of this hash, if it is at hand: see [`Library::prepare`].
    #[must_use]
    pub fn kept(&self, hash: &str) -> Option<Arc<Definition>> {
        self.shelf().compiled.get(hash).cloned()
    }

    /// What a run of a workflow starts with. Its definition has to be kept by the store before the run is created; see
    /// [`to_be_kept`].
    ///
    /// # Errors
    /// There is no such workflow, or the input is not what it takes.
    pub fn start(&self, run: RunId, workflow: &str, input: Value) -> Result<RunStarted, Failure> {
        let refused = |message: String| Failure::new(FailureKind::NonRetryable, message);
        let found = self.find(workflow);
        let definition =
            found.ok_or_else(|| refused(format!("there is no workflow `{workflow}`")))?;
        let input = accept_input(definition.config().input.as_ref(), input)
            .map_err(InputError::into_failure)?;
        // Chance that is the same whoever creates the run.
        let seed = Seed(run.0.as_u64_pair().0 ^ run.0.as_u64_pair().1);
        let start = definition.run_started(run, input, seed, self.clock.now());
        start.map_err(|error| refused(error.to_string()))
    }

    /// The definition of a run that starts like this, and whether it is a template of the project.
    fn at_hand(&self, start: &RunStarted) -> Option<(Arc<Definition>, bool)> {
        let shelf = self.shelf();
        let definition = shelf.compiled.get(&start.definition).cloned()?;
        let current = shelf.current.get(start.workflow.as_str());
        let is_template = current.is_some_and(|current| current.hash() == definition.hash());
        Some((definition, is_template))
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf> {
        self.shelf.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source of a definition, as the store has kept it.
    async fn load_source(
        &self,
        workflow: &str,
        hash: &str,
    ) -> Result<Option<String>, LibraryError> {
        let broken = |error: &dyn std::fmt::Display| LibraryError::Broken {
            workflow: workflow.to_owned(),
            message: error.to_string(),
        };
        let definitions = self.records.definitions(None).await.map_err(|error| broken(&error))?;
        for definition in definitions.into_iter().filter(|found| found.name == workflow) {
            let versions = self.records.definition_versions(definition.id).await;
            let mut versions = versions.map_err(|error| broken(&error))?.into_iter();
            if let Some(version) = versions.find(|version| version.hash == hash) {
                return Ok(Some(version.source));
            }
        }
        Ok(None)
    }
}

impl Shelf {
    /// Keeps a definition, and lets go of those that nobody uses if there are many.
    fn keep(&mut self, definition: Arc<Definition>) {
        if self.compiled.len() >= UNUSED {
            self.compiled.retain(|_, kept| Arc::strong_count(kept) > 1);
        }
        self.compiled.insert(definition.hash().to_owned(), definition);
    }

    /// Remembers what need not be written down again; of many, nothing.
    fn has_written_down(&mut self, known: (Uuid, String)) {
        if self.written_down.len() >= WRITTEN_DOWN {
            self.written_down.clear();
        }
        self.written_down.insert(known);
    }
}

#[async_trait]
impl Library for ScriptLibrary {
    async fn prepare(&self, start: &RunStarted) -> Result<(), LibraryError> {
        let (workflow, hash) = (start.workflow.to_string(), &start.definition);
        if self.shelf().compiled.contains_key(hash) {
            return Ok(());
        }
        let Some(source) = self.load_source(&workflow, hash).await? else {
            // A child run of a workflow that is there beside: it is kept by whoever finds it.
            return match self.find(&workflow).filter(|found| found.hash() == hash) {
                Some(_) => Ok(()),
                None => Err(LibraryError::Unknown { workflow, definition: hash.clone() }),
            };
        };
        let broken = |error: &dyn std::fmt::Display| LibraryError::Broken {
            workflow: workflow.clone(),
            message: error.to_string(),
        };
        let sources = Sources::from_text(&source).map_err(|error| broken(&error))?;
        let definition = Definition::compile(&sources).map_err(|error| broken(&error))?;
        self.shelf().keep(Arc::new(definition));
        Ok(())
    }

    fn open(&self, start: &RunStarted) -> Result<Opened, LibraryError> {
        let definition = self.shelf().compiled.get(&start.definition).cloned();
        let Some(definition) = definition else {
            let (workflow, definition) = (start.workflow.to_string(), start.definition.clone());
            return Err(LibraryError::Unknown { workflow, definition });
        };
        let program = definition.program(RunInfo::of(start), self.limits);
        Ok(Opened { program: Box::new(program), actions: None })
    }

    fn concurrency(&self, start: &RunStarted) -> Option<Concurrency> {
        self.kept(&start.definition)?.config().concurrency
    }

    fn start_of_child(&self, invocation: Invocation) -> Result<RunStarted, Failure> {
        let Invocation { child, workflow, input, parent, home } = invocation;
        let start = self.start(child, workflow.as_str(), input)?;
        Ok(RunStarted { parent: Some(parent), home: home.into(), ..start })
    }

    async fn keep_for_child(&self, start: &RunStarted) -> Result<(), BackendError> {
        let Ok(project) = start.home.project_id.parse::<Uuid>() else { return Ok(()) };
        let Some((definition, is_template)) = self.at_hand(start) else { return Ok(()) };
        let known = (project, definition.hash().to_owned());
        if self.shelf().written_down.contains(&known) {
            return Ok(());
        }
        let kept = to_be_kept(&definition, project, Uuid::now_v7(), self.clock.now());
        let file_path = kept.file_path.clone().filter(|_| is_template);
        match self.records.put_definition(NewDefinition { file_path, ..kept }).await {
            Err(RecordError::Backend(error)) => return Err(error),
            // A store that knows no such project keeps no definitions for it.
            Err(_) => {}
            Ok(_) => self.shelf().has_written_down(known),
        }
        Ok(())
    }
}

/// A definition as the store keeps it. `id` is its own if it is new to the project.
#[must_use]
pub fn to_be_kept(
    definition: &Definition,
    project: Uuid,
    id: Uuid,
    at: Timestamp,
) -> NewDefinition {
    let config = definition.config();
    let folder = agentos_script::files::WORKFLOWS_FOLDER;
    NewDefinition {
        id,
        project,
        name: config.name.clone(),
        description: config.description.clone(),
        file_path: Some(format!("{folder}/{}", definition.sources().entry)),
        config: serde_json::to_value(config).unwrap_or_default(),
        is_active: true,
        hash: definition.hash().to_owned(),
        author_version: config.version.clone(),
        source: definition.sources().to_text(),
        at,
    }
}
