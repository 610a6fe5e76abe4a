//! Short tools: what they say, how they end, and what is done about those that do not.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use agentos_process::at_work::AtWork;
use agentos_process::leftovers::end_marked;
use agentos_process::token::{Token, VARIABLE};
use agentos_process::tool::{COMPLAINT_BYTES, Tool, ToolError, killed_by};

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
        assert!(!is_alive(child.trim().parse().unwrap()), "its end was waited for");
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
fn a_tool_that_a_signal_ends_leaves_nothing_at_work() {
    let folder = tempfile::tempdir().unwrap();
    let script = "sleep 1000 & echo $! > child; kill -9 $$";
    let answer = shell(script).in_folder(folder.path()).run().unwrap();
    assert_eq!(answer.killed_by().map(|killed| killed.signal), Some(9));
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
    let look = |program: &str| AtWork::look(&[program], &[folder.path().to_owned()]).unwrap();
    eventually("it sleeps", || !look("sleep").is_empty());
    let seen = look("sleep");
    let left = fs::read_to_string(folder.path().join("left")).unwrap();
    let environment = Path::new("/proc").join(left.trim()).join("environ");
    eventually("its mark can be seen", || !fs::read(&environment).unwrap().is_empty());
    assert!(look("git").is_empty() && !seen.has_ended());
    assert_eq!(end_marked(&Token::of("nobody"), Duration::ZERO).unwrap(), 0);
    assert_eq!(end_marked(&mark, Duration::ZERO).unwrap(), 1);
    assert!(look("sleep").is_empty() && seen.has_ended());
}

#[test]
fn who_names_a_folder_works_in_it_and_who_has_ended_does_not() {
    let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let look = |folder: &Path| AtWork::look(&["sleep"], &[folder.to_owned()]).unwrap();
    let left = |word: &str| shell(word).in_folder(here.path()).run().unwrap();
    let named = format!("GIT_DIR={}/sub", there.path().display());
    let script = format!("{named} sleep 1000 >&- 2>&- & echo $!");
    let pid = String::from_utf8(left(&script).output).unwrap();
    eventually("its environment can be seen", || !look(there.path()).is_empty());
    let seen = look(there.path());
    assert!(!seen.has_ended() && !look(here.path()).is_empty());
    left(&format!("kill -9 {pid}"));
    eventually("it has ended", || seen.has_ended());
    assert!(look(there.path()).is_empty());
}

#[test]
fn a_tool_that_a_signal_ends_is_run_again_and_then_has_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let dies = |times: u32| {
        let script = format!(
            "cat; echo x >> runs; [ $(wc -l < runs) -gt {times} ] || kill -9 $$; echo done; exit 3"
        );
        fs::write(folder.path().join("list"), "a list\n").unwrap();
        let _new = fs::remove_file(folder.path().join("runs"));
        shell(&script)
            .in_folder(folder.path())
            .reading(fs::File::open(folder.path().join("list")).unwrap())
            .run_until_answered()
    };
    let answer = dies(0).unwrap();
    assert_eq!((answer.status.code(), answer.killed_before), (Some(3), None));
    let answer = dies(2).unwrap();
    assert_eq!(
        String::from_utf8_lossy(&answer.output),
        "a list\ndone\n",
        "it reads the same again"
    );
    assert_eq!(answer.killed_before.map(|killed| killed.source.signal), Some(9));
    let error = dies(1_000).unwrap_err();
    assert_eq!(killed_by(&error).map(|killed| killed.signal), Some(9), "{error}");
    assert!(error.to_string().contains("was ended by signal 9"), "{error}");
    assert!(killed_by(&error).is_some_and(|killed| !killed.is_helper), "{error}");
}

/// A repository whose files pass through filters, and the call that stages them.
fn filtered(folder: &Path, attributes: &str, settings: &[(&str, &str)]) -> Tool {
    let git = || {
        let tool = Tool::new("git").in_folder(folder).set("GIT_CONFIG_NOSYSTEM", "1");
        tool.set("HOME", folder).set("LC_ALL", "C").timeout(LONG)
    };
    assert!(git().args(["init", "--quiet", "."]).run().expect("git").is_success());
    fs::write(folder.join(".gitattributes"), attributes).expect("a file");
    fs::write(folder.join("file"), "text\n").expect("a file");
    for (name, value) in settings {
        assert!(git().args(["config", name, value]).run().expect("git").is_success());
    }
    git().args(["add", "file"]).recording_programs()
}

#[test]
fn a_filter_that_was_killed_is_told_from_one_that_crashed_failed_or_is_broken() {
    let killed = |kind: &str, command: &str| {
        let folder = tempfile::tempdir().unwrap();
        let kind = format!("filter.x.{kind}");
        let settings = [(kind.as_str(), command), ("filter.x.required", "true")];
        let answer = filtered(folder.path(), "file filter=x", &settings).run().unwrap();
        assert!(!answer.is_success(), "{command}");
        assert!(answer.killed_by().is_none_or(|killed| killed.is_helper), "{command}");
        answer.killed_by().map(|killed| killed.signal)
    };
    for kind in ["clean", "process"] {
        assert_eq!(killed(kind, "kill -9 $$"), Some(9), "{kind}");
        assert_eq!(killed(kind, "sh -c 'kill -9 $$'; exit $?"), Some(9), "{kind}");
        assert_eq!(killed(kind, "sh -c 'kill $$'; exit $?"), Some(15), "{kind}");
        assert_eq!(killed(kind, "kill -SEGV $$"), None, "{kind}: it crashed");
        assert_eq!(killed(kind, "exit 1"), None, "{kind}: it failed");
    }
    assert_eq!(killed("process", "cat"), None, "git itself has ended it");
}

#[test]
fn what_a_filter_or_hook_calls_in_turn_is_its_own_affair() {
    let folder = tempfile::tempdir().unwrap();
    let inner = "git -c alias.x='!kill -9 $$' x; exit 1";
    let settings = [("filter.x.clean", inner), ("filter.x.required", "true")];
    let answer = filtered(folder.path(), "file filter=x", &settings).run().unwrap();
    assert_eq!((answer.is_success(), answer.killed_by()), (false, None));
    // That we are called by a git ourselves changes nothing.
    let stage = filtered(folder.path(), "file filter=x", &[("filter.x.clean", "kill -9 $$")]);
    let answer = stage.set("GIT_TRACE2_PARENT_SID", "another").run().unwrap();
    assert_eq!(answer.killed_by().map(|killed| killed.signal), Some(9));
}

#[test]
fn a_record_of_programs_leaves_nothing_and_tells_which_hook_failed() {
    let folder = tempfile::tempdir().unwrap();
    let stage = filtered(folder.path(), "", &[("user.name", "a"), ("user.email", "a@b")]);
    assert!(stage.run().unwrap().is_success());
    let hook = folder.path().join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\nls $GIT_TRACE2_EVENT >&2\nexit 143\n").unwrap();
    fs::set_permissions(&hook, Permissions::from_mode(0o755)).unwrap();
    let commit = Tool::new("git").args(["commit", "-m", "x"]).in_folder(folder.path());
    let answer =
        commit.set("HOME", folder.path()).timeout(LONG).recording_programs().run().unwrap();
    let failed = answer.failed_program.clone().unwrap();
    assert_eq!((failed.name.as_str(), failed.is_hook, failed.code), ("pre-commit", true, 143));
    let error = answer.killed_run().unwrap().error("git commit".to_owned()).to_string();
    assert!(error.starts_with("`git commit: pre-commit` was ended by signal 15; its last words: "));
    let record = Path::new(answer.last_words().trim()).to_owned();
    assert!(record.is_absolute() && !record.parent().unwrap().exists(), "{record:?}");
}
