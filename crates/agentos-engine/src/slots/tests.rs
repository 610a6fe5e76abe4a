//! Who is let in, and that it holds for whoever else looks at the same folder.

use super::decide::{Found, let_in, why_not};
use super::*;

fn claim(key: &str, limit: u32, who: &str) -> Claim {
    Claim { key: key.into(), limit: Some(limit), what: format!("runs of {key}"), who: who.into() }
}

fn wish(name: &str, claims: Vec<Claim>) -> Wish {
    Wish { name: name.into(), place: name.into(), within: None, claims }
}

/// Tickets of those who came in this order.
fn queue(wishes: Vec<Wish>) -> Vec<Found> {
    let found = |(number, wish)| Found { name: format!("{number}"), is_in: false, wish };
    (1..).zip(wishes).map(found).collect()
}

fn inside(tickets: &[Found]) -> Vec<&str> {
    tickets.iter().filter(|found| found.is_in).map(|found| found.wish.name.as_str()).collect()
}

#[test]
fn who_came_first_is_first_and_the_others_wait() {
    let wishes = ["a", "b", "c"].map(|name| wish(name, vec![claim("x", 2, name)]));
    let mut tickets = queue(wishes.into());
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["a", "b"]);
    assert_eq!(why_not(&tickets, "1"), None);
    assert_eq!(why_not(&tickets, "3").as_deref(), Some("2 of 2 runs of x at work: a, b"));
    tickets.remove(0);
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["b", "c"]);
}

#[test]
fn all_slots_are_had_at_once_and_nobody_is_held_up_by_what_he_does_not_want() {
    let mut tickets = queue(vec![
        wish("a", vec![claim("x", 1, "a"), claim("all", 2, "a")]),
        wish("b", vec![claim("x", 1, "b"), claim("all", 2, "b")]),
        wish("c", vec![claim("y", 1, "c"), claim("all", 2, "c")]),
        wish("d", vec![claim("z", 1, "d"), claim("all", 2, "d")]),
    ]);
    let_in(&mut tickets);
    // `b` waits for `x` and has nothing of `all` meanwhile.
    assert_eq!(inside(&tickets), ["a", "c"]);
    let why = why_not(&tickets, "4");
    assert_eq!(why.as_deref(), Some("2 of 2 runs of all at work: a, c; 1 before it"));
    tickets.remove(0);
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["b", "c"], "who came before `d`");
}

#[test]
fn a_limit_is_what_the_one_who_wants_in_says() {
    let wishes = [("a", 3), ("b", 3), ("c", 1), ("d", 3)];
    let wishes = wishes.map(|(name, limit)| wish(name, vec![claim("x", limit, name)]));
    let mut tickets = queue(wishes.into());
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["a", "b", "d"]);
    tickets.retain(|found| !["a", "b"].contains(&found.wish.name.as_str()));
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["d"]);
}

/// Processes read a changed configuration one after the other: at each moment some know only the old limits.
#[test]
fn while_limits_change_neither_the_old_nor_the_new_ones_are_exceeded() {
    let of = |name: &str, x: Option<u32>, all: Option<u32>| {
        vec![
            Claim { limit: x, ..claim("x", 1, name) },
            Claim { limit: all, ..claim("all", 1, name) },
        ]
    };
    let old = |name: &str| of(name, Some(2), None);
    let new = |name: &str| of(name, None, Some(1));
    let names = ["a", "b", "c"];
    let mut tickets = queue(names.map(|name| wish(name, old(name))).into());
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["a", "b"]);
    // One who knows only the new limits comes before the others have read them.
    tickets.push(Found { name: "4".into(), is_in: false, wish: wish("d", new("d")) });
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["a", "b"]);
    for changed in 0..3 {
        tickets[changed].wish.claims = new(names[changed]);
        let_in(&mut tickets);
        assert_eq!(inside(&tickets), ["a", "b"], "{changed} has read them");
    }
    tickets.drain(..2);
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["c"]);
}

#[tokio::test]
async fn a_ticket_whose_limit_changes_keeps_its_place_and_is_let_in_if_there_is_room_now() {
    let folder = tempfile::tempdir().expect("a folder");
    let slots = Slots::new(&folder.path().join("slots"), NoQuotas);
    let ask = |name: &str| wish(name, vec![claim("x", 1, name)]);
    let mut tickets = Vec::new();
    for name in ["first", "second", "third"] {
        tickets.push(slots.enter(ask(name)).await.expect("it enters").0);
    }
    let inside = || tickets.iter().map(Ticket::is_in).collect::<Vec<bool>>();
    assert_eq!(inside(), [true, false, false]);
    slots.change_claims(&tickets[2], vec![claim("x", 2, "third")]).await.expect("it is changed");
    assert_eq!(inside(), [true, false, true], "the second still says that there is one");
    // Nothing is longer than before, and nothing is left of what was.
    slots.change_claims(&tickets[1], Vec::new()).await.expect("it is changed");
    assert_eq!(inside(), [true; 3]);
    let why = slots.why_not(&tickets[1]).await.expect("it is known");
    assert_eq!(why, None);
}

#[test]
fn a_run_counts_once_however_many_tickets_it_has() {
    let session =
        |name: &str, who: &str| wish(name, vec![claim("runs", 1, "run"), claim("agent", 1, who)]);
    let mut tickets = queue(vec![
        wish("run", vec![claim("runs", 1, "run")]),
        session("run", "one"),
        session("run", "two"),
        wish("other", vec![claim("runs", 1, "other")]),
    ]);
    let_in(&mut tickets);
    let is_in: Vec<bool> = tickets.iter().map(|found| found.is_in).collect();
    assert_eq!(is_in, [true, true, false, false]);
}

#[test]
fn what_a_run_has_what_it_starts_need_not_wait_for() {
    let inner = |name: &str, within: &str, keys: [&str; 2]| Wish {
        within: Some(within.to_owned()),
        ..wish(name, keys.map(|key| claim(key, 1, name)).into())
    };
    let mut tickets = queue(vec![
        wish("outer", vec![claim("all", 1, "outer"), claim("x", 1, "outer")]),
        inner("inner", "outer", ["all", "x"]),
        inner("innermost", "inner", ["all", "y"]),
        inner("stranger", "nobody", ["all", "z"]),
    ]);
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["outer", "inner", "innermost"]);
    // Without the one that started them they count as themselves, and nobody comes in besides.
    tickets.remove(0);
    let_in(&mut tickets);
    assert_eq!(inside(&tickets), ["inner", "innermost"]);
    let why = why_not(&tickets, "4").expect("it waits");
    assert_eq!(why, "1 of 1 runs of all at work: inner");
}

struct NoQuotas;

#[async_trait]
impl Quotas for NoQuotas {
    async fn of_run(&self, _: &RunStarted, _: Option<Concurrency>) -> Vec<Claim> {
        Vec::new()
    }

    fn of_session(&self, _: &Home, _: &Value, _: String) -> Option<Claim> {
        None
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_is_told_when_somebody_leaves_or_is_found_dead() {
    let folder = tempfile::tempdir().expect("a folder");
    // Two who know nothing of each other, as two processes would.
    let [here, there] = [(); 2].map(|()| Slots::new(&folder.path().join("slots"), NoQuotas));
    let ask = |name: &str| wish(name, vec![claim("x", 1, name)]);
    let (first, why) = here.enter(ask("first")).await.expect("it enters");
    assert_eq!((first.is_in(), why), (true, None));
    let mut changes = there.changes();
    let (second, why) = there.enter(ask("second")).await.expect("it enters");
    assert_eq!(why.as_deref(), Some("1 of 1 runs of x at work: first"));
    let (third, _) = there.enter(ask("third")).await.expect("it enters");
    drop(first);
    let mut until = async |ticket: &Ticket| {
        while !ticket.is_in() {
            changes.changed().await.expect("somebody tells");
        }
    };
    let timeout = agentos_testing::wait::TIMEOUT;
    tokio::time::timeout(timeout, until(&second)).await.expect("it is told");
    assert!(!third.is_in());
    let why = there.why_not(&third).await.expect("it is known");
    assert_eq!(why.as_deref(), Some("1 of 1 runs of x at work: second"));
    // What a process that was killed leaves is a file that nobody holds.
    let left = folder.path().join("slots/tickets/0000000000000000.slot");
    let text = serde_json::to_string(&ask("dead")).expect("it can be written");
    std::fs::write(&left, format!("h\n{text}")).expect("a file");
    drop(second);
    tokio::time::timeout(timeout, until(&third)).await.expect("it is told");
    // The look that let it in may have begun before the file was there. The next look finds it.
    assert_eq!(there.why_not(&third).await.expect("it is known"), None);
    assert!(!left.exists());
}
