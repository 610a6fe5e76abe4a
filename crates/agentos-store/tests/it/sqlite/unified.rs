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
