//! Runs that belong together: a run with the one that invoked it and those that it has invoked.
//!
//! They are driven from one database. Wherever a run goes on without its child runs, it starts them again.

use std::collections::{HashMap, HashSet};

use agentos_core::id::RunId;
use agentos_store::transfer::Candidate;

/// The runs of one family, the oldest first.
#[derive(Debug, Clone)]
pub(crate) struct Family {
    pub(crate) members: Vec<Candidate>,
    /// The run that all of it goes along with; none for those that are meant themselves.
    pub(crate) along_with: HashMap<RunId, String>,
}

impl Family {
    /// Whether one of them has not ended.
    pub(crate) fn is_open(&self) -> bool {
        self.members.iter().any(|member| !member.is_ended)
    }

    /// The family as far as it is meant: all of it, unless all of it has ended.
    pub(crate) fn meant(self, meant: &HashSet<RunId>) -> Option<Self> {
        let first = self.members.iter().find(|member| meant.contains(&member.run))?.run_id.clone();
        let is_open = self.is_open();
        let is_meant = |member: &Candidate| meant.contains(&member.run);
        let mut members = self.members;
        members.retain(|member| is_open || is_meant(member));
        let others = members.iter().filter(|member| !is_meant(member));
        let along_with = others.map(|member| (member.run, first.clone())).collect();
        Some(Self { members, along_with })
    }
}

/// Puts runs together that belong together. Families come in the order of their oldest members.
pub(crate) fn families(all: Vec<Candidate>) -> Vec<Family> {
    let parents: HashMap<String, Option<String>> =
        all.iter().map(|run| (run.run.to_string(), run.parent.clone())).collect();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut found: Vec<Family> = Vec::new();
    for run in all {
        let place = *places.entry(root(&parents, run.run.to_string())).or_insert(found.len());
        if place == found.len() {
            found.push(Family { members: Vec::new(), along_with: HashMap::new() });
        }
        found[place].members.push(run);
    }
    found
}

/// The outermost run around this one that is known.
fn root(parents: &HashMap<String, Option<String>>, run: String) -> String {
    let mut root = run;
    // A row that is damaged may lead in a circle.
    for _ in 0..parents.len() {
        match parents.get(&root) {
            Some(Some(parent)) if parents.contains_key(parent) => root.clone_from(parent),
            _ => break,
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;
    use uuid::Uuid;

    fn run(number: u128, parent: Option<u128>, is_ended: bool) -> Candidate {
        let id = |number| RunId(Uuid::from_u128(number));
        Candidate {
            run: id(number),
            run_id: format!("run-{number}"),
            workflow: "w".to_owned(),
            is_ended,
            has_owner: false,
            is_driven: false,
            worktree_id: None,
            work_dir: None,
            workspace_id: None,
            parent: parent.map(|parent| id(parent).to_string()),
            completed_at: None,
            status: "RUNNING".to_owned(),
        }
    }

    fn names(family: &Family) -> Vec<&str> {
        family.members.iter().map(|member| member.run_id.as_str()).collect()
    }

    #[test]
    fn descendants_go_with_the_outermost_run_that_is_known() {
        let all = vec![
            run(1, None, false),
            run(2, None, true),
            run(3, Some(1), true),
            run(4, Some(3), false),
            run(5, Some(9), false),
            // In a circle, as only a damaged row can be.
            run(6, Some(7), false),
            run(7, Some(6), false),
        ];
        let found = families(all);
        let found: Vec<Vec<&str>> = found.iter().map(names).collect();
        assert_eq!(found[0], ["run-1", "run-3", "run-4"]);
        assert_eq!(found[1..3], [["run-2"], ["run-5"]]);
        assert_eq!(found[3..].concat().len(), 2);
    }

    #[test]
    fn a_family_is_meant_as_a_whole_unless_all_of_it_has_ended() {
        let one = HashSet::from([RunId(Uuid::from_u128(2))]);
        let family =
            |is_ended| families(vec![run(1, None, is_ended), run(2, Some(1), true)]).remove(0);
        let meant = family(false).meant(&one).expect("it is meant");
        assert_eq!(names(&meant), ["run-1", "run-2"]);
        assert_eq!(meant.along_with[&RunId(Uuid::from_u128(1))], "run-2");
        assert_eq!(meant.along_with.len(), 1);
        assert_eq!(names(&family(true).meant(&one).expect("it is meant")), ["run-2"]);
        assert!(family(false).meant(&HashSet::new()).is_none());
    }
}
