//! What a person sees of the demonstration, and that it holds wherever it strikes.

use agentos_testing::demo::{KILL_AFTER, Paint, Verdict, play};

fn played(paint: Paint, kill_after: u32) -> (String, Verdict) {
    let mut out = Vec::new();
    let verdict = play(&mut out, paint, kill_after).expect("memory can be written to");
    (String::from_utf8(out).expect("what is shown is text"), verdict)
}

#[test]
fn the_demonstration_reads_as_it_should() {
    let (shown, verdict) = played(Paint::Plain, KILL_AFTER);
    assert_eq!(verdict, Verdict::Equal);
    insta::assert_snapshot!(shown);
}

/// Whether a terminal of the usual width shows it without breaking a line.
fn is_narrow(shown: &str) -> bool {
    shown.lines().all(|line| line.chars().count() <= 80 && line.trim_end() == line)
}

#[test]
fn the_demonstration_fits_on_a_screen() {
    let (shown, _) = played(Paint::Plain, KILL_AFTER);
    assert!(shown.lines().count() <= 60 && is_narrow(&shown), "{shown}");
}

#[test]
fn colour_changes_nothing_but_colour() {
    let (plain, _) = played(Paint::Plain, KILL_AFTER);
    let (painted, _) = played(Paint::Ansi, KILL_AFTER);
    let bare: String = painted
        .split('\u{1b}')
        .map(|part| {
            part.strip_prefix('[').map_or(part, |code| &code[code.find('m').unwrap() + 1..])
        })
        .collect();
    assert_eq!(bare, plain);
    assert_ne!(painted, plain);
}

#[test]
fn a_kill_after_any_commit_changes_nothing() {
    let Verdict::NotKilled { commits } = played(Paint::Plain, u32::MAX).1 else {
        panic!("there can't be so many commits");
    };
    assert!(commits > KILL_AFTER);
    for kill_after in 1..=commits {
        let (shown, verdict) = played(Paint::Plain, kill_after);
        assert!(verdict == Verdict::Equal && is_narrow(&shown), "{shown}");
    }
}
