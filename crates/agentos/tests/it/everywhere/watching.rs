//! `status --watch` tells of what other processes do, in whatever worktree.

use std::io::{BufRead as _, BufReader};
use std::sync::mpsc::{Receiver, channel};

use rustix::process::Signal;
use serde_json::Value;

use super::{Site, text};
use crate::support::{Process, TIMEOUT, name, wait_until};

/// The lines of a process, as they come.
fn lines_of(process: &mut Process) -> Receiver<String> {
    let out = process.child().stdout.take().expect("a pipe");
    let (tell, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(out).lines().map_while(Result::ok) {
            if tell.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn wait_for(lines: &Receiver<String>, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    loop {
        let line = lines.recv_timeout(TIMEOUT);
        let line = line.unwrap_or_else(|_| panic!("nobody told {what}"));
        let run: Value = serde_json::from_str(&line).expect("a document");
        if is_it(&run) {
            return run;
        }
    }
}

#[test]
fn changes_in_every_worktree_are_told_also_in_one_that_is_made_later() {
    let site = Site::new();
    let one = site.worktree("one");
    let mut watch = site.stand.call(&site.root, &["status", "--watch", "--json"]).start();
    let lines = lines_of(&mut watch);
    let first = name(&site.greet(&one));
    let ended = |run: &str| {
        let run = run.to_owned();
        move |told: &Value| text(&told["run_id"]) == run && told["status"] == "COMPLETED"
    };
    assert_eq!(wait_for(&lines, "the first", ended(&first))["worktree"], "one");
    let two = site.worktree("two");
    let second = name(&site.greet(&two));
    assert_eq!(wait_for(&lines, "the second", ended(&second))["worktree"], "two");
    let third = name(&site.greet(&site.root));
    assert_eq!(wait_for(&lines, "the third", ended(&third))["worktree"], "main");
    watch.send(Signal::INT);
    assert_eq!(watch.done().code, Some(0));
}

#[test]
fn whoever_watches_through_a_pipe_that_is_closed_ends_although_nothing_happens() {
    let site = Site::new();
    site.greet(&site.root);
    let program = env!("CARGO_BIN_EXE_agentos");
    let line = format!("{program} status --watch | head -n 1");
    let shell = std::path::Path::new("/bin/sh");
    let mut process = site.stand.call_program(shell, &site.root, &["-c", &line]).start();
    wait_until("the watch has ended", || process.has_ended().is_some());
    let done = process.done().exits(0);
    assert!(done.out.contains("COMPLETED") && done.err.is_empty(), "{done:#?}");
}
