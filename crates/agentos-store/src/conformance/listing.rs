//! Listing runs.

use agentos_core::id::RunId;
use agentos_core::standing::{EndStatus, Standing};

use super::fixture::Fixture;
use super::given::{COMPLETED, Held, NOW, PARKED, create, head, run_id};
use crate::list::{ListError, ListedRun, RunCursor, RunFilter, RunPage, StandingFilter};
use crate::store::Store;

pub(super) async fn a_listing_shows_every_run_once_latest_first(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    // Their ids are in another order than their creation.
    for number in [3, 5, 1, 4, 2] {
        create(&*store, number).await;
    }
    for limit in [1, 2, 5, 100] {
        let all = list_all(&*store, RunFilter::default(), limit).await;
        assert_eq!(all, [2, 4, 1, 5, 3].map(run_id), "in pages of {limit}");
    }
    let page = page(&*store, None, 1).await;
    let listed =
        ListedRun { run: run_id(2), created_at: NOW, head: head(&*store, run_id(2)).await };
    assert_eq!(page.runs, [listed]);
}

pub(super) async fn runs_created_meanwhile_do_not_shift_a_listing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    for number in 1..=4 {
        create(&*store, number).await;
    }
    let first = page(&*store, None, 2).await;
    create(&*store, 5).await;
    let second = page(&*store, first.next, 2).await;
    assert_eq!(ids(&second), [2, 1].map(run_id));
    assert_eq!(second.next, None, "the last page says so");
}

pub(super) async fn a_filter_shows_only_what_stands_so(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    create(&*store, 1).await;
    let failed = Standing::Ended { status: EndStatus::Failed };
    for (number, standing) in [(2, PARKED), (3, COMPLETED), (4, failed), (5, PARKED)] {
        Held::create(&*store, number, owner).await.leave(&*store, standing).await;
    }
    let expected: [(StandingFilter, &[u128]); 6] = [
        (StandingFilter::Any, &[5, 4, 3, 2, 1]),
        (StandingFilter::Working, &[1]),
        (StandingFilter::Parked, &[5, 2]),
        (StandingFilter::Ended, &[4, 3]),
        (StandingFilter::EndedAs(EndStatus::Failed), &[4]),
        (StandingFilter::EndedAs(EndStatus::Cancelled), &[]),
    ];
    for (standing, numbers) in expected {
        let expected: Vec<RunId> = numbers.iter().copied().map(run_id).collect();
        for limit in [1, 100] {
            let shown = list_all(&*store, RunFilter { standing }, limit).await;
            assert_eq!(shown, expected, "{standing:?} in pages of {limit}");
        }
    }
}

pub(super) async fn a_foreign_listing_cursor_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    create(&*store, 1).await;
    let cursor = RunCursor("no cursor of any store".to_owned());
    let refused = store.list_runs(RunFilter::default(), Some(cursor.clone()), 1).await;
    assert_eq!(refused, Err(ListError::Cursor { cursor }));
}

async fn page(store: &dyn Store, after: Option<RunCursor>, limit: usize) -> RunPage {
    store.list_runs(RunFilter::default(), after, limit).await.expect("runs can be listed")
}

fn ids(page: &RunPage) -> Vec<RunId> {
    page.runs.iter().map(|listed| listed.run).collect()
}

/// All pages of a listing; no page may hold more than was asked for.
async fn list_all(store: &dyn Store, filter: RunFilter, limit: usize) -> Vec<RunId> {
    let mut all = Vec::new();
    let mut after = None;
    for _page in 0..100 {
        let page = store.list_runs(filter, after, limit).await.expect("runs can be listed");
        assert!(page.runs.len() <= limit, "a page of {limit} holds no more");
        all.extend(ids(&page));
        match page.next {
            Some(next) => after = Some(next),
            None => return all,
        }
    }
    panic!("a listing of few runs goes on for ever")
}
