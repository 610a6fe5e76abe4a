//! The workflows that can be started from here: templates of the project, and what the program brings along.
//!
//! Templates are looked for when somebody asks. One that is broken is told of, and the others work. Where a template has the
//! name of a workflow that the program brings along, it takes its place. What the program brings along is written in Rust (a
//! project's own binary) or built in, in TypeScript; the latter is compiled when somebody asks for it by name.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use agentos_core::entry::RunStarted;
use agentos_core::id::{RunId, Seed};
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_engine::clock::SystemClock;
use agentos_engine::library::{MixedLibrary, RustLibrary, ScriptLibrary, to_be_kept};
use agentos_script::built_in;
use agentos_script::definition::Definition;
use agentos_script::diagnostic::Diagnostic;
use agentos_script::files::WORKFLOWS_FOLDER;
use agentos_script::limits::Limits;
use agentos_script::templates::{Templates, load_templates};
use agentos_sdk::{Workflow, Workflows, nearest};
use agentos_store::records::NewDefinition;
use agentos_store::sqlite::SqliteStore;
use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::error::{Cause, CommandError, Result};
use crate::templates::changes;

/// A workflow, as far as it can be known without executing it.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<String>,
    /// Its file, from the project; none if the program brings it along.
    pub(crate) file: Option<String>,
    /// Whether it takes the place of one that the program brings along.
    pub(crate) replaces_built_in: bool,
    /// The schema of its input.
    pub(crate) input: Option<Value>,
    /// Where it says that it works: a kind of workspace.
    pub(crate) workspace: Option<String>,
    /// Its roles, and which agent plays each of them unless somebody says otherwise.
    pub(crate) agents: BTreeMap<String, String>,
    /// The hash of its definition.
    pub(crate) definition: String,
    #[serde(skip)]
    source: Source,
}

impl Listed {
    /// Whether it is a TypeScript file inside of the program.
    pub(crate) const fn is_built_in(&self) -> bool {
        self.file.is_none() && matches!(self.source, Source::Template(_))
    }
}

#[derive(Debug, Clone)]
enum Source {
    Rust(Box<Workflow>),
    Template(Arc<Definition>),
}

/// All of them.
pub(crate) struct Catalog {
    workflows: Arc<Workflows>,
    /// The project whose templates count.
    project: Option<PathBuf>,
    templates: OnceLock<Templates>,
}

impl Catalog {
    pub(crate) const fn new(workflows: Arc<Workflows>, project: Option<PathBuf>) -> Self {
        Self { workflows, project, templates: OnceLock::new() }
    }

    /// What the program brings along.
    pub(crate) const fn workflows(&self) -> &Arc<Workflows> {
        &self.workflows
    }

    /// The same for another project.
    pub(crate) fn of_project(&self, project: Option<PathBuf>) -> Self {
        Self::new(Arc::clone(&self.workflows), project)
    }

    fn templates(&self) -> &Templates {
        self.templates.get_or_init(|| match &self.project {
            Some(project) => load_templates(project),
            None => Templates::default(),
        })
    }

    /// The templates of the project.
    pub(crate) fn definitions(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.templates().workflows.values()
    }

    /// What is wrong with templates that can't be used.
    pub(crate) fn diagnostics(&self) -> &[Diagnostic] {
        &self.templates().diagnostics
    }

    /// Templates that are not started because another one has their name: `templates/b.ts: there is a workflow …`
    pub(crate) fn twins(&self, name: &str) -> Vec<String> {
        let begin = format!("there is a workflow `{name}` already");
        let twins = self.diagnostics().iter().filter(|found| found.message.starts_with(&begin));
        twins.map(|found| format!("{}: {}", found.file, found.message)).collect()
    }

    /// By name.
    pub(crate) fn all(&self) -> Vec<Listed> {
        let templates = self.templates().workflows.values();
        let mut all: Vec<Listed> = templates.map(|found| self.of_template(found)).collect();
        let is_new =
            |workflow: &&Workflow| !self.templates().workflows.contains_key(workflow.name());
        all.extend(self.workflows.iter().filter(is_new).map(of_rust));
        let is_new = |name: &&str| !all.iter().any(|known| known.name == *name);
        let built_in: Vec<&str> = built_in::names().filter(is_new).collect();
        all.extend(built_in.into_iter().filter_map(load_built_in).map(|found| of_built_in(&found)));
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all
    }

    /// The one of this name.
    pub(crate) fn find(&self, name: &str) -> Result<Listed> {
        if let Some(found) = self.templates().workflows.get(name) {
            return Ok(self.of_template(found));
        }
        let found = self.workflows.find(name).map(of_rust);
        let found = found.or_else(|| load_built_in(name).map(|found| of_built_in(&found)));
        found.ok_or_else(|| self.unknown(name))
    }

    /// Executes them, over the definitions that a store keeps.
    pub(crate) fn library(&self, store: &SqliteStore, limits: Limits) -> Arc<MixedLibrary> {
        let scripts = ScriptLibrary::new(Arc::new(store.clone()), SystemClock, limits);
        let workflows = Arc::clone(&self.workflows);
        let scripts = scripts.beside(Box::new(move |name| match workflows.find(name) {
            Some(_) => None,
            None => load_built_in(name),
        }));
        scripts.offer(self.templates().workflows.clone());
        let scripts = match &self.project {
            Some(project) => scripts.asking(changes(project.clone())),
            None => scripts,
        };
        let rust = RustLibrary::new(Workflows::clone(&self.workflows), SystemClock);
        Arc::new(MixedLibrary { scripts, rust })
    }

    fn of_template(&self, definition: &Arc<Definition>) -> Listed {
        let name = definition.name();
        let is_built_in = built_in::names().any(|built_in| built_in == name);
        Listed {
            file: Some(format!("{WORKFLOWS_FOLDER}/{}", definition.sources().entry)),
            replaces_built_in: is_built_in || self.workflows.find(name).is_some(),
            ..of_built_in(definition)
        }
    }

    fn unknown(&self, name: &str) -> CommandError {
        let broken = self.diagnostics().iter().find(|found| {
            let file = found.file.rsplit('/').next().unwrap_or_default();
            file.strip_suffix(".ts") == Some(name)
        });
        if let Some(broken) = broken {
            let message = format!("the workflow `{name}` can't be used\n{broken}");
            return CommandError::usage(message)
                .because(Cause::Unstartable)
                .cli_hint("`agentos check` tells of everything that is wrong");
        }
        let all = self.all();
        let names: Vec<&str> = all.iter().map(|listed| listed.name.as_str()).collect();
        let error = CommandError::not_found(format!("there is no workflow `{name}`"));
        error.because(Cause::Unstartable).hint(match nearest(name, &names) {
            Some(meant) => format!("did you mean `{meant}`?"),
            None => format!("there are {}", names.join(", ")),
        })
    }
}

/// `"none"`, or `{ kind: "none" }`.
fn kind_of(workspace: &Value) -> Option<String> {
    let kind = workspace.get("kind").unwrap_or(workspace);
    kind.as_str().map(str::to_owned)
}

/// A workflow that the binary brings along, in TypeScript.
fn load_built_in(name: &str) -> Option<Arc<Definition>> {
    match built_in::load(name) {
        Ok(found) => found,
        Err(error) => {
            tracing::error!(%error, name, "a built-in workflow can't be used");
            None
        }
    }
}

fn of_built_in(definition: &Arc<Definition>) -> Listed {
    let config = definition.config();
    Listed {
        name: config.name.clone(),
        description: config.description.clone(),
        version: config.version.clone(),
        file: None,
        replaces_built_in: false,
        input: config.input.clone(),
        workspace: config.workspace.as_ref().and_then(kind_of),
        agents: config.agents.clone(),
        definition: definition.hash().to_owned(),
        source: Source::Template(Arc::clone(definition)),
    }
}

fn of_rust(workflow: &Workflow) -> Listed {
    let config = workflow.config();
    Listed {
        name: workflow.name().to_owned(),
        description: config.description.clone(),
        version: config.version.clone(),
        file: None,
        replaces_built_in: false,
        input: config.input.clone(),
        workspace: config.workspace.clone(),
        agents: BTreeMap::new(),
        definition: workflow.definition(),
        source: Source::Rust(Box::new(workflow.clone())),
    }
}

impl Listed {
    /// What a run of it starts with at this time. The input has been checked.
    pub(crate) fn start(&self, run: RunId, input: Value, now: Timestamp) -> Result<RunStarted> {
        // Chance that is the same whoever creates the run.
        let seed = Seed(run.0.as_u64_pair().0 ^ run.0.as_u64_pair().1);
        let start = match &self.source {
            Source::Rust(workflow) => workflow.run_started(run, input, seed, now),
            Source::Template(definition) => definition.run_started(run, input, seed, now),
        };
        start.map_err(|error| CommandError::usage(error.to_string()))
    }

    /// Its definition as the store keeps it.
    pub(crate) fn kept(&self, project: Uuid, now: Timestamp) -> NewDefinition {
        let id = Uuid::now_v7();
        if let Source::Template(definition) = &self.source {
            let kept = to_be_kept(definition, project, id, now);
            return NewDefinition { file_path: self.file.clone(), ..kept };
        }
        NewDefinition {
            id,
            project,
            name: self.name.clone(),
            description: self.description.clone(),
            file_path: None,
            config: json!({ "name": self.name, "input": self.input }),
            is_active: true,
            hash: self.definition.clone(),
            author_version: self.version.clone(),
            source: String::new(),
            at: now,
        }
    }
}
