//! A repository with a yard for workspaces, and a ledger in a file that many processes may use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use agentos_testing::jj;
use agentos_testing::repo::Playground;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::isolation::Site;
use agentos_workspace::workspace::ledger::{Ledger, LedgerError, RunStanding};
use agentos_workspace::workspace::points::{NoPoints, Points};
use agentos_workspace::workspace::policy::Policy;
use agentos_workspace::workspace::repository::{Repository, RepositoryLock};
use agentos_workspace::workspace::yard::{OpenError, Opened, Wanted, Yard};
use agentos_workspace::workspace::{Kind, Workspace, root};

/// When everything here happens.
pub(crate) const NOW: Timestamp = Timestamp(1_794_749_186_123);

/// A repository, and what is needed to make workspaces of it.
pub(crate) struct Place {
    pub(crate) playground: Playground,
    pub(crate) kind: Kind,
    pub(crate) repo: PathBuf,
}

impl Place {
    /// A repository with one commit, of which workspaces of this kind can be made.
    pub(crate) fn new(kind: Kind) -> Self {
        let playground = Playground::new();
        let repo = match kind {
            Kind::Jj => jj::repository(&playground, "project"),
            Kind::Worktree | Kind::Clone => playground.repository("project"),
        };
        Self { playground, kind, repo }
    }

    /// The same in a repository that keeps its refs in tables.
    pub(crate) fn with_tables(kind: Kind) -> Self {
        let place = Self::new(kind);
        // git can't move logs.
        fs::remove_dir_all(place.repo.join(".git/logs")).unwrap();
        place.git(&place.repo, &["refs", "migrate", "--ref-format=reftable"]);
        place
    }

    pub(crate) fn ground(&self) -> Ground {
        Ground::new(&self.playground.path(), &self.repo)
    }

    /// Makes or finds a workspace.
    pub(crate) fn open(&self, id: &str) -> (Workspace, Opened) {
        self.try_open(&self.wanted(id)).unwrap()
    }

    pub(crate) fn try_open(&self, wanted: &Wanted) -> Result<(Workspace, Opened), OpenError> {
        self.ground().open(wanted, &NoPoints)
    }

    pub(crate) fn wanted(&self, id: &str) -> Wanted {
        wanted(id, self.kind)
    }

    pub(crate) fn git(&self, folder: &Path, arguments: &[&str]) -> String {
        self.playground.git(folder, arguments).trim_end().to_owned()
    }

    pub(crate) fn jj(&self, folder: &Path, arguments: &[&str]) -> String {
        jj::run(&self.playground, folder, arguments).trim_end().to_owned()
    }

    /// Commits a file in a workspace, on its branch.
    pub(crate) fn commit_in(&self, workspace: &Workspace, name: &str) {
        fs::write(workspace.path.join(name), name).unwrap();
        let branch = workspace.branch.as_deref().unwrap();
        match self.kind {
            Kind::Jj => {
                self.jj(&workspace.path, &["commit", "-m", name]);
                self.jj(&workspace.path, &["bookmark", "set", branch, "-r", "@-"]);
            }
            Kind::Worktree | Kind::Clone => {
                self.git(&workspace.path, &["add", "."]);
                self.git(&workspace.path, &["commit", "--quiet", "-m", name]);
            }
        }
    }

    /// What differs from what is committed, as the checkout's keeper says.
    pub(crate) fn changes(&self, folder: &Path) -> String {
        match self.kind {
            Kind::Jj => self.jj(folder, &["diff", "--summary"]),
            Kind::Worktree | Kind::Clone => self.git(folder, &["status", "--porcelain"]),
        }
    }

    /// Everything in the repository that a workspace could leave behind: branches, worktrees, folders, rows.
    pub(crate) fn traces(&self) -> Vec<String> {
        let mut traces: Vec<String> = Vec::new();
        let branches = self.git(&self.repo, &["for-each-ref", "--format=%(refname)", "refs/heads"]);
        traces.extend(branches.lines().map(str::to_owned));
        let worktrees = self.git(&self.repo, &["worktree", "list", "--porcelain"]);
        traces.extend(
            worktrees.lines().filter(|line| line.starts_with("worktree ")).map(str::to_owned),
        );
        if self.kind == Kind::Jj {
            let known = self.jj(&self.repo, &["workspace", "list", "-T", r#"name ++ "\n""#]);
            traces.extend(known.lines().map(|name| format!("jj {name}")));
        }
        let folders = fs::read_dir(self.ground().root).into_iter().flatten().flatten();
        for folder in folders {
            let inside = fs::read_dir(folder.path()).unwrap().flatten();
            traces.extend(inside.map(|entry| format!("folder {}", entry.file_name().display())));
        }
        let rows = self.ground().ledger.all().unwrap();
        traces.extend(rows.iter().map(|row| format!("row {} {}", row.id, row.state.as_str())));
        traces.sort();
        traces
    }
}

pub(crate) fn wanted(id: &str, kind: Kind) -> Wanted {
    let id: WorkspaceId = id.parse().unwrap();
    Wanted { id, kind, is_kind_said: true, base: None, run: None, now: NOW }
}

/// What a yard stands on, made from two paths: so other processes can do it too.
pub(crate) struct Ground {
    pub(crate) surroundings: Surroundings,
    pub(crate) repository: Repository,
    pub(crate) root: PathBuf,
    pub(crate) policy: Policy,
    pub(crate) ledger: FileLedger,
}

impl Ground {
    /// Somebody who stands in this folder of a playground.
    pub(crate) fn new(playground: &Path, folder: &Path) -> Self {
        Self::with(playground, folder, environment(playground))
    }

    pub(crate) fn with(
        playground: &Path,
        folder: &Path,
        environment: BTreeMap<std::ffi::OsString, std::ffi::OsString>,
    ) -> Self {
        let surroundings = Surroundings {
            cwd: Some(folder.to_owned()),
            home: Some(playground.join("home")),
            environment,
        };
        let checkout = Checkout::find(&surroundings).unwrap().unwrap();
        let repository = Repository::of(&surroundings, checkout).unwrap();
        let root = root::find(&surroundings, None).unwrap();
        let ledger = FileLedger { file: playground.join("ledger.json") };
        Self { surroundings, repository, root, policy: Policy::default(), ledger }
    }

    /// Where workspaces are made, without the right to change anything.
    pub(crate) fn site<'a>(&'a self, lock: Option<&'a RepositoryLock>) -> Site<'a> {
        Site {
            surroundings: &self.surroundings,
            repository: &self.repository,
            lock,
            policy: &self.policy,
        }
    }

    pub(crate) fn yard<'a>(&'a self, points: &'a dyn Points) -> Yard<'a> {
        Yard {
            surroundings: &self.surroundings,
            repository: &self.repository,
            project: &self.repository.checkout.root,
            root: &self.root,
            policy: &self.policy,
            ledger: &self.ledger,
            points,
        }
    }

    pub(crate) fn open(
        &self,
        wanted: &Wanted,
        points: &dyn Points,
    ) -> Result<(Workspace, Opened), OpenError> {
        self.yard(points).open(wanted).map(|open| (open.workspace, open.how))
    }
}

fn environment(playground: &Path) -> BTreeMap<std::ffi::OsString, std::ffi::OsString> {
    let mut environment = jj::environment(&Playground::new());
    environment.insert("HOME".into(), playground.join("home").into());
    environment
}

/// A ledger in a file.
pub(crate) struct FileLedger {
    pub(crate) file: PathBuf,
}

type Rows = BTreeMap<WorkspaceId, Workspace>;

impl FileLedger {
    fn change<T>(&self, change: impl FnOnce(&mut Rows) -> T) -> T {
        let lock = File::create(self.file.with_extension("lock")).unwrap();
        lock.lock().unwrap();
        let text = fs::read(&self.file).unwrap_or_else(|_| b"{}".to_vec());
        let mut rows: Rows = serde_json::from_slice(&text).unwrap();
        let done = change(&mut rows);
        let unfinished = self.file.with_extension("new");
        fs::write(&unfinished, serde_json::to_vec(&rows).unwrap()).unwrap();
        fs::rename(unfinished, &self.file).unwrap();
        done
    }
}

impl Ledger for FileLedger {
    fn all(&self) -> Result<Vec<Workspace>, LedgerError> {
        Ok(self.change(|rows| rows.values().cloned().collect()))
    }

    fn write(&self, workspace: &Workspace) -> Result<u32, LedgerError> {
        self.change(|rows| {
            let current = rows.get(&workspace.id).map_or(0, |row| row.version);
            if current != workspace.version {
                return Err(LedgerError::Outdated { id: workspace.id.clone() });
            }
            let version = current + 1;
            rows.insert(workspace.id.clone(), Workspace { version, ..workspace.clone() });
            Ok(version)
        })
    }

    fn forget(&self, id: &WorkspaceId) -> Result<(), LedgerError> {
        self.change(|rows| rows.remove(id));
        Ok(())
    }

    /// A run is a file beside the ledger, with a word in it once it has ended.
    fn run_standing(&self, run: &str) -> Result<RunStanding, LedgerError> {
        Ok(match fs::read_to_string(self.file.with_file_name(run)) {
            Err(_) => RunStanding::Unknown,
            Ok(text) if text.is_empty() => RunStanding::Open,
            Ok(_) => RunStanding::Ended,
        })
    }

    fn database(&self) -> String {
        self.file.with_file_name("runs.db").to_string_lossy().into_owned()
    }
}
