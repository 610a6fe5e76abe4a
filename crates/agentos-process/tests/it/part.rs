//! The other processes of these tests: this program again, in another role.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use agentos_process::launch::Launcher;
use agentos_process::points::{Point, Points};
use agentos_process::spec::CommandSpec;
use agentos_process::supervisor;
use rustix::process::{Signal, getpid, kill_process};

/// At which point a process dies.
const DIE_AT: &str = "AGENTOS_TEST_DIE_AT";

/// Kills its own process at one point.
struct KilledAt(Option<String>);

impl Points for KilledAt {
    fn pass(&self, point: Point) {
        if self.0.as_ref().is_some_and(|at| *at == format!("{point:?}")) {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
    }
}

fn points() -> KilledAt {
    KilledAt(std::env::var(DIE_AT).ok())
}

/// The place that this process was given, if it was started to play a part.
fn given() -> Option<PathBuf> {
    let last = std::env::args_os().skip(1).last().map(PathBuf::from);
    last.filter(|last| last.is_absolute() && last.is_dir())
}

/// Nobody has asked for a part: the binary itself is what is tested, and it can be found.
fn is_no_part() {
    assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
}

#[test]
fn plays_the_supervisor() {
    let Some(directory) = given() else { return is_no_part() };
    let told = supervisor::main_with(&directory, &points());
    if told == ExitCode::from(supervisor::NO_ROOM) {
        std::process::exit(supervisor::NO_ROOM.into());
    }
}

/// Executes the commands that are described in a folder, one after the other, and keeps what it hears of each.
#[test]
fn plays_the_client() {
    let Some(folder) = given() else { return is_no_part() };
    for name in names(&folder) {
        let text = std::fs::read(folder.join(format!("{name}.spec"))).expect("a description");
        let spec: CommandSpec = serde_json::from_slice(&text).expect("a description");
        let outcome =
            launcher().outcome(&folder.join(&name), &spec, 1 << 20, &points()).expect("an end");
        // Whole or not at all: it may be killed while it writes.
        let unfinished = folder.join(format!("unfinished-{}", std::process::id()));
        std::fs::write(&unfinished, outcome.stdout).expect("it can be kept");
        let heard = folder.join(format!("{name}.heard-{}", std::process::id()));
        std::fs::rename(unfinished, heard).expect("it can be kept");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let specs =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "spec"));
    let mut names: Vec<String> =
        specs.filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect();
    names.sort();
    names
}

/// How supervisors are started in these tests.
pub(crate) fn launcher() -> Launcher {
    let program = std::env::current_exe().expect("this program");
    Launcher::new(program, ["part::plays_the_supervisor", "--exact", "--nocapture"])
}

/// Starts a client for the commands in a folder, which dies at this point (or its supervisor does).
#[expect(clippy::disallowed_methods, reason = "these tests are about processes")]
pub(crate) fn client(folder: &Path, die_at: Option<Point>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["part::plays_the_client", "--exact", "--nocapture"]).arg(folder);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if let Some(point) = die_at {
        command.env(DIE_AT, format!("{point:?}"));
    }
    command.spawn().expect("it starts")
}
