//! Under which project a run is told.
//!
//! A project is one checkout, and so is every worktree. Whoever serves a repository serves one of its checkouts as a rule,
//! and has no name for the others: their runs are told under the project that is served, its host. What is written down
//! stays as it is, so a worktree that is served later is told as itself.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::UnifiedView;
use crate::records::RunRecord;

/// Projects that are told as others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    hosts: BTreeMap<Uuid, Uuid>,
}

impl Hosts {
    /// A project is told as this one from now on, unless it has a host already.
    pub fn add(&mut self, project: Uuid, host: Uuid) {
        self.hosts.entry(project).or_insert(host);
    }

    /// What a project is told as: itself, unless it has a host.
    #[must_use]
    pub fn of(&self, project: Uuid) -> Uuid {
        self.hosts.get(&project).copied().unwrap_or(project)
    }

    /// A project, and all that are told as it.
    #[must_use]
    pub fn family(&self, project: Uuid) -> Vec<Uuid> {
        let guests = self.hosts.iter().filter(|(_, host)| **host == project);
        std::iter::once(project).chain(guests.map(|(guest, _)| *guest)).collect()
    }

    /// The run as it is told.
    pub fn tell(&self, run: &mut RunRecord) {
        run.project_id = run.project_id.map(|project| self.of(project));
    }
}

impl UnifiedView {
    /// The same view, that tells projects as their hosts.
    #[must_use]
    pub fn with_hosts(self, hosts: Hosts) -> Self {
        Self { hosts, ..self }
    }

    /// What projects are told as.
    #[must_use]
    pub const fn hosts(&self) -> &Hosts {
        &self.hosts
    }

    /// All projects whose runs are meant when these are asked for.
    pub(super) fn families(&self, projects: &[Uuid]) -> Vec<Uuid> {
        projects.iter().flat_map(|project| self.hosts.family(*project)).collect()
    }
}
