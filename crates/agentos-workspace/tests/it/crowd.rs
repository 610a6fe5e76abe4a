//! Many workspaces at once, each made by a process of its own: in one repository, and each in another one.

use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::trash;
use agentos_workspace::workspace::yard::Opened;

use crate::keep::kills;
use crate::part;
use crate::place::Place;

#[test]
fn workspaces_made_at_once_all_come_to_be_and_leave_nothing_else() {
    let mut told = Vec::new();
    for kind in Kind::ALL {
        let count = part::crowd(kind);
        in_one_repository(kind, count);
        each_in_another(kind, count);
        told.push(format!("{count} of the kind {kind}"));
    }
    #[expect(clippy::print_stdout, reason = "the soak keeps this line")]
    {
        println!(
            "summary: {} made at once in one repository and as many across repositories: 0 failures, 0 branches or folders \
             too many; then all removed at once, nothing left of them",
            told.join(", ")
        );
    }
}

fn in_one_repository(kind: Kind, count: usize) {
    let place = Place::new(kind);
    let ids: Vec<String> = (0..count).map(|number| format!("fix-{number}")).collect();
    let makers: Vec<_> = ids.iter().map(|id| part::make(&place, id, None)).collect();
    for maker in makers {
        let output = maker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    for id in &ids {
        assert_eq!(place.open(id).1, Opened::Found);
    }
    let traces = place.traces();
    let with = |word: &str| traces.iter().filter(|trace| trace.contains(word)).count();
    assert_eq!((with("row "), with("folder ")), (count, count));
    // The branch of a clone is its own until there is work on it.
    let branches = if kind == Kind::Clone { 0 } else { count };
    assert_eq!(with("refs/heads/agentos/"), branches);
    clean_all(&place, &ids);
}

/// All of them go at once, each by a process of its own, and nothing is left of them.
fn clean_all(place: &Place, ids: &[String]) {
    let cleaners: Vec<_> =
        ids.iter().map(|id| kills::start(place, id, "clean", "nowhere")).collect();
    for cleaner in cleaners {
        let output = cleaner.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    trash::sweep(&place.ground().root).unwrap();
    let traces = place.traces();
    let left = |trace: &&String| trace.contains("fix-") && !trace.ends_with(" gone");
    assert_eq!(traces.iter().filter(left).count(), 0, "{traces:?}");
}

fn each_in_another(kind: Kind, count: usize) {
    let places: Vec<Place> = (0..count).map(|_| Place::new(kind)).collect();
    let makers: Vec<_> = places.iter().map(|place| part::make(place, "fix", None)).collect();
    for (maker, place) in makers.into_iter().zip(&places) {
        let output = maker.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        assert_eq!(place.open("fix").1, Opened::Found);
    }
}
