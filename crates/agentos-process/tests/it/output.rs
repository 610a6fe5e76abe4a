//! What becomes of output.

use std::fs;
use std::time::Duration;

use agentos_process::attached::{Attached, Event};
use agentos_process::exit::{Exit, Reason};
use agentos_process::frame::{Frame, Stream};
use agentos_process::secret::Secrets;

use crate::part::launcher;
use crate::support::{Scene, eventually, is_alive};

const LONG: Duration = Duration::from_secs(120);

/// All output of a command, what was missed of it, and its end.
pub(crate) fn followed(mut attached: Attached<'_>) -> (Vec<Frame>, u64, Exit) {
    let (mut frames, mut missed) = (Vec::new(), 0);
    loop {
        match attached.next(LONG).expect("it can be followed") {
            Event::Output(frame) => frames.push(frame),
            Event::Gap(bytes) => missed += bytes,
            Event::Ended(exit) => return (frames, missed, *exit),
            Event::Quiet => {}
            Event::Vacant => panic!("nobody has begun it"),
        }
    }
}

fn bytes(frames: &[Frame], stream: Stream) -> Vec<u8> {
    frames
        .iter()
        .filter(|frame| frame.stream == stream)
        .flat_map(|frame| frame.bytes.clone())
        .collect()
}

fn next_text(attached: &mut Attached<'_>) -> String {
    loop {
        match attached.next(LONG).expect("it can be followed") {
            Event::Output(frame) => return String::from_utf8(frame.bytes).expect("text"),
            Event::Quiet => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn output_can_be_followed_while_the_command_runs_and_by_many() {
    let scene = Scene::new();
    let spec = scene.line("echo first; until [ -e go ]; do sleep 0.01; done; echo second");
    let mut one = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    assert_eq!(next_text(&mut one), "first\n");
    let mut other = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it is found");
    assert_eq!(next_text(&mut other), "first\n");
    assert_eq!(one.next(Duration::from_millis(1)).expect("it can be followed"), Event::Quiet);
    fs::write(scene.path().join("go"), "").expect("a file");
    assert_eq!(next_text(&mut one), "second\n");
    let (frames, missed, exit) = followed(other);
    assert_eq!((bytes(&frames, Stream::Stdout), missed), (b"second\n".to_vec(), 0));
    assert_eq!(exit.stdout_bytes, 13);
}

#[test]
fn bytes_that_are_no_text_are_kept_as_they_are() {
    let scene = Scene::new();
    let expected: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    fs::write(scene.path().join("binary"), &expected).expect("a file");
    let spec = scene.line("cat binary; cat binary >&2");
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    let (frames, missed, _) = followed(attached);
    assert_eq!(missed, 0);
    assert!(bytes(&frames, Stream::Stdout) == expected, "standard output differs");
    assert!(bytes(&frames, Stream::Stderr) == expected, "standard error differs");
}

#[test]
fn a_secret_is_nowhere_on_disk_even_if_it_is_written_in_pieces() {
    let scene = Scene::new();
    let line = "printf 'it is hun'; sleep 0.05; printf 'ter2-and-'; sleep 0.05; printf 'more\\n'; echo $MY_TOKEN >&2";
    let mut spec = scene.line(line);
    spec.env.insert("MY_TOKEN".into(), "hunter2-and-more".into());
    let env: Vec<(String, String)> = spec.env.clone().into_iter().collect();
    spec.secrets = Secrets::of(env.iter().map(|(name, value)| (name.as_str(), value.as_str())), []);
    let outcome = scene.execute("a", &spec);
    assert_eq!((outcome.stdout.as_str(), outcome.stderr.as_str()), ("it is ***\n", "***\n"));
    for entry in fs::read_dir(scene.operation("a")).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
            assert!(!text.contains("hunter2"), "{}", path.display());
        }
    }
}

#[test]
fn of_too_much_output_the_beginning_and_the_end_are_kept() {
    let scene = Scene::new();
    let mut spec = scene.line("i=0; while [ $i -lt 200000 ]; do echo line-$i; i=$((i+1)); done");
    spec.kept_bytes = 400_000;
    let outcome = scene.execute("a", &spec);
    assert!(outcome.truncated && outcome.exit.dropped_bytes > 0, "{:?}", outcome.exit);
    assert!(outcome.stdout.starts_with("line-0\nline-1\n"));
    assert!(outcome.stdout.ends_with("line-199998\nline-199999\n"));
    let entries = fs::read_dir(scene.operation("a")).expect("a folder");
    let on_disk: u64 =
        entries.map(|entry| entry.expect("an entry").metadata().expect("a file").len()).sum();
    assert!(on_disk < 1_000_000, "{on_disk} bytes");
    // What is told and what is missed add up.
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it is found");
    let (frames, missed, exit) = followed(attached);
    assert_eq!(bytes(&frames, Stream::Stdout).len() as u64 + missed, exit.stdout_bytes);
    assert_eq!(missed, exit.dropped_bytes);
}

#[test]
fn much_output_needs_little_memory() {
    let scene = Scene::new();
    // It is not over before its supervisor has been looked at.
    let spec = scene.line("head -c 200000000 /dev/zero; until [ -e go ]; do sleep 0.01; done");
    let mut attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    let mut seen = 0;
    while seen < 200_000_000 {
        match attached.next(LONG).expect("it can be followed") {
            Event::Output(frame) => seen += frame.bytes.len() as u64,
            Event::Gap(bytes) => seen += bytes,
            Event::Quiet => {}
            other => panic!("{other:?}"),
        }
    }
    let status = fs::read_to_string(format!("/proc/{}/status", scene.supervisor("a")));
    let status = status.expect("the supervisor lives");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("its memory");
    let most: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
    fs::write(scene.path().join("go"), "").expect("a file");
    let (frames, missed, exit) = followed(attached);
    assert_eq!((frames, missed, seen, exit.stdout_bytes), (vec![], 0, 200_000_000, 200_000_000));
    assert!(most < 30_000, "{most} kB");
}

#[test]
fn a_command_that_closes_its_output_goes_on() {
    let scene = Scene::new();
    let spec = scene
        .line("echo said; exec >&- 2>&-; until [ -e go ]; do sleep 0.01; done; echo x >> count");
    let attached = launcher().start_or_attach(&scene.operation("a"), &spec).expect("it starts");
    scene.supervisor("a");
    fs::write(scene.path().join("go"), "").expect("a file");
    let (frames, _, exit) = followed(attached);
    assert_eq!((bytes(&frames, Stream::Stdout), exit.reason), (b"said\n".to_vec(), Reason::Exited));
    assert_eq!(scene.count("count"), 1);
}

#[test]
fn a_background_child_that_holds_the_pipe_holds_up_nobody() {
    let scene = Scene::new();
    let outcome = scene.execute("a", &scene.line("sleep 1000 & echo $! > pids; echo said"));
    assert_eq!((outcome.stdout.as_str(), outcome.exit.exit_code), ("said\n", Some(0)));
    assert_eq!(outcome.exit.leftovers, 1);
    let pids = scene.pids("pids");
    assert_eq!(pids.len(), 1);
    eventually("the child is gone", || !is_alive(pids[0]));
}
