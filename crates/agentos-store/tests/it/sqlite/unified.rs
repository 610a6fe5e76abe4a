//! Several databases as one: what is copied is shown once, also when copies come and go while somebody looks.

use agentos_store::conformance::block_on;
use agentos_store::records::{Records as _, RunQuery};
use agentos_store::unified::{UnifiedView, Worktrees};

use super::fixture::open;
use super::given::{Held, note};

/// The runs that are shown, with how many entries each has.
fn shown(view: &UnifiedView) -> Vec<(u128, u64)> {
    let query = RunQuery { with_total: true, ..RunQuery::default() };
    let listing = block_on(view.query_runs(query)).expect("the listing is read");
    assert_eq!(listing.total, Some(listing.runs.len() as u64), "{listing:?}");
    assert_eq!(listing.unreadable, []);
    let mut shown: Vec<(u128, u64)> =
        listing.runs.iter().map(|found| (found.run.id.0.as_u128(), found.run.seq)).collect();
    shown.sort_unstable();
    shown
}

#[test]
pub(super) fn a_copy_that_comes_or_goes_while_somebody_looks_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("one.db"), folder.path().join("other.db")];
    let [one, other] = [open(&paths[0]), open(&paths[1])];
    let view = UnifiedView::open(&paths, Worktrees::default());
    let first = Held::create(&one, 1);
    let id = |held: &Held| held.run.0.as_u128();
    assert_eq!(shown(&view), [(id(&first), 1)]);
    let second = Held::create(&other, 2);
    assert_eq!(shown(&view), [(id(&first), 1), (id(&second), 1)]);
    // A copy that goes on is the run.
    let mut copy = Held::create(&other, 1);
    assert_eq!(shown(&view), [(id(&first), 1), (id(&second), 1)]);
    copy.commit(2_000, vec![note("on")]);
    assert_eq!(shown(&view), [(id(&first), 2), (id(&second), 1)]);
    copy.end(3_000);
    // Without the copy the original counts again, also if another run has come in its place.
    block_on(other.delete_run(first.run)).unwrap();
    let third = Held::create(&other, 3);
    assert_eq!(shown(&view), [(id(&first), 1), (id(&second), 1), (id(&third), 1)]);
}

#[test]
fn a_view_is_outdated_once_a_file_that_it_could_not_open_is_a_database() {
    let folder = tempfile::tempdir().unwrap();
    let paths = ["missing.db", "empty.db", "other.db"].map(|name| folder.path().join(name));
    let [_, empty, other] = &paths;
    std::fs::write(empty, "").unwrap();
    std::fs::write(other, "no database, but something that is long enough to be read as one")
        .unwrap();
    let view = UnifiedView::open(&paths, Worktrees::default());
    let named: Vec<_> = view.unreadable().iter().map(|found| &found.path).collect();
    assert_eq!((view.sources().len(), named), (0, vec![other]));
    assert!(!view.is_outdated());
    drop(open(empty));
    assert!(view.is_outdated());
    let view = UnifiedView::open(&paths, Worktrees::default());
    assert_eq!(view.sources().len(), 1);
    assert!(!view.is_outdated());
    // What is wrong with a file can change as well.
    std::fs::write(other, "").unwrap();
    assert!(view.is_outdated());
}
