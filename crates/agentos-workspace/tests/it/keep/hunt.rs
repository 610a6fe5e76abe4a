//! The hunt for lost work: workspaces in whatever state chance brings about are cleaned by force, git throws away what it
//! can, and they are restored. Every byte has to be there again, and git and jj have to say the same as before.

use agentos_testing::chance::Chance;
use agentos_workspace::workspace::Kind;

use super::deeds::{ANYWHERE, IN_GIT, IN_JJ, Scene};
use super::state::{Whole, assert_same, clean, look, restore, sweep, try_git};
use crate::place::Place;

/// How many things happen in one.
const DEEDS: u64 = 9;

pub(crate) fn nothing_is_lost_whatever_state_it_is_in(outer: &Place) {
    hunt(outer, if outer.kind == Kind::Jj { 2 } else { 12 });
}

/// The same with the big numbers, for the soak.
#[test]
fn nothing_is_lost_in_many() {
    if std::env::var_os("AGENTOS_SOAK").is_none() {
        return hunt(&Place::new(Kind::Worktree), 1);
    }
    let share = |whole: u64| whole * percent() / 100;
    let cases =
        [(Kind::Worktree, share(150)), (Kind::Clone, share(150)), (Kind::Jj, share(25).max(1))];
    std::thread::scope(|threads| {
        for (kind, cases) in cases {
            threads.spawn(move || hunt(&Place::new(kind), cases));
        }
    });
    #[expect(clippy::print_stdout, reason = "the soak keeps this line")]
    {
        let told = cases.map(|(kind, cases)| format!("{cases} of the kind {kind}")).join(", ");
        println!("summary: {told} in states of chance, cleaned by force and restored to the byte");
    }
}

/// How much of the big numbers is wanted, for whoever has less time.
fn percent() -> u64 {
    let said = std::env::var("AGENTOS_SOAK_PERCENT").ok();
    said.and_then(|text| text.parse().ok()).unwrap_or(100)
}

fn hunt(outer: &Place, cases: u64) {
    let library = outer.playground.repository("library");
    let here = if outer.kind == Kind::Jj { &IN_JJ[..] } else { &IN_GIT[..] };
    let deeds = [&ANYWHERE[..], here].concat();
    for seed in 1..=cases {
        // Some repositories keep their refs in tables.
        let place = match outer.kind != Kind::Jj && seed.is_multiple_of(4) {
            true => Place::with_tables(outer.kind),
            false => Place::new(outer.kind),
        };
        let mut chance = Chance::new(format!("hunt {seed}"));
        let (made, _) = place.open("fix-1");
        let mut told = format!("seed {seed}:");
        for number in 0..DEEDS {
            let (name, deed) = chance.pick(&deeds);
            deed(&Scene { place: &place, made: &made, number, library: &library });
            told = format!("{told} {name},");
        }
        // jj records whatever it sees whenever it is asked.
        look(&place, &made);
        let before = Whole::of(&place, &made);
        let cleaned = clean(&place, "fix-1", true).unwrap_or_else(|error| panic!("{told} {error}"));
        assert!(!made.path.exists(), "{told}");
        sweep(&place);
        try_git(&place, &place.repo, &["reflog", "expire", "--expire=now", "HEAD", "main"]);
        try_git(&place, &place.repo, &["gc", "--quiet", "--prune=now"]);
        assert!(cleaned.backup.is_some(), "{told}");
        assert_same(&Whole::of(&place, &restore(&place, "fix-1")), &before, &told);
    }
}
