//! Output for which there is no room: a small disk, one without inodes, and files that must not grow.
//!
//! Each test is executed in a process of its own, with the disk or the limit that it is about.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_process::attached::Event;
use agentos_process::case::Case;
use agentos_process::clock::moment;
use agentos_process::directory::Directory;
use agentos_process::exit::Reason;
use agentos_process::launch::{request_stop, stop};
use agentos_process::spec::CommandSpec;
use rustix::fs::statvfs;
use rustix::process::{Resource, getrlimit};

use crate::part::launcher;
use crate::support::{Scene, eventually};

/// Where the process of a test finds its disk.
const DISK: &str = "AGENTOS_TEST_DISK";

/// Mounts a disk with these options of tmpfs, and executes the rest there.
const SMALL_DISK: &str = "mount -t tmpfs -o \"$1\" tmpfs \"$0\" && shift && exec \"$@\"";

/// Executes the rest with files that must not grow beyond this many blocks.
const SMALL_FILES: &str = "ulimit -f \"$1\" && shift && exec \"$@\"";

/// The disk, in the process that has it. Otherwise the test is executed in one.
#[expect(clippy::disallowed_methods, reason = "it is this test again, and it is waited for")]
fn disk(test: &str, (shell, option): (&str, &str)) -> Option<PathBuf> {
    if let Some(disk) = std::env::var_os(DISK) {
        return Some(disk.into());
    }
    let folder = tempfile::tempdir().expect("a folder");
    let user = if rustix::process::getuid().is_root() { "--mount" } else { "-rm" };
    let mut child = Command::new("unshare");
    child.args([user, "sh", "-c", shell]).arg(folder.path()).arg(option);
    child.arg(std::env::current_exe().expect("this program"));
    child.args([&format!("room::{test}"), "--exact", "--nocapture"]).env(DISK, folder.path());
    let output = child.output().expect("it is executed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
    None
}

/// A command whose directory is on the disk and which works elsewhere.
struct OnDisk {
    scene: Scene,
    directory: PathBuf,
    ballast: PathBuf,
}

impl OnDisk {
    fn new(disk: &Path) -> Self {
        let scene = Scene::new();
        Self { scene, directory: disk.join("command"), ballast: disk.join("ballast") }
    }

    /// Says that it has begun, waits until it may go on, and does the rest.
    fn command(&self, rest: &str) -> CommandSpec {
        self.scene.line(&format!("touch begun; until [ -e go ]; do sleep 0.01; done; {rest}"))
    }

    fn until_begun(&self) {
        eventually("it has begun", || self.scene.path().join("begun").exists());
    }

    /// Uses all room, then lets the command go on.
    fn fill(&self) {
        let free = statvfs(self.directory.parent().expect("a disk")).expect("a disk");
        if free.f_favail < 1_000 {
            fs::create_dir(&self.ballast).expect("an inode");
            let mut number = 0;
            while fs::write(self.ballast.join(number.to_string()), "").is_ok() {
                number += 1;
            }
        } else {
            let bytes = usize::try_from(free.f_bavail * free.f_frsize).expect("a small disk");
            let _all_of_it = fs::write(&self.ballast, vec![0; bytes + 1]);
        }
        self.let_go();
    }

    /// Leaves as many pages as a command needs to begin, and none for its output.
    fn fill_but(&self, pages: u64) {
        let free = statvfs(self.directory.parent().expect("a disk")).expect("a disk");
        let bytes = free.f_bavail.saturating_sub(pages) * free.f_frsize;
        let bytes = usize::try_from(bytes).expect("a small disk");
        fs::write(&self.ballast, vec![0; bytes]).expect("there is room");
    }

    fn let_go(&self) {
        fs::write(self.scene.path().join("go"), "").expect("a file elsewhere");
    }

    fn make_room(&self) {
        let _folder = fs::remove_dir_all(&self.ballast);
        let _file = fs::remove_file(&self.ballast);
    }

    /// Waits until the supervisor has written its end, or holds something that it can't write.
    fn until_over(&self) {
        eventually("the command has said all that it has to say", || {
            self.scene.path().join("said").exists()
        });
    }
}

/// The disk is full when the command speaks, and has room again later.
fn waits_for_room(disk: &Path, rest: &str, expected: &str) {
    let on = OnDisk::new(disk);
    let spec = on.command(&format!("{rest}; touch said"));
    let attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    on.until_begun();
    on.fill();
    on.until_over();
    assert!(!on.directory.join("exit.json").exists(), "it is not over before its output is kept");
    on.make_room();
    let outcome = attached.outcome(1 << 20).expect("it ends").expect("it began");
    assert_eq!((outcome.exit.reason, outcome.exit.exit_code), (Reason::Exited, Some(0)));
    assert_eq!(outcome.stdout, expected);
    assert!(!outcome.truncated, "{:?}", outcome.exit);
}

#[test]
fn a_full_disk_takes_nothing_away_from_an_answer() {
    let name = "a_full_disk_takes_nothing_away_from_an_answer";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    waits_for_room(&disk, "echo 42", "42\n");
}

#[test]
fn a_disk_without_inodes_takes_nothing_away_from_an_answer() {
    let name = "a_disk_without_inodes_takes_nothing_away_from_an_answer";
    let Some(disk) = disk(name, (SMALL_DISK, "size=16m,nr_inodes=40")) else { return };
    waits_for_room(&disk, "echo 42", "42\n");
}

/// Its time and its silence are measured from the command's beginning, which is an instant before it waits for room.
#[test]
fn what_a_command_waits_for_room_does_not_count_for_its_limits() {
    let name = "what_a_command_waits_for_room_does_not_count_for_its_limits";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    let on = OnDisk::new(&disk);
    fs::create_dir(&on.directory).expect("there is room for a folder");
    on.fill_but(1);
    let mut spec =
        on.scene.line("echo 42; touch said; until [ -e go ]; do sleep 0.01; done; echo 43");
    let limit = Duration::from_secs(3);
    (spec.limits.wall, spec.limits.idle) = (Some(limit), Some(limit));
    let attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    on.until_over();
    let since = moment();
    eventually("more time has passed than it may take", || moment() > since + limit * 2);
    on.make_room();
    on.let_go();
    let outcome = attached.outcome(1 << 20).expect("it ends").expect("it began");
    assert_eq!((outcome.exit.reason, outcome.exit.exit_code), (Reason::Exited, Some(0)));
    assert_eq!(outcome.stdout, "42\n43\n");
}

#[test]
fn what_is_left_in_the_pipes_of_a_command_that_has_exited_waits_too() {
    let name = "what_is_left_in_the_pipes_of_a_command_that_has_exited_waits_too";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    // The first piece is held by the supervisor, the second lies in the pipe.
    let rest = "echo one; sleep 0.3; echo two; echo three >&2";
    waits_for_room(&disk, rest, "one\ntwo\n");
}

#[test]
fn a_command_whose_output_finds_no_room_is_lost_and_never_ends_well() {
    let name = "a_command_whose_output_finds_no_room_is_lost_and_never_ends_well";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    let on = OnDisk::new(&disk);
    // It goes on after it has spoken: it is not left running while its output is thrown away.
    let mut spec = on.command("echo 42; touch said; sleep 1000");
    spec.limits.room = Duration::from_millis(300);
    let mut attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    on.until_begun();
    on.fill();
    on.until_over();
    // The record of its end finds no room either, and then the supervisor leaves.
    let refused = loop {
        match attached.next(Duration::from_millis(50)) {
            Ok(Event::Quiet) => {}
            Ok(event) => panic!("{event:?}"),
            Err(error) => break error,
        }
    };
    assert!(refused.is_out_of_room(), "{refused:?}");
    on.make_room();
    let outcome = attached.outcome(1 << 20).expect("it ends").expect("it began");
    assert_eq!((outcome.exit.reason, outcome.exit.exit_code), (Reason::Lost, None));
    let why = outcome.exit.message.expect("a reason");
    assert_eq!(why, "there was no room on the disk for the record of how it ended");
}

/// The client that started the supervisor has gone: only the directory tells.
#[test]
fn that_a_supervisor_left_for_want_of_room_is_known_to_every_client() {
    let name = "that_a_supervisor_left_for_want_of_room_is_known_to_every_client";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    let on = OnDisk::new(&disk);
    let mut spec = on.command("echo 42; touch said; sleep 1000");
    spec.limits.room = Duration::from_millis(300);
    drop(launcher().start_or_attach(&on.directory, &spec).expect("it starts"));
    on.until_begun();
    on.fill();
    on.until_over();
    let directory = Directory::at(&on.directory).expect("a path");
    eventually("the supervisor has left", || matches!(Case::of(&directory), Ok(Case::Lost(_))));
    on.make_room();
    let attached = launcher().start_or_attach(&on.directory, &spec).expect("it is there");
    let exit = attached.outcome(1 << 20).expect("it ends").expect("it began").exit;
    assert_eq!(exit.reason, Reason::Lost);
    assert!(exit.message.as_ref().is_some_and(|why| why.contains("no room")), "{exit:?}");
}

#[test]
fn a_command_is_stopped_at_once_although_its_output_waits() {
    let name = "a_command_is_stopped_at_once_although_its_output_waits";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    let on = OnDisk::new(&disk);
    let spec = on.command("echo 42; touch said; sleep 1000");
    let mut attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    on.until_begun();
    on.fill();
    on.until_over();
    let directory = Directory::at(&on.directory).expect("a path");
    request_stop(&directory).expect("an empty file needs no room");
    let pid = directory.load_started().expect("it can be read").expect("it began");
    eventually("the command is gone", || pid.load_command_pid().is_none());
    on.make_room();
    loop {
        match attached.next(Duration::from_secs(120)).expect("it can be followed") {
            Event::Ended(exit) => break assert_eq!(exit.reason, Reason::Stopped),
            // What it said is kept, if there was room before it was given up.
            Event::Quiet | Event::Output(_) => {}
            event => panic!("{event:?}"),
        }
    }
}

#[test]
fn a_command_that_finds_no_room_to_begin_says_so_and_begins_later() {
    let name = "a_command_that_finds_no_room_to_begin_says_so_and_begins_later";
    let Some(disk) = disk(name, (SMALL_DISK, "size=256k")) else { return };
    let on = OnDisk::new(&disk);
    fs::create_dir(&on.directory).expect("there is room for a folder");
    on.fill();
    let spec = on.command("echo x >> count; echo 42");
    let mut attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    let refused = loop {
        match attached.next(Duration::from_millis(50)) {
            Ok(Event::Quiet) => {}
            Ok(event) => panic!("{event:?}"),
            Err(error) => break error,
        }
    };
    assert!(refused.is_out_of_room(), "{refused:?}");
    assert_eq!(on.scene.count("count"), 0);
    on.make_room();
    let attached = launcher().start_or_attach(&on.directory, &spec).expect("it starts");
    let outcome = attached.outcome(1 << 20).expect("it ends").expect("it began");
    assert_eq!((outcome.stdout.as_str(), on.scene.count("count")), ("42\n", 1));
}

#[test]
fn output_that_is_larger_than_a_file_may_be_is_kept_in_more_files() {
    let name = "output_that_is_larger_than_a_file_may_be_is_kept_in_more_files";
    let Some(disk) = disk(name, (SMALL_FILES, "20")) else { return };
    let limit = getrlimit(Resource::Fsize).current.expect("a limit");
    let on = OnDisk::new(&disk);
    on.let_go();
    // Half a megabyte, in pieces that are larger than a file may be; and the command itself has the limit as ever.
    let line = "i=0; while [ $i -lt 40000 ]; do echo line-$i; i=$((i+1)); done; \
                head -c 100000 /dev/zero > large; echo $? >&2";
    let attached = launcher().start_or_attach(&on.directory, &on.command(line)).expect("it starts");
    let outcome = attached.outcome(1 << 20).expect("it ends").expect("it began");
    let expected: String = (0..40_000).map(|number| format!("line-{number}\n")).collect();
    assert_eq!(outcome.exit.reason, Reason::Exited, "{:?}", outcome.exit);
    assert!(outcome.stdout == expected, "{} bytes", outcome.stdout.len());
    assert!(!outcome.truncated);
    // 128 and the number of SIGXFSZ: what the supervisor survives, commands do not.
    assert_eq!(outcome.stderr.trim().lines().last(), Some("153"), "{}", outcome.stderr);
    for entry in fs::read_dir(&on.directory).expect("a folder") {
        let length = entry.expect("an entry").metadata().expect("a file").len();
        assert!(length <= limit, "{length} bytes");
    }
    stop(&on.directory).expect("nothing is left");
}
