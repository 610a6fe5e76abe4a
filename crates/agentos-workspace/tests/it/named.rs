//! `AGENTOS_WORKFLOW_DB`.

use agentos_testing::repo::Playground;
use agentos_workspace::named::{Database, NameError, parse};
use agentos_workspace::state::{StateLocation, Why};
use agentos_workspace::surroundings::Surroundings;

use crate::fixture::{database, own, standing_in, with};

const VARIABLE: &str = "AGENTOS_WORKFLOW_DB";

#[test]
fn a_named_database_comes_before_the_checkouts_own_and_its_folders_are_made() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let named = playground.at("a/b/custom.db");
    let location =
        StateLocation::find(&with(standing_in(&playground, &root), VARIABLE, &named)).unwrap();
    assert_eq!((database(&location), location.why), (named.clone(), Why::Named));
    assert!(!named.parent().unwrap().exists());
    let prepared = location.prepare().unwrap();
    assert!(named.parent().unwrap().is_dir());
    assert_eq!(prepared.project_path, root, "the project is still the checkout");
    assert!(!root.join(".agentos").exists());
}

#[test]
fn an_empty_name_is_no_name() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let location =
        StateLocation::find(&with(standing_in(&playground, &root), VARIABLE, "")).unwrap();
    assert_eq!(database(&location), own(&root));
}

#[test]
fn names_are_read_as_users_write_them() {
    let playground = Playground::new();
    let here = standing_in(&playground, &playground.path());
    let file = |name: &str| match parse(name.as_ref(), &here) {
        Ok(Database::File(path)) => path,
        other => panic!("{other:?}"),
    };
    assert_eq!(file("~/x.db"), playground.home().join("x.db"));
    assert_eq!(file("sub/x.db"), playground.at("sub/x.db"));
    assert_eq!(file("/tmp/~/x.db"), std::path::Path::new("/tmp/~/x.db"));
    assert_eq!(file("./odd://name"), playground.at("./odd://name"));
    for address in ["postgres://me:secret@host/db", "postgresql://me:secret@host/db"] {
        let database = parse(address.as_ref(), &here).unwrap();
        assert!(matches!(&database, Database::Shared(found) if found == address));
        assert!(!format!("{database} {database:?}").contains("secret"), "{database}");
    }
}

#[test]
fn names_that_can_not_be_used_say_why() {
    let playground = Playground::new();
    let here = standing_in(&playground, &playground.path());
    let refused = |name: &str, from: &Surroundings| parse(name.as_ref(), from).unwrap_err();
    assert!(
        matches!(refused("~other/x.db", &here), NameError::OtherHome { name } if name == "~other")
    );
    assert!(
        matches!(refused("mysql://host/db", &here), NameError::Scheme { scheme } if scheme == "mysql")
    );
    for folder in ["~", "/", "sub/", ".."] {
        assert!(matches!(refused(folder, &here), NameError::NoFile { .. }), "{folder}");
    }
    let nowhere = Surroundings { cwd: None, home: None, ..here };
    assert_eq!(refused("~/x.db", &nowhere), NameError::NoHome);
    assert_eq!(refused("x.db", &nowhere), NameError::NoCurrentFolder);
}

#[test]
fn a_named_database_needs_no_git() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let empty = playground.folder("empty");
    let surroundings = with(standing_in(&playground, &root), "PATH", &empty);
    let location =
        StateLocation::find(&with(surroundings, VARIABLE, playground.at("x.db"))).unwrap();
    let explained = location.explain().join("\n");
    assert!(explained.contains("the checkout is not known"), "{explained}");
    let error = location.prepare().unwrap_err().to_string();
    assert!(error.contains("`git` was not found"), "{error}");
    assert!(!playground.at("x.db").exists());
}

#[test]
fn the_registry_is_where_the_users_state_is() {
    let playground = Playground::new();
    let here = standing_in(&playground, &playground.path());
    let usual = playground.home().join(".local/state/agentos/registry.db");
    assert_eq!(here.registry_file(), Some(usual.clone()));
    let relative = with(here.clone(), "XDG_STATE_HOME", "relative");
    assert_eq!(relative.registry_file(), Some(usual));
    let named = with(here, "XDG_STATE_HOME", "/state");
    assert_eq!(named.registry_file(), Some("/state/agentos/registry.db".into()));
    let homeless = Surroundings { home: None, ..standing_in(&playground, &playground.path()) };
    assert_eq!(homeless.registry_file(), None);
}
