//! Never removed: what is not ours, and what somebody is in.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use agentos_testing::wait::wait_until;
use agentos_workspace::workspace::backup::Keeping;
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::verdict::What;

use super::state::{clean, finding, sweep, write};
use crate::place::{Ground, Place};

pub(crate) fn a_link_in_its_place_is_not_removed(place: &Place) {
    let (made, _) = place.open("fix-1");
    let elsewhere = place.playground.at("elsewhere");
    fs::rename(&made.path, &elsewhere).unwrap();
    symlink(&elsewhere, &made.path).unwrap();
    let refused = clean(place, "fix-1", true).unwrap_err();
    assert!(matches!(refused, CleanError::NotOurs { .. }), "{refused}");
    assert!(elsewhere.join("README.md").exists() && made.path.is_symlink());
}

pub(crate) fn another_folder_in_its_place_is_not_removed(place: &Place) {
    let (made, _) = place.open("fix-1");
    let elsewhere = place.playground.at("elsewhere");
    fs::rename(&made.path, &elsewhere).unwrap();
    // Moved away: nothing is done to it, nor to what git knows of it.
    let traces = place.traces();
    clean(place, "fix-1", true).unwrap_err();
    assert_eq!(place.traces(), traces);
    write(&made.path, "mine.txt", "mine");
    let refused = clean(place, "fix-1", true).unwrap_err();
    assert!(matches!(refused, CleanError::NotOurs { .. }), "{refused}");
    assert!(made.path.join("mine.txt").exists() && elsewhere.join("README.md").exists());
}

pub(crate) fn whoever_stands_in_it_is_not_swept_away(place: &Place) {
    let (made, _) = place.open("fix-1");
    let inside = made.path.join("deep");
    fs::create_dir(&inside).unwrap();
    let mut ground = Ground::new(&place.playground.path(), &place.repo);
    ground.surroundings.cwd = Some(inside.clone());
    let refused = ground.yard(&NoPoints).clean(&made.id, true, &Keeping::default()).unwrap_err();
    assert!(matches!(refused, CleanError::NotOurs { .. }), "{refused}");
    assert!(inside.exists());
}

#[expect(clippy::disallowed_methods, reason = "this test is about another process")]
pub(crate) fn a_process_inside_is_respected(place: &Place) {
    let (made, _) = place.open("fix-1");
    let mut sleeper = Command::new("sleep");
    sleeper.arg("600").current_dir(&made.path).stdin(Stdio::null());
    let mut sleeper = sleeper.spawn().unwrap();
    // It is started before it has its name.
    let name = format!("/proc/{}/comm", sleeper.id());
    wait_until("it has its name", || fs::read_to_string(&name).unwrap() == "sleep\n");
    let refused = clean(place, "fix-1", true).unwrap_err();
    let CleanError::Refused(verdict) = refused else { panic!("{refused}") };
    let user = finding(&verdict, What::InUse).unwrap().examples[0].clone();
    assert_eq!(user, format!("process {} (sleep)", sleeper.id()));
    assert!(made.path.exists());
    sleeper.kill().unwrap();
    sleeper.wait().unwrap();
    clean(place, "fix-1", true).unwrap();
}

pub(crate) fn nothing_is_left_of_what_is_cleaned(place: &Place) {
    let before = place.traces();
    for id in ["fix-1", "fix-2"] {
        place.open(id);
        let cleaned = clean(place, id, false).unwrap();
        assert_eq!((cleaned.branch, cleaned.backup), (None, None));
    }
    sweep(place);
    let after: Vec<String> =
        place.traces().into_iter().filter(|trace| !trace.ends_with(" gone")).collect();
    assert_eq!(after, before);
}
