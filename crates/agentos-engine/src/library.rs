//! Where programs come from.

mod mixed;
pub(crate) mod prelude;
mod rust;
mod script;

use agentos_core::concurrency::Concurrency;
use agentos_core::entry::{Home, Parent, RunStarted};
use agentos_core::failure::Failure;
use agentos_core::id::RunId;
use agentos_core::name::Name;
use agentos_core::program::Program;
use agentos_core::value::Value;
use agentos_sdk::Actions;
use agentos_store::backend::BackendError;
use agentos_store::place::Place;
use async_trait::async_trait;
use thiserror::Error;

pub use mixed::MixedLibrary;
pub use rust::RustLibrary;
pub use script::{Beside, Changes, ScriptLibrary, to_be_kept};

/// The workflows that an engine can execute.
#[async_trait]
pub trait Library: Send + Sync + 'static {
    /// Gets ready to open the program of a run that started like this: reads whatever has to be read for it.
    ///
    /// # Errors
    /// As [`Library::open`].
    async fn prepare(&self, _start: &RunStarted) -> Result<(), LibraryError> {
        Ok(())
    }

    /// The program of a run that started like this, fresh. Called on the thread that executes it; it stays there.
    ///
    /// # Errors
    /// [`LibraryError`] if there is no such workflow, or it can't be loaded. The run waits until there is.
    fn open(&self, start: &RunStarted) -> Result<Opened, LibraryError>;

    /// How many runs of the workflow of a run that started like this are at work at once, if the workflow says. Asked after
    /// [`Library::prepare`].
    fn concurrency(&self, _start: &RunStarted) -> Option<Concurrency> {
        None
    }

    /// What a child run starts with.
    ///
    /// # Errors
    /// Why there can be none: the invocation fails with it.
    fn start_of_child(&self, invocation: Invocation) -> Result<RunStarted, Failure>;

    /// Has the definition of a child run that starts like this kept, as that of every other run is before there is the run:
    /// whatever becomes of the file, the child goes on.
    ///
    /// # Errors
    /// The store can't be written to now.
    async fn keep_for_child(&self, _start: &RunStarted) -> Result<(), BackendError> {
        Ok(())
    }

    /// Where a child run that starts like this belongs in the store. As far as nothing else is said: where its code
    /// believes to be.
    fn place_of_child(&self, start: &RunStarted) -> Place {
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Place {
            project: start.home.project_id.parse().ok(),
            work_dir: said(&start.home.project_path),
            workspace_dir: said(&start.home.workspace_path),
            ..Place::default()
        }
    }
}

/// An invocation of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub struct Invocation {
    /// The run to be created.
    pub child: RunId,
    /// The workflow's name.
    pub workflow: Name,
    /// The input, not validated yet.
    pub input: Value,
    /// Who waits for its end.
    pub parent: Parent,
    /// Where it works: where its parent does, under a name of its own.
    pub home: Home,
}

/// A program, ready to be executed.
pub struct Opened {
    /// The program.
    pub program: Box<dyn Program>,
    /// The code of its own effects: a Rust workflow brings it along.
    pub actions: Option<Actions>,
}

/// Why a program can't be opened.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum LibraryError {
    /// Nobody knows it.
    #[error("there is no workflow `{workflow}` of version `{definition}`")]
    Unknown {
        /// Its name.
        workflow: String,
        /// The hash of its modules.
        definition: String,
    },
    /// It is there, but can't be loaded.
    #[error("the workflow `{workflow}` can't be loaded: {message}")]
    Broken {
        /// Its name.
        workflow: String,
        /// Why.
        message: String,
    },
}
