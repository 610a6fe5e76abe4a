//! `cargo xtask bench workspace`: how long it takes until a workspace is there, and until it is gone, beside git's own
//! worktrees in the same rounds.
//!
//! Whoever starts a run waits for all of it, so whole processes are compared: `agentos workspace run ID -- true` finds the
//! repository, writes the life of the workspace down, makes and verifies it and executes a command in it;
//! `git worktree add` only makes one.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Output, Stdio};
use std::time::Instant;

use agentos_testing::repo::Playground;
use report::Report;

const AGENTOS: &str = env!("CARGO_BIN_EXE_agentos");

/// How many files the repositories have, and how often they are measured.
const SIZES: [(usize, usize); 3] = [(100, 15), (5_000, 7), (50_000, 3)];

/// How many workspaces are made at once in one repository, and how often.
const CROWD: (usize, usize) = (150, 3);

/// Files in one folder.
const BREADTH: usize = 100;

struct Ground {
    playground: Playground,
    repo: PathBuf,
}

impl Ground {
    fn new(files: usize) -> Self {
        let playground = Playground::new();
        let repo = playground.empty_repository("repo");
        for number in 0..files {
            let folder = repo.join(format!("part-{}", number / BREADTH));
            fs::create_dir_all(&folder).expect("a folder");
            let text = format!("This is file {number}.\n").repeat(20);
            fs::write(folder.join(format!("file-{number}.txt")), text).expect("a file");
        }
        let ground = Self { playground, repo };
        ground.time("git", &["add", "-A"]);
        ground.time("git", &["commit", "-q", "-m", "everything"]);
        ground
    }

    fn start(&self, program: &str, arguments: &[&str]) -> Child {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.repo);
        command.env_clear().envs(self.playground.environment());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command.spawn().expect("the program is there")
    }

    /// How long it takes, in milliseconds.
    fn time(&self, program: &str, arguments: &[&str]) -> f64 {
        let begun = Instant::now();
        let output = self.start(program, arguments).wait_with_output().expect("its output");
        let took = begun.elapsed().as_secs_f64() * 1e3;
        assert!(output.status.success(), "{program} {}: {}", arguments.join(" "), failure(&output));
        took
    }

    fn beside(&self, name: &str) -> String {
        self.playground.path().join(name).display().to_string()
    }
}

/// The exit status of a program that failed, and what it said.
fn failure(output: &Output) -> String {
    format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr))
}

fn measure(report: &mut Report, files: usize, rounds: usize) {
    let ground = Ground::new(files);
    let [git_add, git_remove, our_add, our_remove] =
        ["git worktree add", "git worktree remove", "workspace run", "workspace clean"]
            .map(|what| format!("{what}, {files} files"));
    for round in 0..rounds {
        let (path, id) = (ground.beside(&format!("tree-{round}")), format!("bench-{round}"));
        let theirs = |report: &mut Report| {
            let add = ["worktree", "add", "--detach", &path];
            report.add(&git_add, "ms", ground.time("git", &add));
            report.add(&git_remove, "ms", ground.time("git", &["worktree", "remove", &path]));
        };
        let ours = |report: &mut Report| {
            let make = ["workspace", "run", &id, "--kind", "worktree", "--", "true"];
            report.add(&our_add, "ms", ground.time(AGENTOS, &make));
            report.add(&our_remove, "ms", ground.time(AGENTOS, &["workspace", "clean", &id]));
        };
        // Each follows on the other as often.
        if round % 2 == 0 {
            theirs(report);
            ours(report);
        } else {
            ours(report);
            theirs(report);
        }
    }
    report.ratio(&our_add, &git_add, "ms");
    report.ratio(&our_remove, &git_remove, "ms");
}

fn crowd(report: &mut Report) {
    let (size, rounds) = CROWD;
    let [theirs, ours] = ["git worktree add", "workspace run"]
        .map(|what| format!("{what}, {size} at once, 100 files"));
    for round in 0..rounds {
        let ground = Ground::new(100);
        for (title, program) in [(&theirs, "git"), (&ours, AGENTOS)] {
            let begun = Instant::now();
            let all: Vec<Child> = (0..size)
                .map(|number| {
                    let name = format!("crowd-{round}-{number}");
                    match program {
                        "git" => ground
                            .start("git", &["worktree", "add", "--detach", &ground.beside(&name)]),
                        _ => ground.start(
                            AGENTOS,
                            &["workspace", "run", &name, "--kind", "worktree", "--", "true"],
                        ),
                    }
                })
                .collect();
            let ended = all.into_iter().map(|child| child.wait_with_output().expect("its output"));
            let failed: Vec<Output> = ended.filter(|output| !output.status.success()).collect();
            let took = begun.elapsed().as_secs_f64() * 1e3;
            let why = failed.first().map(failure).unwrap_or_default();
            assert!(
                failed.is_empty(),
                "{title}: {} of {size} failed, one with {why}",
                failed.len()
            );
            report.add(title, "ms", took);
        }
    }
    report.ratio(&ours, &theirs, "ms");
}

fn main() -> ExitCode {
    let mut report = Report::default();
    for (files, rounds) in SIZES {
        measure(&mut report, files, rounds);
    }
    crowd(&mut report);
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = fs::create_dir_all(&results)
        .and_then(|()| fs::write(results.join("workspace.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", results.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
