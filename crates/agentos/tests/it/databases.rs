//! Databases that are linked, unlinked, copied from, looked through and tidied, by the real binary.

mod backup;
mod check;
mod elsewhere;
mod families;
mod linked;
mod load;
mod migrate;
mod prune;
mod races;

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Done, Stand};

const DATABASE: &str = ".agentos/issue_workflow.db";

/// A repository with one more worktree.
pub(super) struct Pair {
    stand: Stand,
    main: PathBuf,
    side: PathBuf,
}

impl Pair {
    fn new() -> Self {
        let (stand, main) = Stand::with_repository();
        stand.git(&main, &["worktree", "add", "-q", "-b", "side", "../side"]);
        let side = stand.at("side");
        Self { stand, main, side }
    }

    fn run(&self, folder: &Path, arguments: &[&str]) -> Done {
        self.stand.run(folder, arguments)
    }

    fn greet(&self, folder: &Path, name: &str) -> Value {
        let done = self.run(folder, &["run", "greet", "--json", "--name", name]).exits(0);
        done.document()
    }

    /// The names that were greeted in the database that the folder uses, in the order of the alphabet.
    fn greeted(&self, folder: &Path) -> Vec<String> {
        let runs = own_runs(&self.stand, folder);
        let mut names: Vec<String> = runs
            .iter()
            .map(|run| {
                let shown = self.stand.show(folder, run["id"].as_str().expect("an id"));
                shown["input"]["name"].as_str().expect("a name").to_owned()
            })
            .collect();
        names.sort();
        names
    }
}

/// How often something is tried: in the soak more often.
pub(super) fn numbers(usually: usize, in_the_soak: usize) -> usize {
    if std::env::var_os("AGENTOS_SOAK").is_some() { in_the_soak } else { usually }
}

/// The runs of the one database that this folder uses.
pub(super) fn own_runs(stand: &Stand, folder: &Path) -> Vec<Value> {
    let path = stand.run(folder, &["db", "path"]).exits(0).out.trim_end().to_owned();
    let listing = stand
        .call(folder, &["status", "--json", "--limit", "1000"])
        .env("AGENTOS_WORKFLOW_DB", path)
        .done()
        .exits(0);
    listing.document()["items"].as_array().expect("a list").clone()
}
