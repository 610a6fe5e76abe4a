//! A command from its order to its end.

use agentos_process::case::Case;
use agentos_process::environment::built_up;
use agentos_process::exit::Reason;
use agentos_process::launch::stop;
use agentos_process::spec::Program;

use crate::support::Scene;

#[test]
fn a_command_says_what_it_wrote_and_how_it_ended() {
    let scene = Scene::new();
    let outcome = scene.execute("a", &scene.line("echo out; echo err >&2; exit 3"));
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("out\n", "err\n"));
    assert_eq!((outcome.exit.reason, outcome.exit.exit_code), (Reason::Exited, Some(3)));
    assert_eq!((outcome.exit.signal, outcome.exit.leftovers), (None, 0));
    assert!(!outcome.truncated);
}

#[test]
fn a_command_that_dies_of_a_signal_says_of_which() {
    let scene = Scene::new();
    let exit = scene.execute("a", &scene.line("kill -SEGV $$")).exit;
    assert_eq!((exit.reason, exit.exit_code, exit.signal), (Reason::Exited, None, Some(11)));
}

#[test]
fn arguments_reach_a_program_without_a_shell_in_between() {
    let scene = Scene::new();
    let argv = ["printf", "%s|", "a b", "$HOME", "*"].map(str::to_owned).to_vec();
    assert_eq!(scene.execute("a", &scene.spec(Program::Argv(argv))).stdout, "a b|$HOME|*|");
}

#[test]
fn what_cannot_be_started_says_why() {
    let scene = Scene::new();
    let exit = scene.execute("a", &scene.spec(Program::Argv(vec!["no-such-tool".into()]))).exit;
    assert_eq!(exit.reason, Reason::NotStarted);
    let message = exit.message.expect("a message");
    assert!(message.contains("`no-such-tool` can't be started"), "{message}");

    let mut spec = scene.line("true");
    spec.cwd = scene.path().join("nowhere");
    let message = scene.execute("b", &spec).exit.message.expect("a message");
    assert!(message.contains("nowhere: there is no such folder"), "{message}");
}

#[test]
fn input_is_read_to_its_end_and_there_is_none_unless_given() {
    let scene = Scene::new();
    let mut spec = scene.line("wc -c; cat");
    assert_eq!(scene.execute("without", &spec).stdout.trim(), "0");
    let input = "line\n".repeat(100_000);
    spec = scene.line("wc -c");
    spec.input = Some(input.clone());
    assert_eq!(scene.execute("with", &spec).stdout.trim(), input.len().to_string());
    // Nobody waits for a program that does not read.
    spec.program = Program::Line("echo done".into());
    assert_eq!(scene.execute("unread", &spec).stdout, "done\n");
}

#[test]
fn the_environment_is_what_was_given_and_the_mark() {
    let scene = Scene::new();
    let mut spec = scene.line("env");
    spec.env = built_up([("GIT_DIR".into(), "/x".into())], [("GIVEN".to_owned(), "1".to_owned())]);
    let stdout = scene.execute("a", &spec).stdout;
    let names: Vec<&str> =
        stdout.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    assert!(names.contains(&"GIVEN") && names.contains(&"AGENTOS_OPERATION"), "{names:?}");
    assert!(!names.contains(&"GIT_DIR") && !names.contains(&"HOME"), "{names:?}");
    assert!(stdout.contains(spec.token.as_str()), "{stdout}");
}

#[test]
fn whoever_asks_again_is_told_what_happened_the_first_time() {
    let scene = Scene::new();
    let spec = scene.line("echo x >> count; echo said");
    let first = scene.execute("a", &spec);
    assert_eq!(scene.execute("a", &spec), first);
    assert_eq!(scene.count("count"), 1);
    scene.execute("another-try", &spec);
    assert_eq!(scene.count("count"), 2);
}

#[test]
fn what_was_stopped_before_it_began_never_begins() {
    let scene = Scene::new();
    stop(&scene.operation("a")).expect("it is stopped");
    let exit = scene.execute("a", &scene.line("echo x >> count")).exit;
    assert_eq!((exit.reason, scene.count("count")), (Reason::Stopped, 0));
}

#[test]
fn a_wish_to_stop_that_nobody_has_heard_is_found_by_the_supervisor() {
    let scene = Scene::new();
    std::fs::create_dir_all(scene.operation("a")).expect("a folder");
    std::fs::write(scene.operation("a").join("stop"), "").expect("a file");
    let exit = scene.execute("a", &scene.line("echo x >> count")).exit;
    assert_eq!((exit.reason, scene.count("count")), (Reason::Stopped, 0));
}

#[test]
fn a_command_leaves_few_files_and_none_that_says_what_it_was() {
    let scene = Scene::new();
    let listed = scene.execute("a", &scene.line("ls a")).stdout;
    assert_eq!(listed, "started.json\n");
    assert!(matches!(Case::of(&scene.directory("a")), Ok(Case::Over(_))));
}
