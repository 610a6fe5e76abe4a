//! The workflows that can be started from here, wherever they come from.

use std::sync::Arc;

use agentos_core::value::Value;
use agentos_engine::clock::SystemClock;
use agentos_engine::library::{Library, RustLibrary};
use agentos_sdk::{Workflow, Workflows};
use serde::Serialize;

use crate::error::{CommandError, Result};

/// A workflow, as far as it can be known without executing it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Listed {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) version: Option<String>,
    /// Where it comes from.
    pub(crate) origin: &'static str,
    /// The schema of its input.
    pub(crate) input: Option<Value>,
    /// The hash of its definition.
    pub(crate) definition: String,
}

/// All of them.
#[derive(Clone)]
pub(crate) struct Catalog {
    workflows: Arc<Workflows>,
}

impl Catalog {
    pub(crate) const fn new(workflows: Arc<Workflows>) -> Self {
        Self { workflows }
    }

    /// By name.
    pub(crate) fn all(&self) -> Vec<Listed> {
        self.workflows.iter().map(listed).collect()
    }

    /// The one of this name.
    pub(crate) fn find(&self, name: &str) -> Result<Listed> {
        match self.workflows.find(name) {
            Some(workflow) => Ok(listed(workflow)),
            None => Err(self.unknown(name)),
        }
    }

    /// Executes them.
    pub(crate) fn library(&self) -> Arc<dyn Library> {
        Arc::new(self.rust())
    }

    pub(crate) fn rust(&self) -> RustLibrary {
        RustLibrary::new(Workflows::clone(&self.workflows), SystemClock)
    }

    fn unknown(&self, name: &str) -> CommandError {
        let names: Vec<&str> = self.workflows.iter().map(Workflow::name).collect();
        let error = CommandError::not_found(format!("there is no workflow `{name}`"));
        if names.is_empty() {
            return error.hint("this program brings no workflows of its own");
        }
        error.hint(format!("there are {}", names.join(", ")))
    }
}

fn listed(workflow: &Workflow) -> Listed {
    let config = workflow.config();
    Listed {
        name: workflow.name().to_owned(),
        description: config.description.clone(),
        version: config.version.clone(),
        origin: "rust",
        input: config.input.clone(),
        definition: workflow.definition(),
    }
}
