//! Many runs of `simple-sdlc` at once, over several repositories: all come to their end, and nothing of them is left but their work.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::thread::{Timespec, nanosleep};
use serde_json::Value;

use super::simple::STEPS;
use super::site::{Site, project, scenario, scripted, steps};
use crate::support::wait_until;

/// Quick tests, which fail until the scenario has fixed its mistake: what counts here are runs.
const QUICK: &str = "grep -q Math.round src/total.js";

/// A workspace that has served its purpose goes away.
const TIDY: &str = "[workspace]\ncleanup_on_complete = true\n";

/// How often the crew is counted.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 250_000_000 };

/// How many runs, over how many repositories.
fn size() -> (usize, usize) {
    if std::env::var_os("AGENTOS_SOAK").is_some() { (150, 30) } else { (10, 3) }
}

/// What was at work at once, at most.
#[derive(Clone, Copy, Default)]
struct Peak {
    processes: usize,
    memory_kib: u64,
    largest_kib: u64,
}

/// The processes whose home is this, with the memory that is theirs alone.
fn crew(home: &Path) -> Vec<(String, u64)> {
    let mark = format!("HOME={}\0", home.display());
    let member = |folder: PathBuf| {
        let environment = fs::read(folder.join("environ")).ok()?;
        let is_ours = environment.windows(mark.len()).any(|part| part == mark.as_bytes());
        let status = is_ours.then(|| fs::read_to_string(folder.join("status")).ok()).flatten()?;
        let value = |key: &str| status.lines().find_map(|line| line.strip_prefix(key));
        let memory =
            value("RssAnon:").and_then(|text| text.split_whitespace().next()?.parse().ok());
        Some((value("Name:")?.trim().to_owned(), memory.unwrap_or_default()))
    };
    let processes = fs::read_dir("/proc").expect("Linux").flatten();
    processes.filter_map(|entry| member(entry.path())).collect()
}

/// Counts the crew until it is told to stop.
struct Watch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Peak>,
}

impl Watch {
    fn begin(home: PathBuf) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_over);
        let thread = thread::spawn(move || {
            let mut peak = Peak::default();
            while !seen.load(Ordering::Relaxed) {
                let crew = crew(&home);
                peak.processes = peak.processes.max(crew.len());
                peak.memory_kib = peak.memory_kib.max(crew.iter().map(|(_, kib)| kib).sum());
                let programs = crew.iter().filter(|(name, _)| name == "agentos");
                peak.largest_kib = programs.map(|(_, kib)| *kib).fold(peak.largest_kib, u64::max);
                let _passed = nanosleep(&LOOK);
            }
            peak
        });
        Self { is_over, thread }
    }

    fn end(self) -> Peak {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().expect("it only counts")
    }
}

/// Starts all runs at once, and gives their documents when all are over: for each the repository that it belongs to.
fn run_all(site: &Site, roots: &[PathBuf], count: usize) -> Vec<(usize, Value)> {
    let file = site.stand.at("scenario.toml");
    fs::write(&file, scenario()).expect("a scenario");
    let [planner, implementer] = scripted(&file);
    let arguments = [
        &["run", "simple-sdlc", "--feature-name", "Discounts", "--spec-path"][..],
        &["specs/discounts.md", "--test-command", QUICK, "--json"],
        &["--agent", &planner, "--agent", &implementer],
    ]
    .concat();
    let begin = |number: usize| {
        let root = number % roots.len();
        (root, site.call_in(&roots[root], &arguments).start())
    };
    let processes: Vec<_> = (0..count).map(begin).collect();
    let end = |(root, process): (usize, crate::support::Process)| {
        (root, process.done().exits(0).document())
    };
    processes.into_iter().map(end).collect()
}

/// How many runs were under way at once, as they are recorded.
fn at_once(runs: &[(usize, Value)]) -> usize {
    let moment = |run: &Value, name: &str| run[name].as_str().expect("a moment").to_owned();
    let spans: Vec<(String, String)> = runs
        .iter()
        .map(|(_, run)| (moment(run, "started_at"), moment(run, "completed_at")))
        .collect();
    let under_way = |at: &String| spans.iter().filter(|(from, to)| from <= at && at < to).count();
    spans.iter().map(|(from, _)| under_way(from)).max().unwrap_or_default()
}

/// Each run has one branch with its commits, here and over there, and one pull request.
fn check_work(site: &Site, root: &Path, runs: &[&Value]) {
    let git = |arguments: &[&str]| site.stand.git(root, arguments).trim_end().to_owned();
    let mut branches = Vec::new();
    for run in runs {
        assert_eq!(run["status"], "COMPLETED", "{run:#}");
        assert_eq!(steps(run), STEPS);
        let branch = run["branch_name"].as_str().expect("a branch");
        let log = git(&["log", "--reverse", "--format=%s", &format!("main..{branch}")]);
        assert_eq!(log, "Plan: Discounts\nDiscounts\nMake the tests pass: Discounts", "{branch}");
        branches.push(format!("refs/heads/{branch}"));
    }
    branches.sort_unstable();
    let format = "--format=%(objectname)\t%(refname)";
    let here = git(&["for-each-ref", "--sort=refname", format, "refs/heads/agentos"]);
    let names: Vec<&str> = here.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(names, branches);
    assert_eq!(git(&["ls-remote", "origin", "refs/heads/agentos/*"]), here);
    let repository = format!("acme/{}", root.file_name().expect("a name").to_string_lossy());
    let pulls = site.forge.pulls().into_iter().filter(|pull| pull.repository == repository);
    let mut heads: Vec<String> = pulls.map(|pull| format!("refs/heads/{}", pull.head)).collect();
    heads.sort_unstable();
    assert_eq!(heads, branches);
}

/// No workspace, no lock and no command is left in a repository.
fn check_order(site: &Site, root: &Path) {
    let worktrees = site.stand.git(root, &["worktree", "list", "--porcelain"]);
    assert_eq!(worktrees.matches("worktree ").count(), 1, "{worktrees}");
    let listed = site.call_in(root, &["workspace", "list", "--json"]).done().exits(0).document();
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(0), "{listed:#}");
    assert_eq!(locks(&root.join(".git")), Vec::<PathBuf>::new());
    let doctor = site.call_in(root, &["doctor", "--json"]).done().exits(0).document();
    let database = &doctor["database"];
    assert_eq!(database["commands_running"], 0, "{doctor:#}");
    assert_eq!(database["commands_left_behind"].as_array().map(Vec::len), Some(0), "{doctor:#}");
    assert_eq!(site.stand.git(root, &["status", "--porcelain"]), "?? .agent/\n");
}

/// Files that git leaves where it was interrupted. Ours stay and are not held: nobody is there who could.
fn locks(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let entries = entries.filter(|path| !path.ends_with(".git/agentos"));
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let mut found: Vec<PathBuf> = files
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "lock"))
        .collect();
    found.extend(folders.iter().flat_map(|folder| locks(folder)));
    found
}

#[expect(clippy::disallowed_methods, reason = "how long it takes is what a soak wants to know")]
fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let begun = std::time::Instant::now();
    (work(), begun.elapsed())
}

#[expect(clippy::print_stdout, reason = "a soak keeps this line")]
fn summarise(text: &str) {
    println!("summary: {text}");
}

#[test]
fn many_runs_over_several_repositories_end_with_a_pull_request_each_and_leave_nothing_behind() {
    let (count, repositories) = size();
    let site = Site::new();
    let roots: Vec<PathBuf> =
        (0..repositories).map(|number| project(&site.stand, &format!("shop-{number}"))).collect();
    for root in &roots {
        fs::create_dir_all(root.join(".agent")).expect("a folder");
        fs::write(root.join(".agent/config.toml"), TIDY).expect("a configuration");
    }
    let watch = Watch::begin(site.stand.home());
    let (runs, took) = timed(|| run_all(&site, &roots, count));
    let peak = watch.end();
    wait_until("nothing of it is at work", || crew(&site.stand.home()).is_empty());
    for (number, root) in roots.iter().enumerate() {
        let own: Vec<&Value> =
            runs.iter().filter(|(of, _)| *of == number).map(|(_, run)| run).collect();
        assert_eq!(own.len(), count / repositories + usize::from(number < count % repositories));
        check_work(&site, root, &own);
        check_order(&site, root);
    }
    assert!(at_once(&runs) >= 2, "they were at work at once: {}", at_once(&runs));
    summarise(&format!(
        "{count} runs of simple-sdlc at once over {repositories} repositories: all completed in {:.0} s, a branch and a pull \
         request each, nothing left behind; at most {} processes with {} MiB, the largest `agentos` {} MiB",
        took.as_secs_f64(),
        peak.processes,
        peak.memory_kib / 1024,
        peak.largest_kib / 1024,
    ));
}
