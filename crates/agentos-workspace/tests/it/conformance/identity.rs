//! A workspace is found again if it is the one that was made, and nothing else is taken for it.

use std::fs;
use std::os::unix::fs::symlink;

use agentos_testing::repo::snapshot;
use agentos_workspace::workspace::isolation;
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::verify::{VerifyError, verify};
use agentos_workspace::workspace::yard::{OpenError, Opened, Wanted};
use agentos_workspace::workspace::{Kind, Workspace};

use crate::place::Place;

pub(crate) fn the_same_id_is_the_same_workspace(place: &Place) {
    let (made, _) = place.open("fix-1");
    fs::write(made.path.join("mine.txt"), "mine").unwrap();
    let (found, opened) = place.open("fix-1");
    assert_eq!((&found, opened), (&made, Opened::Found));
    assert_eq!(fs::read_to_string(made.path.join("mine.txt")).unwrap(), "mine");
    let same = Wanted { base: Some(made.base.clone()), ..place.wanted("fix-1") };
    assert_eq!(place.try_open(&same).unwrap().1, Opened::Found);
}

pub(crate) fn another_base_or_kind_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "work.txt");
    let tip = match place.kind {
        Kind::Jj => place.jj(&made.path, &["log", "--no-graph", "-r", "@-", "-T", "commit_id"]),
        _ => place.git(&made.path, &["rev-parse", "HEAD"]),
    };
    if place.kind == Kind::Clone {
        place.git(&place.repo, &["fetch", "--quiet", &made.path.to_string_lossy(), &tip]);
    }
    let other = Wanted { base: Some(tip), ..place.wanted("fix-1") };
    let refused = place.try_open(&other).unwrap_err();
    assert!(matches!(refused, OpenError::OtherBase { .. }), "{refused}");
    let kind = if place.kind == Kind::Clone { Kind::Worktree } else { Kind::Clone };
    let refused = place.try_open(&Wanted { kind, ..place.wanted("fix-1") }).unwrap_err();
    assert!(matches!(refused, OpenError::OtherKind { .. }), "{refused}");
    let any = Wanted { kind, is_kind_said: false, ..place.wanted("fix-1") };
    assert_eq!(place.try_open(&any).unwrap().1, Opened::Found);
}

pub(crate) fn what_is_gone_is_made_again_from_its_branch(place: &Place) {
    let (made, _) = place.open("fix-1");
    place.commit_in(&made, "work.txt");
    let ground = place.ground();
    let lock = ground.repository.lock().unwrap();
    let site = ground.site(Some(&lock));
    isolation::of(place.kind).collect(&site, &made).unwrap();
    drop(lock);
    fs::remove_dir_all(&made.path).unwrap();
    let refused = verify(&ground.surroundings, &made).unwrap_err();
    assert!(matches!(refused, VerifyError::Missing { .. }), "{refused}");
    let (again, opened) = place.open("fix-1");
    assert_eq!((opened, &again.path, &again.base), (Opened::MadeAgain, &made.path, &made.base));
    assert_eq!(fs::read_to_string(again.path.join("work.txt")).unwrap(), "work.txt");
    assert_ne!(again.nonce, made.nonce);
    assert!(verify(&ground.surroundings, &made).is_err(), "it is another one");
    assert_eq!(place.open("fix-1").1, Opened::Found);
}

/// Nobody takes what is there for the workspace, and nobody touches it.
fn is_refused(place: &Place, made: &Workspace) {
    let before = snapshot(&place.playground.at("elsewhere"));
    let ground = place.ground();
    let verified = verify(&ground.surroundings, made).unwrap_err();
    let opened = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap_err();
    assert!(matches!(opened, OpenError::NotIt(_)), "{opened}");
    assert_eq!(opened.to_string(), verified.to_string());
    assert_eq!(snapshot(&place.playground.at("elsewhere")), before);
}

pub(crate) fn a_link_in_its_place_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    let elsewhere = place.playground.at("elsewhere");
    fs::rename(&made.path, &elsewhere).unwrap();
    symlink(&elsewhere, &made.path).unwrap();
    is_refused(place, &made);
}

pub(crate) fn a_plain_folder_in_its_place_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    fs::rename(&made.path, place.playground.at("elsewhere")).unwrap();
    fs::create_dir(&made.path).unwrap();
    fs::write(made.path.join("mine.txt"), "mine").unwrap();
    is_refused(place, &made);
    assert!(made.path.join("mine.txt").exists());
}

pub(crate) fn another_one_in_its_place_is_refused(place: &Place) {
    let (made, _) = place.open("fix-1");
    fs::rename(&made.path, place.playground.at("elsewhere")).unwrap();
    let other = place.playground.repository("other");
    fs::rename(other, &made.path).unwrap();
    is_refused(place, &made);
    assert!(made.path.join("README.md").exists());
}
