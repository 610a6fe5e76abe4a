//! Whoever takes a snapshot or returns to one is killed, really, and others go on.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::points::{NoPoints, Point};
use agentos_workspace::workspace::snapshot::{Side, Snapshot, SnapshotError};

use super::seen::{As, Seen, assert_same, label, return_to, take};
use crate::keep::mess;
use crate::keep::state::write;
use crate::part::KilledAt;
use crate::place::{Ground, NOW, Place};

/// `playground\nfolder\ndeed\npoint`
const PART: &str = "AGENTOS_TEST_SNAPSHOT";

#[test]
fn takes_or_returns_and_dies() {
    let Ok(given) = std::env::var(PART) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        return assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
    };
    let [playground, folder, deed, point]: [&str; 4] =
        given.lines().collect::<Vec<_>>().try_into().expect("four lines");
    let ground = Ground::new(playground.as_ref(), folder.as_ref());
    let points = KilledAt(Some(point.to_owned()));
    let yard = ground.yard(&points);
    let made = yard.ledger.find(&"fix-1".parse().expect("an id")).unwrap().unwrap();
    let (verb, number) = deed.split_once(' ').expect("a verb and a number");
    let number: u32 = number.parse().expect("a number");
    if verb == "take" {
        yard.take_snapshot(&made, &label(number, Side::Before), NOW).unwrap();
    } else {
        let known = yard.snapshots("run-1").unwrap();
        yard.return_to(&made, known.iter().find(|known| known.number == number).unwrap()).unwrap();
    }
}

/// Starts a process of its own that does it, and dies at this point.
#[expect(clippy::disallowed_methods, reason = "these tests are about processes")]
pub(crate) fn die(place: &Place, deed: &str, point: Point) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["snapshots::kills::takes_or_returns_and_dies", "--exact", "--nocapture"]);
    let (playground, repo) = (place.playground.path(), &place.repo);
    let point = point.as_str();
    command.env(PART, format!("{}\n{}\n{deed}\n{point}", playground.display(), repo.display()));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(9), "{deed} at {point}: {said}");
}

/// A workspace that is halfway back says so, and nobody takes a snapshot of it.
pub(crate) fn has_died(place: &Place, made: &Workspace, snapshot: &Snapshot) {
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    assert_eq!(yard.half_returned(made).unwrap().as_ref(), Some(snapshot));
    let refused = yard.take_snapshot(made, &label(99, Side::After), NOW);
    assert!(matches!(refused, Err(SnapshotError::HalfReturned { .. })), "{refused:?}");
}

pub(crate) fn whoever_is_killed_while_taking_one_has_changed_nothing(place: &Place) {
    let (made, _) = place.open("fix-1");
    take(place, &made, 1);
    mess::odd_files(&made);
    mess::changes(place, &made);
    for (step, point) in (2..).zip(Point::OF_SNAPSHOTS) {
        write(&made.path, "step.txt", format!("{step}\n"));
        let before = Seen::of(place, &made, As::Itself);
        die(place, &format!("take {step}"), point);
        assert_same(&Seen::of(place, &made, As::Itself), &before, point.as_str());
        let snapshot = take(place, &made, step);
        assert_eq!(snapshot.number, step, "{point:?}");
        write(&made.path, "step.txt", "something else\n");
        return_to(place, &made, &snapshot);
        assert_same(&Seen::of(place, &made, As::Itself), &before, point.as_str());
    }
}

pub(crate) fn whoever_is_killed_on_the_way_back_can_go_on(place: &Place) {
    let (made, _) = place.open("fix-1");
    mess::odd_files(&made);
    let (first, before) = (take(place, &made, 1), Seen::of(place, &made, As::Itself));
    for (step, point) in (2..).zip(Point::OF_RETURNING) {
        mess::changes(place, &made);
        place.commit_in(&made, &format!("commit-{step}.txt"));
        std::fs::remove_file(made.path.join("crlf.txt")).unwrap();
        write(&made.path, "crlf.txt/now/a/folder", "deep\n");
        take(place, &made, step);
        die(place, "return 1", point);
        has_died(place, &made, &first);
        return_to(place, &made, &first);
        assert_same(&Seen::of(place, &made, As::Itself), &before, point.as_str());
        assert_eq!(place.ground().yard(&NoPoints).half_returned(&made).unwrap(), None);
    }
}
