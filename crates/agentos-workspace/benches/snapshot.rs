//! `cargo xtask bench snapshot`: what a snapshot costs, beside `git status` in the same workspace and the same rounds.
//!
//! Most steps change little or nothing, so the snapshot of an unchanged workspace is what counts. The first one, one after a
//! change and the way back are measured too.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use agentos_core::time::Timestamp;
use agentos_testing::repo::Playground;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::ledger::{Ledger, LedgerError, RunStanding};
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::policy::Policy;
use agentos_workspace::workspace::repository::Repository;
use agentos_workspace::workspace::snapshot::{Label, Side, Snapshot};
use agentos_workspace::workspace::yard::{Wanted, Yard};
use agentos_workspace::workspace::{Kind, Workspace, root};
use report::Report;

/// How many files the workspaces have, and how often they are measured.
const SIZES: [(usize, usize); 2] = [(5_000, 31), (50_000, 11)];

/// Files in one folder.
const BREADTH: usize = 100;

/// A ledger that forgets everything with its process.
#[derive(Default)]
struct Memory(Mutex<Vec<Workspace>>);

impl Ledger for Memory {
    fn all(&self) -> Result<Vec<Workspace>, LedgerError> {
        Ok(self.0.lock().expect("nobody panics").clone())
    }

    fn write(&self, workspace: &Workspace) -> Result<u32, LedgerError> {
        let mut all = self.0.lock().expect("nobody panics");
        let version = workspace.version + 1;
        all.retain(|known| known.id != workspace.id);
        all.push(Workspace { version, ..workspace.clone() });
        Ok(version)
    }

    fn forget(&self, id: &WorkspaceId) -> Result<(), LedgerError> {
        self.0.lock().expect("nobody panics").retain(|known| known.id != *id);
        Ok(())
    }

    fn run_standing(&self, _: &str) -> Result<RunStanding, LedgerError> {
        Ok(RunStanding::Open)
    }

    fn database(&self) -> String {
        "memory".to_owned()
    }
}

fn fill(playground: &Playground, repo: &Path, files: usize) {
    for number in 0..files {
        let folder = repo.join(format!("part-{}", number / BREADTH));
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!("This is file {number}.\n").repeat(20);
        fs::write(folder.join(format!("file-{number}.txt")), text).expect("a file");
    }
    playground.git(repo, ["add", "-A"]);
    playground.git(repo, ["commit", "-q", "-m", "everything"]);
}

/// How long `git status` takes, in milliseconds.
fn status(playground: &Playground, folder: &Path) -> f64 {
    let mut command = Command::new("git");
    command.arg("status").current_dir(folder).env_clear().envs(playground.environment());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    assert!(command.status().expect("git is there").success());
    begun.elapsed().as_secs_f64() * 1e3
}

/// How long something takes, in milliseconds, and what it gives.
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begun = Instant::now();
    let value = work();
    (begun.elapsed().as_secs_f64() * 1e3, value)
}

fn measure(report: &mut Report, files: usize, rounds: usize) {
    let playground = Playground::new();
    let repo = playground.empty_repository("repo");
    fill(&playground, &repo, files);
    let surroundings = Surroundings {
        cwd: Some(repo.clone()),
        home: Some(playground.home()),
        environment: playground.environment(),
    };
    let checkout = Checkout::find(&surroundings).expect("git").expect("a repository");
    let repository = Repository::of(&surroundings, checkout).expect("a repository");
    let root = root::find(&surroundings, None).expect("a folder for workspaces");
    let (policy, ledger) = (Policy::default(), Memory::default());
    let yard = Yard {
        surroundings: &surroundings,
        repository: &repository,
        project: &repo,
        root: &root,
        policy: &policy,
        ledger: &ledger,
        points: &NoPoints,
    };
    let id: WorkspaceId = "bench".parse().expect("an id");
    let (kind, now) = (Kind::Worktree, Timestamp(0));
    let wanted = Wanted { id, kind, is_kind_said: true, base: None, run: None, now };
    let made = yard.open(&wanted).expect("a workspace").workspace;
    let mut number = 0;
    let mut take = || -> Snapshot {
        number += 1;
        let (run, side, position) = ("bench".to_owned(), Side::Before, 0);
        let label = Label { run, step: number, attempt: 1, side, position, note: None };
        yard.take_snapshot(&made, &label, now).expect("a snapshot")
    };
    let [plain, first, unchanged, changed, back] = [
        "git status",
        "the first snapshot",
        "snapshot, nothing changed",
        "snapshot, one file changed",
        "the way back, one file changed",
    ]
    .map(|what| format!("{what}, {files} files"));
    let (spent, beginning) = timed(&mut take);
    report.add(&first, "ms", spent);
    // git looks twice at what was written just now.
    status(&playground, &made.path);
    take();
    for round in 0..rounds {
        report.add(&plain, "ms", status(&playground, &made.path));
        report.add(&unchanged, "ms", timed(&mut take).0);
        if round % 4 == 0 {
            fs::write(made.path.join("part-0/file-1.txt"), format!("{round}\n")).expect("a file");
            report.add(&changed, "ms", timed(&mut take).0);
            let (spent, returned) = timed(|| yard.return_to(&made, &beginning));
            returned.expect("the way back");
            report.add(&back, "ms", spent);
            status(&playground, &made.path);
            take();
        }
    }
    report.ratio(&unchanged, &plain, "ms");
}

fn main() -> ExitCode {
    let mut report = Report::default();
    for (files, rounds) in SIZES {
        measure(&mut report, files, rounds);
    }
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = fs::create_dir_all(&results)
        .and_then(|()| fs::write(results.join("snapshot.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", results.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
