//! `cargo xtask bench process`: what a supervisor costs.
//!
//! A supervised `true` against a plain one, started and waited for by the same process in turns: with a supervisor that is
//! nothing else, and with the real program if it was built; and a command that writes a gigabyte, with the peak of its
//! supervisor's and of its reader's memory.
#![expect(clippy::print_stdout, reason = "this is a command-line program")]
#![expect(clippy::disallowed_methods, reason = "what takes how long is what it is about")]

#[path = "../../agentos-store/benches/store/report.rs"]
mod report;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use agentos_process::attached::Event;
use agentos_process::directory::Directory;
use agentos_process::launch::Launcher;
use agentos_process::points::NoPoints;
use agentos_process::secret::Secrets;
use agentos_process::spec::{CommandSpec, Program};
use agentos_process::supervisor;
use report::Report;

const ROUNDS: usize = 200;
const GIGABYTE: u64 = 1_000_000_000;

const PLAIN: &str = "plain `true`";
const SMALL: &str = "supervised `true`";
const REAL: &str = "supervised `true` (agentos)";

fn spec(argv: &[&str], folder: &Path) -> CommandSpec {
    let argv = argv.iter().map(|word| (*word).to_owned()).collect();
    let mut spec = CommandSpec::new(Program::Argv(argv), folder).expect("a mark");
    spec.env.insert("PATH".into(), std::env::var("PATH").expect("a path"));
    spec
}

fn this_program() -> PathBuf {
    std::env::current_exe().expect("this program")
}

fn launcher() -> Launcher {
    Launcher::new(this_program(), ["supervise"])
}

/// The program that users have, built beside this one: `target/release/agentos`.
fn real_program() -> Option<PathBuf> {
    let program = this_program().parent()?.parent()?.join("agentos");
    program.exists().then_some(program)
}

fn plain() {
    let status = Command::new("true")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .output();
    assert!(status.expect("it runs").status.success());
}

fn milliseconds(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

fn start(report: &mut Report, folder: &Path) {
    let spec = spec(&["true"], folder);
    let mut supervised = vec![(SMALL, launcher())];
    match real_program() {
        Some(program) => supervised.push((REAL, Launcher::new(program, ["supervise"]))),
        None => println!("not measured: there is no target/release/agentos"),
    }
    for round in 0..ROUNDS {
        let begun = Instant::now();
        plain();
        report.add(PLAIN, "ms", milliseconds(begun));
        for (case, launcher) in &supervised {
            let directory = folder.join(format!("{case}-{round}"));
            let begun = Instant::now();
            let outcome = launcher.outcome(&directory, &spec, 1_000, &NoPoints).expect("it ends");
            report.add(case, "ms", milliseconds(begun));
            assert_eq!(outcome.exit.exit_code, Some(0));
        }
    }
    for (case, _) in &supervised {
        report.ratio(case, PLAIN, "ms");
    }
}

/// The most memory that a process has had so far, in megabytes.
fn peak(process: &str) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0 kB");
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(0.0) / 1e3
}

fn gigabyte(report: &mut Report, folder: &Path, secrets: Secrets) {
    let case = if secrets == Secrets::default() { "1 GB" } else { "1 GB, masked" };
    let size = GIGABYTE.to_string();
    let mut spec = spec(&["head", "-c", &size, "/dev/zero"], folder);
    spec.secrets = secrets;
    let path = folder.join(case);
    let before = peak("self");
    let begun = Instant::now();
    let mut attached = launcher().start_or_attach(&path, &spec).expect("it starts");
    let directory = Directory::at(&path).expect("a path");
    let (mut seen, mut supervisor) = (0, 0.0);
    let exit = loop {
        if let Ok(Some(started)) = directory.load_started() {
            supervisor = peak(&started.supervisor.to_string()).max(supervisor);
        }
        match attached.next(Duration::from_secs(1)).expect("it can be followed") {
            Event::Output(frame) => seen += frame.bytes.len() as u64,
            Event::Gap(bytes) => seen += bytes,
            Event::Ended(exit) => break exit,
            Event::Quiet | Event::Vacant => {}
        }
    };
    assert_eq!((seen, exit.stdout_bytes), (GIGABYTE, GIGABYTE));
    report.add(case, "MB/s", GIGABYTE as f64 / 1e6 / begun.elapsed().as_secs_f64());
    report.add(case, "MB of the supervisor", supervisor);
    report.add(case, "MB more of the reader", peak("self") - before);
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let [verb, directory] = &words[..]
        && verb == "supervise"
    {
        return supervisor::main(Path::new(directory));
    }
    let folder = tempfile::tempdir().expect("a folder");
    let mut report = Report::default();
    start(&mut report, folder.path());
    gigabyte(&mut report, folder.path(), Secrets::default());
    gigabyte(&mut report, folder.path(), Secrets::of([], ["hunter2-and-more"]));
    print!("{report}");
    let results = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bench/results");
    let kept = std::fs::create_dir_all(&results)
        .and_then(|()| std::fs::write(results.join("process.json"), report.to_json() + "\n"));
    if let Err(error) = kept {
        println!("error: could not write to {}: {error}", results.display());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}
