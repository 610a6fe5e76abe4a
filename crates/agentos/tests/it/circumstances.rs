//! Strange surroundings: nobody who reads, a narrow terminal, no home, a folder that is gone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use crate::support::{Stand, lines, name, remove_folder, wait_until};

#[test]
fn a_run_whose_output_nobody_reads_goes_on_to_its_end() {
    let (stand, root) = Stand::with_repository();
    let file = stand.at("counted");
    let given = format!("file={}", file.display());
    let arguments =
        ["run", "count", "--input", &given, "--input", "steps=5", "--input", "pause=60"];
    let mut process = stand.call(&root, &arguments).start();
    drop(process.child().stdout.take());
    process.done().exits(0);
    assert_eq!(lines(&file).len(), 5);
    assert_eq!(stand.show(&root, "count")["status"], "COMPLETED");
}

#[test]
fn how_a_run_ended_is_told_by_the_exit_status_even_if_nobody_reads() {
    let (stand, root) = Stand::with_repository();
    let arguments = ["run", "mend", "--json", "--input", "file=no", "--input", "counted=counted"];
    let mut process = stand.call(&root, &arguments).start();
    drop(process.child().stdout.take());
    drop(process.child().stderr.take());
    assert_eq!(process.done().code, Some(1));
}

#[test]
fn a_listing_whose_reader_goes_away_ends_quietly() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["show", "greet"],
        &["logs", "greet"],
        &["workflows"],
        &["--help"],
        &["config"],
    ] {
        let mut process = stand.call(&root, arguments).start();
        drop(process.child().stdout.take());
        let done = process.done().exits(0);
        assert_eq!(done.err, "", "{arguments:?}");
    }
}

#[test]
fn standard_streams_that_are_closed_do_no_harm() {
    let (stand, root) = Stand::with_repository();
    let program = stand.call(&root, &[]).command.get_program().to_string_lossy().into_owned();
    let closed = format!("{program} run greet --name Ada <&- >&- 2>&-");
    stand.call_program(Path::new("/bin/sh"), &root, &["-c", &closed]).done().exits(0);
    assert_eq!(stand.runs(&root)[0]["status"], "COMPLETED");
    let piped = format!("{program} run greet --input - <&-");
    let done = stand.call_program(Path::new("/bin/sh"), &root, &["-c", &piped]).done().exits(2);
    assert!(done.err.contains("standard input"), "{done:#?}");
}

/// What is written to a terminal of so many columns.
fn on_a_terminal(stand: &Stand, root: &Path, columns: u16, words: &str) -> String {
    let program = stand.call(root, &[]).command.get_program().to_string_lossy().into_owned();
    let line = format!("stty cols {columns} rows 20; {program} {words}");
    let script = Path::new("/usr/bin/script");
    let call = stand.call_program(script, root, &["-qefc", &line, "/dev/null"]);
    let call = call.env("TERM", "xterm-256color").env("LC_ALL", "C.UTF-8").env("NO_COLOR", "1");
    let call = call.env("SHELL", "/bin/sh");
    call.done().exits(0).out
}

/// How wide a line is on the screen, without what moves the cursor.
fn width(line: &str) -> usize {
    let mut columns = 0;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\x1b' => {
                // A sequence ends with a letter.
                letters.by_ref().skip(1).find(char::is_ascii_alphabetic);
            }
            letter if letter.is_control() => {}
            _ => columns += 1,
        }
    }
    columns
}

#[test]
fn nothing_is_wider_than_a_terminal_of_twenty_columns() {
    let (stand, root) = Stand::with_repository();
    let drawn = on_a_terminal(
        &stand,
        &root,
        20,
        "run count --workspace none --input file=counted --input steps=3 --input pause=150",
    );
    assert!(drawn.contains("\x1b[?2026h"), "it is a live picture: {drawn:?}");
    for words in ["status", "show count", "workflows"] {
        let shown = on_a_terminal(&stand, &root, 20, words);
        assert!(!shown.trim().is_empty());
        let wide: Vec<&str> = shown.lines().filter(|line| width(line) > 20).collect();
        assert_eq!(wide, [""; 0], "{words}");
    }
    let wide: Vec<&str> =
        drawn.split('\n').filter(|line| width(line) > 20 && !line.contains("?2026")).collect();
    assert_eq!(wide, [""; 0]);
}

#[test]
fn whoever_wants_to_hear_more_sees_lines_and_no_picture() {
    let (stand, root) = Stand::with_repository();
    let told = on_a_terminal(&stand, &root, 100, "-v run greet --name Ada");
    assert!(!told.contains("\x1b[?2026h") && told.contains("completed in"), "{told:?}");
}

#[test]
fn without_a_home_a_repository_is_enough() {
    let (stand, root) = Stand::with_repository();
    let call = |folder: &Path, words: &[&str]| stand.call(folder, words).without("HOME");
    call(&root, &["run", "greet", "--name", "Ada"]).done().exits(0);
    call(&root, &["status"]).done().exits(0);
    let outside = stand.folder("outside");
    let done = call(&outside, &["run", "greet", "--name", "Ada"]).done().exits(1);
    assert!(done.err.contains("HOME"), "{done:#?}");
}

#[test]
fn a_home_that_can_not_be_written_to_is_a_warning_at_most() {
    let (stand, root) = Stand::with_repository();
    let home = stand.home();
    // For the superuser no folder is read-only, but a file is no folder for anybody.
    fs::set_permissions(&home, fs::Permissions::from_mode(0o555)).unwrap();
    let blocked = stand.at("blocked");
    fs::write(&blocked, "").unwrap();
    let done = stand
        .call(&root, &["run", "greet", "--name", "Ada"])
        .env("XDG_STATE_HOME", &blocked)
        .done()
        .exits(0);
    assert!(done.err.contains("registry"), "{done:#?}");
    stand.run(&root, &["status"]).exits(0);
    fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_folder_that_was_deleted_is_said_so() {
    let stand = Stand::new();
    let gone = stand.folder("gone");
    let program = stand.call(&gone, &[]).command.get_program().to_string_lossy().into_owned();
    for words in ["status", "run greet --name Ada"] {
        fs::create_dir_all(&gone).unwrap();
        let line = format!("rmdir {}; {program} {words}", gone.display());
        let done = stand.call_program(Path::new("/bin/sh"), &gone, &["-c", &line]).done().exits(1);
        assert!(done.err.contains("folder"), "{done:#?}");
        assert!(done.err.lines().count() <= 3, "{done:#?}");
    }
    assert!(!stand.home().join(".agentos").exists());
}

#[test]
fn a_run_whose_folder_is_deleted_below_it_ends_with_a_word() {
    let (stand, root) = Stand::with_repository();
    let file = stand.at("counted");
    let given = format!("file={}", file.display());
    let arguments =
        ["run", "count", "--input", &given, "--input", "steps=5", "--input", "pause=100"];
    let process = stand.call(&root, &arguments).start();
    wait_until("it counts", || !lines(&file).is_empty());
    // The run may put the database back while the folder is being removed.
    remove_folder(&root.join(".agentos"));
    let done = process.done();
    // The database is put back from the open handle, or the run stops and says why: it does not hang, and is not silent.
    assert!(done.code.is_some_and(|code| code == 0 || !done.err.is_empty()), "{done:#?}");
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let plain = stand.run(&root, &["status"]).exits(0).out;
    let asked = stand.run(&root, &["status", "--color", "always"]).exits(0).out;
    assert!(!plain.contains('\x1b') && asked.contains("\x1b["), "{plain:?} {asked:?}");
    let refused = stand.call(&root, &["status"]).env("NO_COLOR", "1").done().out;
    assert_eq!(refused, plain);
}

#[test]
fn a_process_that_is_not_read_from_does_not_hold_its_run_up() {
    let (stand, root) = Stand::with_repository();
    let file = stand.at("began");
    let given = format!("file={}", file.display());
    let mut call = stand.call(&root, &["run", "--json", "count", "--input", &given]);
    call.command.args(["--input", "steps=3"]).stdout(Stdio::null()).stderr(Stdio::null());
    call.done().exits(0);
    assert_eq!(name(&stand.runs(&root)[0]).split('-').next(), Some("count"));
}
