//! A run that is made out of another one: what it is called, and where it works.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use agentos_core::entry::{Home, RunStarted};
use agentos_core::id::{OwnerId, RunId};
use agentos_core::rebase::Names;
use agentos_core::value::Value;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_engine::fork::{ForkAt, ForkRequest};
use agentos_store::folder::{Creating, RunFolder};
use agentos_store::place::Place;
use agentos_store::records::RunRecord;

use super::input_files::NewFolder;
use super::latest::Latest;
use crate::error::Result;
use crate::session::Opened;

/// What becomes of a run.
#[derive(Debug, Clone)]
pub(crate) struct Sequel<'a> {
    old: &'a RunRecord,
    run: RunId,
    home: Home,
    workspace_id: Option<String>,
    branch: Option<String>,
    input: Option<Value>,
    source: Option<(Latest, Box<RunStarted>)>,
    /// Kept until the run is there.
    folder: Option<Arc<Creating>>,
}

impl<'a> Sequel<'a> {
    /// One that works where the old one did, with the same agents.
    pub(crate) fn in_the_same_place(old: &'a RunRecord, run: RunId, run_id: String) -> Self {
        let home = Home {
            run_id,
            project_id: old.project_id.map(|id| id.to_string()).unwrap_or_default(),
            project_path: old.work_dir.clone().unwrap_or_default(),
            workspace_path: old.workspace_dir.clone().unwrap_or_default(),
            context_path: old.context_dir.clone().unwrap_or_default(),
            // That of the old run.
            setup: String::new(),
            depth: 0,
            agents: [].into(),
            given_files: [].into(),
        };
        let (workspace_id, branch) = (old.workspace_id.clone(), old.branch_name.clone());
        Self { old, run, home, workspace_id, branch, input: None, source: None, folder: None }
    }

    /// The same with a folder that was made for it already, with its input files.
    pub(crate) fn in_new_folder(mut self, folder: &NewFolder) -> Self {
        self.home.context_path = folder.context.to_string_lossy().into_owned();
        self.folder = Some(Arc::clone(&folder.creating));
        self
    }

    /// The same in another workspace.
    pub(crate) fn in_workspace(mut self, path: &Path, id: &str, branch: Option<String>) -> Self {
        self.home.workspace_path = path.to_string_lossy().into_owned();
        self.workspace_id = Some(id.to_owned());
        self.branch = branch;
        self
    }

    /// The same with another input, and what its files are called where they come from.
    pub(crate) fn with_input(
        mut self,
        input: Value,
        given_files: BTreeMap<String, String>,
    ) -> Self {
        self.home.given_files = given_files;
        self.input = Some(input);
        self
    }

    /// What the new run is started with, if not with what the old one was.
    pub(crate) const fn input(&self) -> Option<&Value> {
        self.input.as_ref()
    }

    /// Where it is, and what it is called.
    pub(crate) const fn home(&self) -> &Home {
        &self.home
    }

    /// The same with another source, and what a run of that starts with: its agents, too.
    pub(crate) fn with_source(mut self, source: Latest, start: RunStarted) -> Self {
        self.home.agents.clone_from(&start.home.agents);
        self.home.given_files.clone_from(&start.home.given_files);
        self.source = Some((source, Box::new(start)));
        self
    }

    /// The same when the database keeps its source.
    pub(crate) async fn kept(mut self, opened: &Opened) -> Result<Self> {
        if let Some((latest, _)) = &mut self.source {
            *latest = latest.keep(opened).await?;
        }
        Ok(self)
    }

    /// The same with other agents.
    pub(crate) fn with_agents(mut self, agents: BTreeMap<String, String>) -> Self {
        self.home.agents = agents;
        self
    }

    /// What the engine is asked for.
    pub(crate) fn request(&self, at: ForkAt, owner: Option<OwnerId>) -> ForkRequest {
        ForkRequest {
            of: self.old.id,
            at,
            run: self.run,
            home: self.home.clone(),
            input: self.input.clone(),
            source: self.source.as_ref().map(|(_, start)| start.clone()),
            place: self.place(),
            owner,
            old_names: self.old_names(),
            new_names: self.new_names(),
            now: SystemClock.now(),
        }
    }

    fn place(&self) -> Place {
        let (old, home) = (self.old, &self.home);
        let said = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let folder = RunFolder::new(Path::new(&home.project_path), self.run);
        let latest = self.source.as_ref().and_then(|(latest, _)| latest.definition);
        Place {
            project: old.project_id,
            definition: latest.map(|(id, _)| id).or(old.workflow_def_id),
            definition_version: latest.map(|(_, version)| version).or(old.definition_version),
            run_id: None,
            worktree_id: old.worktree_id.clone(),
            work_dir: old.work_dir.clone(),
            workspace_dir: said(&home.workspace_path),
            workspace_id: self.workspace_id.clone(),
            context_dir: said(&home.context_path),
            branch_name: self.branch.clone(),
            log_file_path: Some(folder.log_file().to_string_lossy().into_owned()),
        }
    }

    /// What the old run calls itself and its places.
    fn old_names(&self) -> Names {
        let old = self.old;
        let names = named(&old.run_id, &old.id.to_string());
        let path = |path: &Option<String>| path.clone().unwrap_or_default();
        names
            .with(path(&old.workspace_dir), "{workspace}")
            .with(path(&old.context_dir), "{context}")
            .with(path(&old.branch_name), "{branch}")
    }

    fn new_names(&self) -> Names {
        let home = &self.home;
        let names = named(&home.run_id, &self.run.to_string());
        names
            .with(home.workspace_path.clone(), "{workspace}")
            .with(home.context_path.clone(), "{context}")
            .with(self.branch.clone().unwrap_or_default(), "{branch}")
    }
}

fn named(run_id: &str, id: &str) -> Names {
    Names::default().with(run_id, "{run_id}").with(id, "{id}")
}
