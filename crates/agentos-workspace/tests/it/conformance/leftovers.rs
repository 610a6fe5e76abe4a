//! What does not come to be leaves nothing behind, and takes nothing along that was there.

use std::fs;

use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::isolation::IsolationError;
use agentos_workspace::workspace::points::Point;
use agentos_workspace::workspace::yard::{OpenError, Opened, Wanted};

use crate::part;
use crate::place::Place;

pub(crate) fn a_base_that_is_none_leaves_nothing(place: &Place) {
    let before = place.traces();
    for base in ["no-such", "--upload-pack=x", "HEAD:README.md", ""] {
        let wanted = Wanted { base: Some(base.to_owned()), ..place.wanted("fix-1") };
        let refused = place.try_open(&wanted).unwrap_err();
        let is_named = matches!(&refused, OpenError::Isolation(IsolationError::NoSuchBase { .. }));
        assert!(is_named, "{base}: {refused}");
    }
    assert_eq!(place.traces(), before);
}

pub(crate) fn a_taken_place_is_left_alone(place: &Place) {
    let path = place
        .ground()
        .yard(&agentos_workspace::workspace::points::NoPoints)
        .path_of(&"fix-1".parse().unwrap());
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("mine.txt"), "mine").unwrap();
    let before = place.traces();
    let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
    assert!(matches!(refused, OpenError::PlaceTaken { .. }), "{refused}");
    assert_eq!(place.traces(), before);
    assert!(path.join("mine.txt").exists());
    fs::remove_file(path.join("mine.txt")).unwrap();
    assert_eq!(place.open("fix-1").1, Opened::Made, "an empty folder is no obstacle");
}

pub(crate) fn a_taken_branch_is_left_alone(place: &Place) {
    let make = |name: &str| match place.kind {
        Kind::Jj => place.jj(&place.repo, &["bookmark", "create", "-r", "@-", name]),
        _ => place.git(&place.repo, &["branch", name]),
    };
    make("agentos/fix-1");
    let before = place.traces();
    let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
    assert!(matches!(refused, OpenError::BranchTaken { .. }), "{refused}");
    assert_eq!(place.traces(), before);
    match place.kind {
        Kind::Jj => place.jj(&place.repo, &["bookmark", "delete", "agentos/fix-1"]),
        _ => place.git(&place.repo, &["branch", "-D", "agentos/fix-1"]),
    };
    make("agentos");
    let before = place.traces();
    let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
    assert!(matches!(refused, OpenError::BranchBlocked { .. }), "{refused}");
    assert_eq!(place.traces(), before);
}

pub(crate) fn whoever_is_killed_while_making_is_cleaned_up_after(place: &Place) {
    let before = place.traces();
    for point in Point::ALL {
        let id = format!("fix-{}", point.as_str());
        let status = part::make(place, &id, Some(point)).wait().unwrap();
        assert!(!status.success(), "it was killed at {point:?}");
        if point == Point::Ready {
            // Everything was done; nobody was told.
            assert_eq!(place.open(&id).1, Opened::Found);
            continue;
        }
        let ground = place.ground();
        let repaired =
            ground.yard(&agentos_workspace::workspace::points::NoPoints).repair().unwrap();
        assert_eq!(repaired.len(), 1, "{point:?}");
        assert_eq!(place.traces(), before, "{point:?}");
    }
    let again = part::make(place, "fix-made", None).wait().unwrap();
    assert!(again.success(), "the id is free again");
}
