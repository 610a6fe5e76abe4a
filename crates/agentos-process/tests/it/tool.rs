//! Short tools: what they say, how they end, and what is done about those that do not.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use agentos_process::at_work::is_at_work_in;
use agentos_process::leftovers::end_marked;
use agentos_process::token::{Token, VARIABLE};
use agentos_process::tool::{COMPLAINT_BYTES, Tool, ToolError};

use crate::support::{eventually, is_alive};

const LONG: Duration = Duration::from_secs(120);
const SHORT: Duration = Duration::from_millis(300);

fn shell(script: &str) -> Tool {
    Tool::new("sh").args(["-c", script]).timeout(LONG)
}

#[test]
fn a_tool_says_something_complains_and_ends() {
    let answer = shell("echo out; echo err >&2; exit 3").run().unwrap();
    assert_eq!(
        (answer.output.as_slice(), answer.complaint.as_slice()),
        (&b"out\n"[..], &b"err\n"[..])
    );
    assert_eq!(answer.status.code(), Some(3));
    assert!(!answer.is_success());
    assert_eq!(answer.complaint_text(), "err");
    let silent = shell("kill -9 $$").run().unwrap();
    assert_eq!(silent.complaint_text(), "it was ended by signal 9");
}

#[test]
fn a_tool_gets_the_environment_and_folder_that_it_is_given_and_nothing_to_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = std::env::var_os("PATH").unwrap();
    let only =
        BTreeMap::from([("PATH".into(), path), ("A".into(), "1".into()), ("B".into(), "2".into())]);
    let tool = shell("cat; echo $A$B$C$HOME; pwd -P").only_environment(only);
    let answer = tool.unset("B").set("C", "3").in_folder(folder.path()).run().unwrap();
    let real = folder.path().canonicalize().unwrap();
    assert_eq!(String::from_utf8(answer.output).unwrap(), format!("13\n{}\n", real.display()));
}

#[test]
fn much_output_on_both_pipes_does_not_block() {
    let script = "i=0; while [ $i -lt 3000 ]; do echo 0123456789012345678901234567890123456789; \
                  echo 0123456789012345678901234567890123456789 >&2; i=$((i+1)); done";
    let answer = shell(script).run().unwrap();
    assert_eq!(answer.output.len(), 3000 * 41);
    assert_eq!(answer.complaint.len(), COMPLAINT_BYTES, "the beginning of it");
}

#[test]
fn a_tool_that_says_too_much_is_killed() {
    let error = shell("while :; do echo xxxxxxxxxxxxxxxxxxxxxxxx; done").output_bytes(10_000).run();
    assert!(matches!(error, Err(ToolError::TooMuchOutput { limit: 10_000, .. })), "{error:?}");
    let error = shell("while :; do echo xxxxxxxxxxxxxxxx >&2; done").timeout(SHORT).run();
    assert!(matches!(error, Err(ToolError::TimedOut { .. })), "complaints are cut: {error:?}");
}

#[test]
fn a_tool_that_takes_too_long_is_killed_with_what_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("child");
    let script = format!("sleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait", note.display());
    let error = shell(&script).timeout(Duration::from_millis(500)).run().unwrap_err();
    assert!(matches!(error, ToolError::TimedOut { .. }), "{error:?}");
    assert!(error.to_string().contains("did not end within 0.5 s and was killed"), "{error}");
    // On a busy machine the time may be over before the shell has started anything.
    if let Ok(child) = fs::read_to_string(&note) {
        eventually("the child is gone", || !is_alive(child.trim().parse().unwrap()));
    }
}

#[test]
fn a_tool_that_says_too_much_is_killed_with_what_it_has_started() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 1000 & echo $! > child; echo that is too much; wait";
    let error = shell(script).in_folder(folder.path()).output_bytes(4).run().unwrap_err();
    assert!(matches!(error, ToolError::TooMuchOutput { limit: 4, .. }), "{error:?}");
    let child = fs::read_to_string(folder.path().join("child")).unwrap();
    assert!(!is_alive(child.trim().parse().unwrap()), "its end was waited for");
}

#[test]
fn nobody_waits_for_what_a_tool_leaves_in_the_background() {
    let answer = shell("sleep 1000 & echo $!").run().unwrap();
    let left = String::from_utf8(answer.output).unwrap();
    shell(&format!("kill {}", left.trim())).run().unwrap();
}

#[test]
fn what_can_not_be_started_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let error = Tool::new("no-such-program-anywhere").run().unwrap_err();
    assert!(
        matches!(&error, ToolError::NotFound { program } if program == "no-such-program-anywhere")
    );
    let plain = folder.path().join("plain");
    fs::write(&plain, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&plain, Permissions::from_mode(0o644)).unwrap();
    let error = Tool::new(&plain).run().unwrap_err();
    assert!(matches!(error, ToolError::NotExecutable { .. }), "{error:?}");
    let error = shell("true").in_folder(folder.path().join("gone")).run().unwrap_err();
    assert!(
        matches!(error, ToolError::Folder { .. }),
        "the folder, and not the program: {error:?}"
    );
}

#[test]
fn of_an_endless_answer_the_beginning_can_be_taken() {
    let answer = shell("while :; do echo endless; done").cut_output(20).run().unwrap();
    assert!(answer.is_cut && !answer.is_success());
    assert_eq!(answer.output, b"endless\nendless\nendl");
    let whole = shell("printf 12345").cut_output(5).run().unwrap();
    assert!(!whole.is_cut && whole.is_success());
}

#[test]
fn what_is_left_of_a_tool_is_found_by_its_mark_and_ended() {
    let folder = tempfile::tempdir().unwrap();
    let mark = Token::of(&format!("tool of {}", folder.path().display()));
    // It leaves its parents, and does not mind TERM.
    let script = "trap '' TERM; setsid sh -c 'echo $$ > left; exec sleep 1000' > /dev/null 2>&1 & \
                  while [ ! -s left ]; do sleep 0.01; done";
    let tool = shell(script).set(VARIABLE, mark.within(Some("another")));
    assert!(tool.in_folder(folder.path()).run().unwrap().is_success());
    // It has written down who it is before it became the program that sleeps.
    eventually("it sleeps", || is_at_work_in("sleep", folder.path()).unwrap());
    let left = fs::read_to_string(folder.path().join("left")).unwrap();
    let environment = Path::new("/proc").join(left.trim()).join("environ");
    eventually("its mark can be seen", || !fs::read(&environment).unwrap().is_empty());
    assert!(!is_at_work_in("git", folder.path()).unwrap());
    assert_eq!(end_marked(&Token::of("nobody"), Duration::ZERO).unwrap(), 0);
    assert_eq!(end_marked(&mark, Duration::ZERO).unwrap(), 1);
    assert!(!is_at_work_in("sleep", folder.path()).unwrap());
}
