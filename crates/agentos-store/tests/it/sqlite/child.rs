//! Parts that are played by processes of their own: some things happen only to a whole process.
//!
//! The test binary starts itself with the name of a part in its environment.

use std::process::{Command, Stdio};

const PART: &str = "AGENTOS_STORE_TEST_PART";
const ARGUMENTS: &str = "AGENTOS_STORE_TEST_ARGUMENTS";

/// A command line that plays `part`, behind `wrapper` if that has any words.
#[expect(clippy::disallowed_methods, reason = "tests watch their own processes")]
pub(crate) fn command(wrapper: &[&str], part: &str, arguments: &[&str]) -> Command {
    let own = std::env::current_exe().expect("a test knows its binary");
    let mut words = wrapper.iter().map(std::ffi::OsStr::new).chain([own.as_os_str()]);
    let mut command = Command::new(words.next().expect("there is at least the binary"));
    command
        .args(words)
        .args(["--exact", "sqlite::child::a_part_is_played_by_its_own_process", "--nocapture"])
        .env(PART, part)
        .env(ARGUMENTS, arguments.join("\n"))
        .stdin(Stdio::null());
    command
}

/// Plays a part to its end, which has to be a good one.
pub(crate) fn play(wrapper: &[&str], part: &str, arguments: &[&str]) {
    let output = command(wrapper, part, arguments).output().expect("a process starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{part}: {}\n{said}\n{complaint}", output.status);
    assert!(said.contains("played to the end"), "{part} was not played:\n{said}\n{complaint}");
}

#[test]
#[expect(clippy::print_stdout, reason = "the other process listens")]
fn a_part_is_played_by_its_own_process() {
    let Ok(part) = std::env::var(PART) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
        return;
    };
    let arguments = std::env::var(ARGUMENTS).unwrap_or_default();
    let arguments: Vec<&str> = arguments.split('\n').collect();
    match part.as_str() {
        "full disk" => super::disk::on_a_full_disk(arguments[0].as_ref()),
        "read-only" => super::disk::on_a_read_only_file_system(arguments[0].as_ref()),
        "small files" => super::disk::with_small_files(arguments[0].as_ref()),
        "owner" => super::owners::live_until_killed(arguments[0].as_ref()),
        "holder" => super::owners::hold_until_killed(arguments[0].as_ref()),
        "two disks" => super::owners::on_two_disks(arguments[0].as_ref()),
        "come and go" => super::looking::come_and_go(arguments[0].as_ref()),
        "crowd" => super::crowd::take_part(&arguments),
        other => panic!("there is no part `{other}`"),
    }
    println!("played to the end");
}
