//! The registry: what is remembered, and that it never stands in anybody's way.

mod trust;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentos_core::time::Timestamp;
use agentos_store::registry::{DATABASES, KnownProject, Registry, RegistryError};
use tempfile::TempDir;
use uuid::Uuid;

const HOUR: i64 = 60 * 60 * 1_000;

fn registry() -> (TempDir, Registry) {
    let folder = tempfile::tempdir().unwrap();
    let registry = Registry::at(folder.path().join("state/agentos/registry.db"));
    (folder, registry)
}

fn project(number: u128, path: &str, used_at: i64) -> KnownProject {
    KnownProject {
        id: Uuid::from_u128(number),
        path: PathBuf::from(path),
        repository: Some("/code/project/.git".into()),
        worktree_id: "main".to_owned(),
        used_at: Timestamp(used_at),
    }
}

fn note(registry: &Registry, project: &KnownProject, database: &str) {
    registry.note_project(project, Some(Path::new(database))).unwrap();
}

#[test]
fn reading_makes_nothing() {
    let (folder, registry) = registry();
    assert_eq!(registry.projects().unwrap(), []);
    assert_eq!(registry.databases_of(Path::new("/code/project/.git")).unwrap(), [] as [PathBuf; 0]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_is_noted_is_found_again_and_only_its_user_sees_it() {
    let (_folder, registry) = registry();
    let main = project(1, "/code/project", 10 * HOUR);
    let tree =
        KnownProject { worktree_id: "a-tree".to_owned(), ..project(2, "/code/tree", 20 * HOUR) };
    let other = KnownProject { repository: None, ..project(3, "/plain", 15 * HOUR) };
    note(&registry, &main, "/code/project/.agentos/issue_workflow.db");
    note(&registry, &tree, "/code/tree/.agentos/issue_workflow.db");
    note(&registry, &tree, "/code/project/.agentos/issue_workflow.db");
    registry.note_project(&other, None).unwrap();
    assert_eq!(registry.projects().unwrap(), [tree, other, main]);
    let found = registry.databases_of(Path::new("/code/project/.git")).unwrap();
    let expected = ["/code/project", "/code/tree"]
        .map(|root| Path::new(root).join(".agentos/issue_workflow.db"));
    assert_eq!(found, expected, "each once");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(registry.path()), 0o600);
    assert_eq!(mode(registry.path().parent().unwrap()), 0o700);
}

#[test]
fn a_note_that_says_nothing_new_writes_nothing() {
    let (_folder, registry) = registry();
    note(&registry, &project(1, "/code/project", 10 * HOUR), "/x.db");
    let before = fs::read(registry.path()).unwrap();
    note(&registry, &project(1, "/code/project", 10 * HOUR + HOUR / 2), "/x.db");
    assert!(fs::read(registry.path()).unwrap() == before);
    note(&registry, &project(1, "/code/project", 12 * HOUR), "/x.db");
    assert_eq!(registry.projects().unwrap()[0].used_at, Timestamp(12 * HOUR));
}

#[test]
fn a_moved_checkout_moves_and_one_at_the_place_of_another_replaces_it() {
    let (_folder, registry) = registry();
    note(&registry, &project(1, "/before", 1), "/before/x.db");
    note(&registry, &project(1, "/after", 2), "/after/x.db");
    assert_eq!(registry.projects().unwrap(), [project(1, "/after", 2)]);
    note(&registry, &project(2, "/after", 3), "/after/y.db");
    assert_eq!(registry.projects().unwrap(), [project(2, "/after", 3)]);
    let found = registry.databases_of(Path::new("/code/project/.git")).unwrap();
    assert_eq!(found, [Path::new("/after/y.db")]);
}

#[test]
fn the_databases_of_a_checkout_are_limited_and_the_oldest_is_forgotten() {
    let (_folder, registry) = registry();
    for number in 0..i64::from(DATABASES) + 3 {
        note(&registry, &project(1, "/code/project", number), &format!("/{number:03}.db"));
    }
    let found = registry.databases_of(Path::new("/code/project/.git")).unwrap();
    assert_eq!((found.len() as u32, found[0].as_path()), (DATABASES, Path::new("/003.db")));
}

#[test]
fn many_who_note_at_once_are_all_noted() {
    let (_folder, registry) = registry();
    std::thread::scope(|scope| {
        for number in 1..=16 {
            let registry = &registry;
            scope.spawn(move || {
                note(registry, &project(number, &format!("/code/{number}"), 1), "/x.db");
            });
        }
    });
    assert_eq!(registry.projects().unwrap().len(), 16);
}

#[test]
fn what_is_not_a_registry_is_refused_by_name_and_not_changed() {
    let (_folder, registry) = registry();
    fs::create_dir_all(registry.path().parent().unwrap()).unwrap();
    let make = |sql: &str| {
        let _removed = fs::remove_file(registry.path());
        rusqlite::Connection::open(registry.path()).unwrap().execute_batch(sql).unwrap();
    };
    let refusals = |registry: &Registry| {
        let before = fs::read(registry.path()).unwrap();
        let written = registry.note_project(&project(1, "/x", 1), None).unwrap_err();
        let read = registry.projects().unwrap_err();
        assert!(fs::read(registry.path()).unwrap() == before, "not one byte");
        assert!(written.to_string().contains("registry.db"), "{written}");
        [written, read]
    };
    make("CREATE TABLE checkpoints (x)");
    assert!(refusals(&registry).iter().all(|error| matches!(error, RegistryError::Foreign { .. })));
    make(&format!(
        "PRAGMA application_id = {}; PRAGMA user_version = 9; CREATE TABLE t (x)",
        i32::from_be_bytes(*b"AgRe")
    ));
    assert!(
        refusals(&registry)
            .iter()
            .all(|error| matches!(error, RegistryError::Newer { version: 9, .. }))
    );
    fs::write(registry.path(), "some text that is longer than any header of a database would be, twice over and more than that, so").unwrap();
    assert!(refusals(&registry).iter().all(|error| matches!(error, RegistryError::Foreign { .. })));
}

#[test]
fn a_registry_that_is_locked_or_can_not_be_made_is_an_error_and_no_wait_without_end() {
    let (_folder, registry) = registry();
    note(&registry, &project(1, "/x", 1), "/x.db");
    let holder = rusqlite::Connection::open(registry.path()).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let refused = registry.note_project(&project(2, "/y", 1), None).unwrap_err();
    assert!(matches!(refused, RegistryError::Database { .. }), "{refused:?}");
    drop(holder);
    registry.note_project(&project(2, "/y", 1), None).unwrap();
    let nowhere = Registry::at("/proc/agentos/registry.db");
    assert_eq!(nowhere.projects().unwrap(), []);
    let refused = nowhere.note_project(&project(1, "/x", 1), None).unwrap_err();
    assert!(matches!(refused, RegistryError::Io { .. }), "{refused:?}");
}

#[test]
fn paths_are_kept_as_the_file_system_knows_them() {
    use std::os::unix::ffi::OsStrExt as _;
    let (_folder, registry) = registry();
    let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"/odd\xff\nname"));
    let known =
        KnownProject { path: odd.clone(), repository: Some(odd.clone()), ..project(1, "", 1) };
    registry.note_project(&known, Some(&odd)).unwrap();
    assert_eq!(registry.projects().unwrap(), [known]);
    assert_eq!(registry.databases_of(&odd).unwrap(), [odd]);
}
