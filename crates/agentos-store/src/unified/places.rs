//! What worktrees are called.

use std::path::Path;

use uuid::Uuid;

use super::Worktree;
use crate::records::RunRecord;

/// The id of every main checkout.
const MAIN: &str = "main";

/// How much of an id tells two worktrees of one name apart.
const SHORT: usize = 8;

/// The checkouts of a repository, or of several, with names that are all different.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Worktrees {
    all: Vec<Worktree>,
}

impl Worktrees {
    /// These. Where two have one name, their ids are added to it; to that of a main checkout, its folder.
    #[must_use]
    pub fn new(mut all: Vec<Worktree>) -> Self {
        let names: Vec<String> = all.iter().map(|worktree| worktree.name.clone()).collect();
        for worktree in &mut all {
            let is_shared = names.iter().filter(|name| **name == worktree.name).count() > 1;
            if let Some(id) = worktree.id.as_ref().filter(|_| is_shared) {
                let short: String = match worktree.path.file_name().filter(|_| id == MAIN) {
                    Some(folder) => folder.to_string_lossy().into_owned(),
                    None => id.chars().take(SHORT).collect(),
                };
                worktree.name = format!("{} ({short})", worktree.name);
            }
        }
        Self { all }
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Worktree] {
        &self.all
    }

    /// The one that somebody means: by its id, its name or its path.
    #[must_use]
    pub fn find(&self, meant: &str) -> Option<&Worktree> {
        let named = self.all.iter().find(|worktree| worktree.name == meant);
        let known = named.or_else(|| self.by_id(meant, None, None));
        known.or_else(|| {
            let real = Path::new(meant).canonicalize().ok()?;
            let is_there = |worktree: &&Worktree| {
                worktree.path == real || worktree.path.canonicalize().is_ok_and(|path| path == real)
            };
            self.all.iter().find(is_there)
        })
    }

    /// What the worktree of a run is called. Its folder may be gone.
    #[must_use]
    pub fn name_of(&self, run: &RunRecord) -> String {
        self.name(run.worktree_id.as_deref(), run.project_id, run.work_dir.as_deref())
    }

    /// What a worktree is called of which this is known.
    #[must_use]
    pub fn name(&self, id: Option<&str>, project: Option<Uuid>, folder: Option<&str>) -> String {
        let Some(id) = id else { return String::new() };
        if let Some(known) = self.by_id(id, project, folder) {
            return known.name.clone();
        }
        let folder = folder.and_then(|folder| Path::new(folder).file_name());
        let folder = folder.map(|folder| folder.to_string_lossy().into_owned());
        // Where names say which repository, this one's does too.
        let is_said = |known: &Worktree| known.name.ends_with(&format!("/{MAIN}"));
        match folder {
            Some(folder) if Uuid::parse_str(id).is_ok() => folder,
            Some(folder) if id == MAIN && self.all.iter().any(is_said) => format!("{folder}/{id}"),
            _ => id.to_owned(),
        }
    }

    /// Each repository has a main checkout; which one is meant, the project tells, or the folder. One that is not listed is
    /// none of the others.
    fn by_id(&self, id: &str, project: Option<Uuid>, folder: Option<&str>) -> Option<&Worktree> {
        let mut all = self.all.iter().filter(|worktree| worktree.id.as_deref() == Some(id));
        let of_project =
            all.clone().find(|worktree| project.is_some() && worktree.project == project);
        let is_it = |worktree: &&Worktree| {
            let is_there = folder.is_some_and(|folder| worktree.path == Path::new(folder));
            id != MAIN || project.is_none() || worktree.project.is_none() || is_there
        };
        of_project.or_else(|| all.find(is_it))
    }
}
