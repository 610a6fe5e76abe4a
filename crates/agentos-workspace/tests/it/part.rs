//! The other processes of these tests: this program again, making one workspace.

use std::process::{Child, Command, Stdio};

use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::points::{Point, Points};
use rustix::process::{Signal, getpid, kill_process};

use crate::place::{Ground, Place, wanted};

/// `playground\nfolder\nkind\nid`
const MAKE: &str = "AGENTOS_TEST_MAKE";

/// At which point the process dies.
const DIE_AT: &str = "AGENTOS_TEST_DIE_AT";

/// Kills its own process at one point.
pub(crate) struct KilledAt(pub(crate) Option<String>);

impl Points for KilledAt {
    fn pass(&self, point: Point) {
        if self.0.as_deref() == Some(point.as_str()) {
            kill_process(getpid(), Signal::KILL).expect("a process may kill itself");
        }
    }
}

#[test]
fn makes_a_workspace() {
    let Ok(given) = std::env::var(MAKE) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        return assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
    };
    let [playground, folder, kind, id]: [&str; 4] =
        given.lines().collect::<Vec<_>>().try_into().expect("four lines");
    let ground = Ground::new(playground.as_ref(), folder.as_ref());
    let kind: Kind = kind.parse().expect("a kind");
    let points = KilledAt(std::env::var(DIE_AT).ok());
    ground.open(&wanted(id, kind), &points).expect("a workspace");
}

/// Starts a process that makes a workspace, and dies at this point.
#[expect(clippy::disallowed_methods, reason = "these tests are about processes")]
pub(crate) fn make(place: &Place, id: &str, die_at: Option<Point>) -> Child {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(["part::makes_a_workspace", "--exact", "--nocapture"]);
    let playground = place.playground.path();
    let given = format!("{}\n{}\n{}\n{id}", playground.display(), place.repo.display(), place.kind);
    command.env(MAKE, given).stdout(Stdio::piped()).stderr(Stdio::null());
    if let Some(point) = die_at {
        command.env(DIE_AT, point.as_str());
    }
    command.spawn().expect("it starts")
}

/// How many are made at once: few in the tests, many in the soak. jj is built without optimisation for them.
pub(crate) fn crowd(kind: Kind) -> usize {
    match (std::env::var_os("AGENTOS_SOAK").is_some(), kind) {
        (true, _) => 150,
        (false, Kind::Jj) => 4,
        (false, _) => 12,
    }
}
