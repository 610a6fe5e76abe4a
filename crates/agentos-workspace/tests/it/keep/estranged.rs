//! A jj workspace that jj does not look at any more: its files are backed up from the disk.

use std::fs;

use agentos_workspace::workspace::occupy::Ending;
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::removal::CleanError;
use agentos_workspace::workspace::verdict::{Weight, What};
use agentos_workspace::workspace::{Kind, Workspace};

use super::state::{clean, finding, restore, sweep, write};
use crate::place::{NOW, Place};

/// What somebody has done there is refused with a way out, is kept by force, and comes back.
fn is_kept(place: &Place, made: &Workspace, way_out: &str) {
    let refused = clean(place, "fix-1", false).unwrap_err();
    let CleanError::Refused(verdict) = refused else { panic!("{refused}") };
    let found = finding(&verdict, What::Estranged).unwrap();
    assert_eq!(found.weight, Weight::Blocks);
    assert!(found.examples[0].contains(way_out), "{verdict}");
    assert!(made.path.exists());
    let ground = place.ground();
    let released =
        ground.yard(&NoPoints).release(&mut made.clone(), &Ending::default(), NOW).unwrap_err();
    let told = released.to_string();
    assert!(
        told.contains(way_out) && told.contains("cleaning the workspace fix-1 by force"),
        "{told}"
    );
    clean(place, "fix-1", true).unwrap();
    sweep(place);
    let back = restore(place, "fix-1");
    assert_eq!(fs::read_to_string(back.path.join("new.txt")).unwrap(), "new");
    assert_eq!(fs::read_to_string(back.path.join("README.md")).unwrap(), "changed");
    assert!(place.jj(&back.path, &["diff", "--summary"]).contains("new.txt"));
}

#[test]
fn a_workspace_that_jj_has_forgotten_is_backed_up_from_the_disk() {
    let place = Place::new(Kind::Jj);
    let (made, _) = place.open("fix-1");
    write(&made.path, "new.txt", "new");
    write(&made.path, "README.md", "changed");
    place.jj(&place.repo, &["workspace", "forget", "fix-1"]);
    is_kept(&place, &made, "jj workspace forget");
}

#[test]
fn a_workspace_that_is_stale_is_backed_up_from_the_disk() {
    let place = Place::new(Kind::Jj);
    let (made, _) = place.open("fix-1");
    place.jj(&made.path, &["status"]);
    write(&made.path, "new.txt", "new");
    write(&made.path, "README.md", "changed");
    place.jj(&place.repo, &["restore", "--from", "root()", "--into", "fix-1@"]);
    is_kept(&place, &made, "update-stale");
}
