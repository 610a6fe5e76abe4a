//! Whatever people and agents do, in any order and with whoever killed in between: every snapshot is exact, and so is every
//! workspace that is made from one.

use std::fs;

use agentos_testing::chance::Chance;
use agentos_workspace::workspace::points::{NoPoints, Point};
use agentos_workspace::workspace::snapshot::{Snapshot, SnapshotError};
use agentos_workspace::workspace::{Kind, Workspace};

use super::kills::{die, has_died};
use super::seen::{As, Seen, assert_same, return_to, take};
use crate::keep::deeds::{ANYWHERE, Deed, IN_GIT, IN_JJ, Scene};
use crate::keep::state::write;
use crate::place::Place;

/// How many things happen before each snapshot, and how many snapshots are taken.
const DEEDS: u64 = 2;
const STEPS: u32 = 6;

/// What else is done: what is there changes its form, or goes.
const MORE: [Deed; 4] = [
    ("swap a file and a folder", |scene| {
        let path = scene.made.path.join("swap");
        if path.is_dir() {
            fs::remove_dir_all(&path).unwrap();
            fs::write(&path, format!("{}\r\n", scene.number)).unwrap();
        } else {
            let _gone = fs::remove_file(&path);
            write(&path, "deep/file", [0, 255, 13, 10]);
        }
    }),
    ("same size at the same time", |scene| {
        write(&scene.made.path, "same.txt", format!("{:08}", scene.number));
    }),
    ("close a folder", |scene| {
        use std::os::unix::fs::PermissionsExt as _;
        let path = scene.made.path.join("closed");
        fs::create_dir_all(&path).unwrap();
        write(&path, "file", "x");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o500)).unwrap();
    }),
    ("remove what is new", |scene| {
        for entry in fs::read_dir(&scene.made.path).unwrap().flatten() {
            let name = entry.file_name();
            if name.to_string_lossy().starts_with("file-") {
                let _folder = fs::remove_file(entry.path());
            }
        }
    }),
];

pub(crate) fn whatever_was_done_every_snapshot_is_exact(outer: &Place) {
    let cases = if outer.kind == Kind::Jj { 1 } else { 3 };
    hunt(outer, cases);
}

/// The same with the big numbers, for the soak.
#[test]
fn snapshots_are_exact_in_many() {
    if std::env::var_os("AGENTOS_SOAK").is_none() {
        return hunt(&Place::new(Kind::Worktree), 1);
    }
    let cases = [(Kind::Worktree, 60), (Kind::Clone, 60), (Kind::Jj, 8)];
    std::thread::scope(|threads| {
        for (kind, cases) in cases {
            threads.spawn(move || hunt(&Place::new(kind), cases));
        }
    });
}

fn hunt(outer: &Place, cases: u64) {
    let library = outer.playground.repository("library");
    let here = if outer.kind == Kind::Jj { &IN_JJ[..] } else { &IN_GIT[..] };
    let mut deeds = [&ANYWHERE[..], &MORE[..], here].concat();
    // Its git folder belongs to the repository and not to the workspace: of such a one a fork has the files alone.
    deeds.retain(|(name, _)| *name != "worktree inside");
    for seed in 1..=cases {
        let place = Place::new(outer.kind);
        let mut chance = Chance::new(format!("snapshots {seed}"));
        let (made, _) = place.open("fix-1");
        let (mut told, mut number) = (format!("{} seed {seed}:", outer.kind), 0);
        let mut taken: Vec<(Snapshot, Seen, Seen)> = Vec::new();
        for step in 1..=STEPS {
            for _ in 0..DEEDS {
                let (name, deed) = chance.pick(&deeds);
                deed(&Scene { place: &place, made: &made, number, library: &library });
                told = format!("{told} {name},");
                number += 1;
            }
            if chance.percent(25) {
                let point = *chance.pick(&Point::OF_SNAPSHOTS);
                die(&place, &format!("take {step}"), point);
                told = format!("{told} killed at {},", point.as_str());
            }
            let seen = Seen::of(&place, &made, As::Itself);
            let snapshot = take(&place, &made, step);
            told = format!("{told} snapshot {step};");
            assert_eq!(snapshot.number, step, "{told}");
            assert_same(&Seen::of(&place, &made, As::Itself), &seen, &told);
            taken.push((snapshot, seen, Seen::of(&place, &made, As::Fork)));
        }
        go_back(&place, &made, &taken, (&mut chance, told.clone()));
        fork_all(&place, &taken, &told);
    }
}

/// Returns to each of them, in any order.
fn go_back(
    place: &Place,
    made: &Workspace,
    taken: &[(Snapshot, Seen, Seen)],
    (chance, mut told): (&mut Chance, String),
) {
    let mut left: Vec<_> = taken.iter().collect();
    while !left.is_empty() {
        let next = chance.below(u32::try_from(left.len()).unwrap()) as usize;
        let (snapshot, seen, _) = left.swap_remove(next);
        told = format!("{told} back to {},", snapshot.number);
        if chance.percent(30) {
            let point = *chance.pick(&Point::OF_RETURNING);
            die(place, &format!("return {}", snapshot.number), point);
            told = format!("{told} killed at {},", point.as_str());
            has_died(place, made, snapshot);
        }
        return_to(place, made, snapshot);
        assert_same(&Seen::of(place, made, As::Itself), seen, &told);
    }
}

fn fork_all(place: &Place, taken: &[(Snapshot, Seen, Seen)], told: &str) {
    let ground = place.ground();
    for (snapshot, _, seen) in taken.iter().step_by(2) {
        let id = format!("fork-{}", snapshot.number);
        match ground.yard(&NoPoints).create_from(&place.wanted(&id), snapshot) {
            Ok(forked) => {
                let found = Seen::of(place, &forked.workspace, As::Fork);
                assert_same(&found, seen, &format!("{told} {id}"));
            }
            // There was nothing to begin from.
            Err(SnapshotError::NoBase { .. }) => assert!(told.contains("orphan"), "{told}"),
            Err(error) => panic!("{told} {id}: {error}"),
        }
    }
}
