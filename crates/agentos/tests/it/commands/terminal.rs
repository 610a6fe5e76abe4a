//! A terminal that is closed while a command runs.

use std::fs::OpenOptions;
use std::path::Path;
use std::process::Command;

use rustix::fs::OFlags;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use super::site::{PATIENT, Process, Site, is_alive, whole};

#[test]
fn a_closed_terminal_leaves_the_command_running_and_resume_attaches_to_it() {
    let site = Site::new();
    let master =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it may be used");
    let path = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("text");
    let begin = site.run_command("forge", &json!({ "command": PATIENT }));
    let process = Process::start(in_terminal(&begin, Path::new(&path)));
    site.until_spoken("one", 1);
    let [command] = site.ran()[..] else { panic!("it ran once") };
    drop(master);
    process.done().exits(130);
    assert!(is_alive(command), "the command goes on");
    site.go();
    let resumed = site.call(&["resume", "--json", &site.only_run()]).exits(0).document();
    assert_eq!(resumed["output"], whole());
    assert_eq!(site.ran(), [command], "it ran exactly once");
}

/// The same program, as the first of a session that has this terminal.
#[expect(clippy::disallowed_methods, reason = "a test ends what it has started")]
fn in_terminal(program: &Command, terminal: &Path) -> Command {
    let open = || {
        use std::os::unix::fs::OpenOptionsExt as _;
        let flags = i32::try_from(OFlags::NOCTTY.bits()).expect("a flag");
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags).open(terminal);
        opened.expect("the terminal can be opened")
    };
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(program.get_program()).args(program.get_args());
    command.current_dir(program.get_current_dir().expect("a folder")).env_clear();
    command.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
    command.stdin(open()).stdout(open()).stderr(open());
    command
}
