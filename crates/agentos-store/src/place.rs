//! Where a run belongs: what is known about it beside its log, said once when it is created.
//!
//! None of it decides anything about the run, so it is no part of the log. It is stored with the run and survives every
//! read and update.

use uuid::Uuid;

/// Where a run belongs. Everything may be unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The project: the checkout that started it.
    pub project: Option<Uuid>,
    /// The workflow's definition.
    pub definition: Option<Uuid>,
    /// The definition's local version.
    pub definition_version: Option<u32>,
    /// The short readable name; one is made if there is none.
    pub run_id: Option<String>,
    /// `main`, or the id of the worktree or workspace.
    pub worktree_id: Option<String>,
    /// The checkout that it was started from, absolute.
    pub work_dir: Option<String>,
    /// The workspace that it works in, absolute.
    pub workspace_dir: Option<String>,
    /// That workspace's id.
    pub workspace_id: Option<String>,
    /// Its input files, prompts and transcripts.
    pub context_dir: Option<String>,
    /// The branch that it works on.
    pub branch_name: Option<String>,
    /// Its log file, relative to the project.
    pub log_file_path: Option<String>,
}
