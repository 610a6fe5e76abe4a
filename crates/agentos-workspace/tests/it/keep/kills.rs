//! Whoever is killed while removing or restoring a workspace is cleaned up after by the next who comes, and nothing is lost.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, Stdio};

use agentos_workspace::workspace::backup::Keeping;
use agentos_workspace::workspace::points::{NoPoints, Point};
use agentos_workspace::workspace::{Kind, State, Workspace};

use super::mess;
use super::state::{Whole, assert_same, clean, look, restore, sweep};
use crate::part::KilledAt;
use crate::place::{Ground, Place};

/// `playground\nfolder\nid\nverb\npoint`
const PART: &str = "AGENTOS_TEST_KEEP";

#[test]
fn removes_or_restores_and_dies() {
    let Ok(given) = std::env::var(PART) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        return assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
    };
    let [playground, folder, id, verb, point]: [&str; 5] =
        given.lines().collect::<Vec<_>>().try_into().expect("five lines");
    let ground = Ground::new(playground.as_ref(), folder.as_ref());
    let (id, points) = (id.parse().expect("an id"), KilledAt(Some(point.to_owned())));
    match verb {
        "clean" => drop(ground.yard(&points).clean(&id, true, &Keeping::default()).unwrap()),
        _ => drop(ground.yard(&points).restore(&id, None).unwrap()),
    }
}

/// Starts a process of its own that does it, and dies at this point.
#[expect(clippy::disallowed_methods, reason = "these tests are about processes")]
pub(crate) fn start(place: &Place, id: &str, verb: &str, point: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["keep::kills::removes_or_restores_and_dies", "--exact", "--nocapture"]);
    let (playground, repo) = (place.playground.path(), &place.repo);
    let (playground, repo) = (playground.display(), repo.display());
    command.env(PART, format!("{playground}\n{repo}\n{id}\n{verb}\n{point}"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn die(place: &Place, verb: &str, point: Point) {
    let point = point.as_str();
    let output = start(place, "fix-1", verb, point).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(9), "{verb} at {point}: {said}");
}

/// Where to die: everywhere in the soak; with jj, which takes its time, at one point otherwise.
fn points(kind: Kind, all: &'static [Point], few: &'static [Point]) -> &'static [Point] {
    if kind == Kind::Jj && std::env::var_os("AGENTOS_SOAK").is_none() { few } else { all }
}

fn messy(place: &Place) -> Workspace {
    let (made, _) = place.open("fix-1");
    mess::commits(place, &made);
    mess::ignored(&made);
    mess::changes(place, &made);
    look(place, &made);
    made
}

pub(crate) fn whoever_is_killed_while_removing_loses_nothing(place: &Place) {
    let made = messy(place);
    let before = Whole::of(place, &made);
    for point in points(place.kind, &Point::OF_REMOVAL, &[Point::Moved]) {
        die(place, "clean", *point);
        let ground = place.ground();
        let yard = ground.yard(&NoPoints);
        yard.repair().unwrap();
        let known = yard.ledger.find(&made.id).unwrap().unwrap();
        assert!(known.state.is_there() || known.state == State::Gone, "{point:?}: {known:?}");
        assert_eq!(known.state.is_there(), made.path.exists(), "{point:?}");
        let back = if made.path.exists() { known } else { restore(place, "fix-1") };
        assert_same(&Whole::of(place, &back), &before, point.as_str());
        sweep(place);
    }
}

pub(crate) fn whoever_is_killed_while_restoring_loses_nothing(place: &Place) {
    let made = messy(place);
    let before = Whole::of(place, &made);
    clean(place, "fix-1", true).unwrap();
    for point in points(place.kind, &Point::OF_RESTORING, &[Point::Filled]) {
        die(place, "restore", *point);
        let ground = place.ground();
        ground.yard(&NoPoints).repair().unwrap();
        let is_there = made.path.exists();
        assert_eq!(is_there, *point == Point::Ready, "{point:?}");
        let back = match is_there {
            true => ground.yard(&NoPoints).ledger.find(&made.id).unwrap().unwrap(),
            false => restore(place, "fix-1"),
        };
        assert_same(&Whole::of(place, &back), &before, point.as_str());
        clean(place, "fix-1", true).unwrap();
        sweep(place);
    }
}

/// The second one dies while it takes back what the first one has left.
pub(crate) fn two_who_are_killed_while_restoring_lose_nothing(place: &Place) {
    let made = messy(place);
    let before = Whole::of(place, &made);
    clean(place, "fix-1", true).unwrap();
    sweep(place);
    for point in points(place.kind, &Point::OF_TAKING_BACK, &[Point::Withdrawn]) {
        die(place, "restore", Point::Filled);
        die(place, "restore", *point);
        assert!(!made.path.exists(), "{point:?}: what is half there is not in its place");
        let back = restore(place, "fix-1");
        assert_same(&Whole::of(place, &back), &before, point.as_str());
        let trash = made.path.parent().unwrap().with_file_name(".agentos-trash");
        assert_eq!(trash.read_dir().map_or(0, Iterator::count), 0, "{point:?}: it is deleted");
        clean(place, "fix-1", true).unwrap();
        sweep(place);
    }
}
