//! Creating runs.

use agentos_core::entry::Entry;
use agentos_core::id::{Epoch, Seq};
use agentos_core::value::ValueError;
use serde_json::Value;

use super::fixture::Fixture;
use super::given::{
    Held, NOW, WORKING, commit_one, create, due, head, key, message, new_run, note, notes, run_id,
};
use crate::claim::{Claim, ClaimError, ClaimMode, ReleaseError};
use crate::commit::CommitError;
use crate::inbox::SendError;
use crate::log::{ReadError, load_whole_log};
use crate::run::{CreateError, Created, FirstEntryError, Head, NewRun};
use crate::store::Store;

pub(super) async fn a_new_run_holds_its_first_entry_and_is_free(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;

    let log = load_whole_log(&*store, run).await.expect("a new run can be read");
    assert_eq!(log.len(), 1, "a new run has one chunk");
    assert_eq!(log[0].first, Seq::FIRST);
    assert_eq!(log[0].at, NOW);
    assert_eq!(log[0].entries, [new_run(1).first]);
    let fresh = Head { head: Seq(1), epoch: Epoch(0), owner: None, standing: WORKING };
    assert_eq!(head(&*store, run).await, fresh);
}

pub(super) async fn a_run_is_created_for_who_drives_it(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let (owner, other) = (fixture.new_owner().await, fixture.new_owner().await);

    let created = store.create_run(NewRun { owner: Some(owner), ..new_run(1) }).await;
    let claim = Claim { epoch: Epoch(1), head: Seq(1), standing: WORKING };
    assert_eq!(created, Ok(Created::Claimed(claim)));
    assert_eq!(due(&*store, NOW).await, [], "its owner lives");
    let mut held = Held { run: run_id(1), epoch: claim.epoch, head: claim.head };
    held.note(&*store, "at once").await;
    let before = head(&*store, held.run).await;
    assert_eq!(before.owner, Some(owner));

    let again = store.create_run(NewRun { owner: Some(other), ..new_run(1) }).await;
    assert_eq!(again, Ok(Created::Existed));
    assert_eq!(head(&*store, held.run).await, before);
}

pub(super) async fn a_run_created_for_the_dead_is_free(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    fixture.kill_owner(owner).await;

    let created = store.create_run(NewRun { owner: Some(owner), ..new_run(1) }).await;
    assert_eq!(created, Ok(Created::New));
    let fresh = Head { head: Seq(1), epoch: Epoch(0), owner: None, standing: WORKING };
    assert_eq!(head(&*store, run_id(1)).await, fresh);
    assert_eq!(due(&*store, NOW).await, [run_id(1)]);
}

pub(super) async fn creating_a_run_again_changes_nothing(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let mut held = Held::create(&*store, 1, owner).await;
    held.note(&*store, "work").await;
    let before = head(&*store, held.run).await;

    let later = NewRun { at: agentos_core::time::Timestamp(NOW.0 + 1), ..new_run(1) };
    assert_eq!(store.create_run(later).await, Ok(Created::Existed));

    assert_eq!(head(&*store, held.run).await, before);
    assert_eq!(notes(&*store, held.run).await, ["work"]);
}

pub(super) async fn a_run_that_began_differently_is_a_conflict(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = create(&*store, 1).await;

    let mut other = new_run(1);
    if let Entry::RunStarted(started) = &mut other.first {
        started.input = Value::from("another input");
    }
    assert_eq!(store.create_run(other).await, Err(CreateError::Conflict { run }));

    let log = load_whole_log(&*store, run).await.expect("the first run is still there");
    assert_eq!(log[0].entries, [new_run(1).first], "the run that was there is untouched");
}

pub(super) async fn a_readable_id_belongs_to_one_run(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let named = |number| {
        let mut new = new_run(number);
        if let Entry::RunStarted(started) = &mut new.first {
            started.home.run_id = "conformance-aaaaaa".to_owned();
        }
        new
    };
    assert_eq!(store.create_run(named(1)).await, Ok(Created::New));

    let refused = store.create_run(named(2)).await;
    let name = "conformance-aaaaaa".to_owned();
    assert_eq!(refused, Err(CreateError::NameTaken { run: run_id(2), name }));
    assert_eq!(store.create_run(named(1)).await, Ok(Created::Existed));
    assert_eq!(
        store.create_run(new_run(2)).await,
        Ok(Created::New),
        "the refused one left nothing"
    );
}

pub(super) async fn a_log_begins_with_its_own_run_started(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let run = run_id(1);

    let refused = store.create_run(NewRun { first: note("no start"), ..new_run(1) }).await;
    let source = FirstEntryError::NotRunStarted { kind: "signal.arrived" };
    assert_eq!(refused, Err(CreateError::FirstEntry { run, source }));

    let refused = store.create_run(NewRun { first: new_run(2).first, ..new_run(1) }).await;
    let source = FirstEntryError::OtherRun { run: run_id(2) };
    assert_eq!(refused, Err(CreateError::FirstEntry { run, source }));

    assert_not_found(&*store).await;
}

pub(super) async fn an_input_over_a_bound_is_refused(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let mut large = new_run(1);
    if let Entry::RunStarted(started) = &mut large.first {
        started.input = Value::from("x".repeat(agentos_core::bounds::VALUE_BYTES));
    }

    let source = FirstEntryError::Input(ValueError::TooLarge);
    let refused = Err(CreateError::FirstEntry { run: run_id(1), source });
    assert_eq!(store.create_run(large).await, refused);
    assert_not_found(&*store).await;
}

pub(super) async fn an_unknown_run_is_not_found(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    let owner = fixture.new_owner().await;
    let held = Held::create(&*store, 2, owner).await;
    let run = run_id(1);

    assert_not_found(&*store).await;
    let claim = store.claim(run, owner, ClaimMode::TakeOver).await;
    assert_eq!(claim, Err(ClaimError::NotFound { run }));
    assert_eq!(store.release(run, Epoch(0)).await, Err(ReleaseError::NotFound { run }));
    let commit = Held { run, ..held }.turn(&["nowhere"]);
    assert_eq!(commit_one(&*store, commit).await, Err(CommitError::NotFound { run }));
    assert_eq!(store.send(run, message("m"), NOW).await, Err(SendError::NotFound { run }));
    let consuming = crate::commit::TurnCommit {
        consumed: vec![key("m")],
        ..Held { run, ..held }.turn(&["nowhere"])
    };
    assert_eq!(commit_one(&*store, consuming).await, Err(CommitError::NotFound { run }));
}

/// Run 1 does not exist for any verb that reads.
async fn assert_not_found(store: &dyn Store) {
    let run = run_id(1);
    let head = store.head(run).await.map(|_| ());
    let log = store.load_log(run, Seq::FIRST, 1).await.map(|_| ());
    let inbox = store.inbox(run, 1).await.map(|_| ());
    for answer in [head, log, inbox] {
        let not_found = matches!(answer, Err(ReadError::NotFound { run: named }) if named == run);
        assert!(not_found, "run 1 does not exist, but reading it answers {answer:?}");
    }
}
