//! One run and its descendants are driven, and nobody else in the same store.

use std::sync::Arc;

use agentos_core::entry::{Entry, RunStarted};
use agentos_core::id::{OwnerId, RunId};
use agentos_core::name::Name;
use agentos_core::time::Timestamp;
use agentos_engine::engine::Builder;
use agentos_engine::family::Family;
use agentos_store::due::Except;
use agentos_store::place::Place;
use agentos_store::run::{Created, NewRun};
use agentos_store::store::Store;
use agentos_testing::script::build::{invoke, seq, shell};
use uuid::Uuid;

use crate::support::{House, Life, MAIN, Scripts};

fn new_run(number: u128, owner: Option<OwnerId>) -> NewRun {
    let run = RunId(Uuid::from_u128(number));
    let start = RunStarted::new(run, Name::new(MAIN).expect("a name"));
    let (first, place) = (Entry::RunStarted(start), Place::default());
    NewRun { run, at: Timestamp(1), first, history: None, place, owner }
}

#[tokio::test]
async fn a_run_that_is_created_for_its_family_is_held_until_it_is_given_back() {
    let house = House::new(Scripts::of(shell("x")));
    let store = house.store();
    let owner = store.enlist(OwnerId(Uuid::from_u128(601))).expect("an owner");
    let new = new_run(1, Some(owner.id()));
    let run = new.run;
    let family = Family::new(Arc::new(store), owner.id(), [run]);
    let created = family.create_run(new).await.expect("it is created");
    let Created::Claimed(claim) = created else { panic!("{created:?}") };
    let due = family.due(Timestamp(2), &Except::new(), 10).await.expect("it can be asked");
    assert_eq!(due, [], "it has somebody");
    family.release(run, claim.epoch).await.expect("it is given back");
    let due = family.due(Timestamp(2), &Except::new(), 10).await.expect("it can be asked");
    assert_eq!(due.into_iter().map(|due| due.run).collect::<Vec<_>>(), [run]);
}

#[tokio::test]
async fn a_run_that_is_created_here_belongs_to_the_family_and_so_do_its_children() {
    let main = seq([shell("a"), invoke("child"), shell("b")]);
    let house = House::new(Scripts::of(main).with("child", shell("x")));
    let store = house.store();
    let stranger = new_run(2, None);
    let other = stranger.run;
    store.create_run(stranger).await.expect("it is created");
    let owner = store.enlist(OwnerId(Uuid::from_u128(601))).expect("an owner");
    let family = Arc::new(Family::new(Arc::new(store.clone()), owner.id(), []));
    let seen: Arc<dyn Store> = Arc::<Family>::clone(&family);
    let engine = Builder::new(seen, owner.id(), house.library())
        .performers(house.performers())
        .start()
        .expect("the engine starts");
    let life = Life { engine, store: store.clone(), owner };
    let run = life.start(1).await;
    life.ends(run).await;
    life.engine.leave().await;
    let members = family.members();
    assert!(members.contains(&run) && members.len() == 2, "{members:?}");
    assert_eq!(house.ledger().performed().len(), 3, "two of its own and one of its child");
    let head = store.head(other).await.expect("a head");
    assert!(!head.standing.is_ended() && head.owner.is_none(), "{head:?}");
}
