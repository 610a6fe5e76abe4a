//! What workflows do with the history of their workspaces, with real git.

mod alike;
mod branches;
mod commits;
mod crowds;
mod differences;
mod embedded;
mod hooks;
mod jujutsu;
mod locks;
mod messages;
mod past;
mod place;
mod sparse;
mod standing;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentos_testing::repo::Playground;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::version_control::git::GitRepository;
use agentos_workspace::version_control::{
    Committed, Halt, Mark, NewCommit, Status, StatusRequest, VersionControl as _,
    VersionControlError,
};

use crate::fixture::standing_in;

/// A repository that is worked in.
pub(crate) struct Ground {
    pub(crate) playground: Playground,
    pub(crate) root: PathBuf,
}

impl Ground {
    /// With one commit.
    pub(crate) fn new() -> Self {
        let playground = Playground::new();
        let root = playground.repository("repo");
        Self { playground, root }
    }

    /// Without a commit.
    pub(crate) fn unborn() -> Self {
        let playground = Playground::new();
        let root = playground.empty_repository("repo");
        Self { playground, root }
    }

    pub(crate) fn repository(&self) -> GitRepository {
        self.repository_in(standing_in(&self.playground, &self.root))
    }

    pub(crate) fn repository_in(&self, surroundings: Surroundings) -> GitRepository {
        GitRepository::open(&self.root, self.scratch(), surroundings, Halt::default()).unwrap()
    }

    /// Where files are kept while something is done.
    pub(crate) fn scratch(&self) -> PathBuf {
        self.playground.at("scratch/of-this")
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.playground.git(&self.root, arguments)
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn hook(&self, name: &str, script: &str) {
        let path = self.root.join(".git/hooks").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    pub(crate) fn commit(&self, commit: NewCommit) -> Result<Committed, VersionControlError> {
        self.repository().commit(&commit, &mark())
    }

    pub(crate) fn status(&self) -> Status {
        self.repository().status(&StatusRequest::default()).unwrap()
    }

    pub(crate) fn head(&self) -> String {
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn count(&self) -> usize {
        self.git(&["rev-list", "--count", "HEAD"]).trim().parse().unwrap()
    }
}

pub(crate) fn mark() -> Mark {
    Mark::of("0190", "save/git:commit#1")
}

pub(crate) fn everything(message: &str) -> NewCommit {
    NewCommit { message: message.to_owned(), all: true, ..NewCommit::default() }
}
