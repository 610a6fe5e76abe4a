//! Workspaces that AgentOS made, and linked checkouts: they join a history and begin none.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::repo::Playground;
use agentos_workspace::link::Link;
use agentos_workspace::named::Database;
use agentos_workspace::state::{LocateError, PrepareError, StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;

use crate::fixture::{checkout, database, locate, own, refusal, standing_in, with};

const VARIABLE: &str = "AGENT_WORKSPACE_METADATA";

struct Made {
    playground: Playground,
    main: PathBuf,
    workspace: PathBuf,
}

impl Made {
    /// A checkout with a database, and a workspace of it.
    fn new() -> Self {
        let playground = Playground::new();
        let main = playground.repository("project");
        locate(&playground, &main).prepare().unwrap();
        fs::write(own(&main), "the history").unwrap();
        playground.git(&main, ["worktree", "add", "--quiet", "../workspace"]);
        let workspace = playground.at("workspace");
        let made = Self { playground, main, workspace };
        made.say(&own(&made.main).display().to_string());
        made
    }

    fn metadata(&self) -> PathBuf {
        self.workspace.join(".agent-workflow.json")
    }

    fn say(&self, database: &str) {
        let text = format!(
            "{{\"workspace_id\": \"fix-abcdef\", \"status\": \"running\", \"database\": \"{database}\"}}"
        );
        fs::write(self.metadata(), text).unwrap();
    }

    fn inside(&self, folder: &Path) -> Surroundings {
        with(standing_in(&self.playground, folder), VARIABLE, self.metadata())
    }
}

#[test]
fn a_nested_command_joins_the_history_of_the_workspaces_maker() {
    let made = Made::new();
    let deep = made.playground.folder("workspace/src");
    for folder in [&made.workspace, &deep] {
        let location = StateLocation::find(&made.inside(folder)).unwrap();
        assert_eq!((database(&location), location.why), (own(&made.main), Why::Workspace));
        let prepared = location.prepare().unwrap();
        assert_eq!(prepared.identity.worktree, "fix-abcdef", "the workspace's own id");
        assert_eq!(prepared.project_path, made.workspace);
    }
    assert!(!made.workspace.join(".agentos").exists(), "no second history was begun");
}

#[test]
fn outside_of_its_workspace_the_variable_means_nothing() {
    let made = Made::new();
    let other = made.playground.repository("other");
    let location = StateLocation::find(&made.inside(&other)).unwrap();
    assert_eq!(database(&location), own(&other));
    assert!(location.explain().join("\n").contains("not inside that workspace"));
    let none = with(standing_in(&made.playground, &other), VARIABLE, "");
    assert_eq!(database(&StateLocation::find(&none).unwrap()), own(&other));
}

#[test]
fn a_named_database_comes_first_and_the_workspace_is_still_who_it_is() {
    let made = Made::new();
    let named = made.playground.at("named.db");
    let surroundings = with(made.inside(&made.workspace), "AGENTOS_WORKFLOW_DB", &named);
    let location = StateLocation::find(&surroundings).unwrap();
    assert_eq!((database(&location), location.why), (named, Why::Named));
    assert_eq!(location.workspace_id.as_deref(), Some("fix-abcdef"));
}

#[test]
fn metadata_that_is_gone_or_broken_begins_no_second_history() {
    let made = Made::new();
    fs::remove_file(made.metadata()).unwrap();
    let error = refusal(&made.inside(&made.workspace));
    assert!(matches!(error, LocateError::NoMetadata { .. }), "{error:?}");
    fs::write(made.metadata(), "{").unwrap();
    let error = refusal(&made.inside(&made.workspace));
    assert!(matches!(error, LocateError::Link(_)), "{error:?}");
    made.say("relative.db");
    let error = refusal(&made.inside(&made.workspace));
    assert!(matches!(error, LocateError::RelativeLink { .. }), "{error:?}");
    made.say("postgres://host/db");
    let location = StateLocation::find(&made.inside(&made.workspace)).unwrap();
    assert!(matches!(location.database, Database::Shared(_)));
}

#[test]
fn a_history_that_is_gone_is_not_begun_again_from_a_workspace() {
    let made = Made::new();
    fs::remove_dir_all(made.main.join(".agentos")).unwrap();
    let location = StateLocation::find(&made.inside(&made.workspace)).unwrap();
    let error = location.prepare().unwrap_err();
    assert!(matches!(error, PrepareError::HistoryGone { .. }), "{error:?}");
    assert!(!made.main.join(".agentos").exists());
}

#[test]
fn a_linked_checkout_stays_linked_when_everything_ignored_is_cleaned_away() {
    let made = Made::new();
    let linked = checkout(&made.playground, &made.workspace);
    let link = Link {
        database: own(&made.main).display().to_string(),
        workspace_id: Some("fix-abcdef".to_owned()),
        repo_root: None,
    };
    link.write(&linked).unwrap();
    made.playground.git(&made.workspace, ["clean", "-fdxq"]);
    assert!(!made.metadata().exists());
    for surroundings in
        [made.inside(&made.workspace), standing_in(&made.playground, &made.workspace)]
    {
        let location = StateLocation::find(&surroundings).unwrap();
        assert_eq!((database(&location), location.why), (own(&made.main), Why::Linked));
        assert_eq!(location.prepare().unwrap().identity.worktree, "fix-abcdef");
    }
    Link::remove(&linked).unwrap();
    Link::remove(&linked).unwrap();
    let location = locate(&made.playground, &made.workspace);
    assert_eq!((database(&location), location.why), (own(&made.workspace), Why::Checkout));
}

#[test]
fn a_link_may_lead_to_the_global_database_because_somebody_has_named_it() {
    let made = Made::new();
    let global = own(&made.playground.home());
    fs::create_dir(global.parent().unwrap()).unwrap();
    fs::write(&global, "x").unwrap();
    let link = Link { database: global.display().to_string(), workspace_id: None, repo_root: None };
    link.write(&checkout(&made.playground, &made.workspace)).unwrap();
    assert_eq!(database(&locate(&made.playground, &made.workspace)), global);
}
