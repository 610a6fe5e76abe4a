//! What the server is trusted with: the projects that it shows, and the tokens that let others in.

use std::fs;
use std::path::PathBuf;

use agentos_core::time::Timestamp;
use agentos_store::registry::{
    AddTokenError, KnownToken, Registry, Scope, ServeError, ServedProject, TOKENS,
};
use uuid::Uuid;

use super::{HOUR, project, registry};

fn served(number: u128, path: &str, added_at: i64) -> ServedProject {
    ServedProject {
        id: Uuid::from_u128(number),
        path: PathBuf::from(path),
        added_at: Timestamp(added_at),
    }
}

fn token(id: &str, name: &str, scope: Scope) -> KnownToken {
    KnownToken {
        id: id.to_owned(),
        name: name.to_owned(),
        scope,
        created_at: Timestamp(HOUR),
        expires_at: None,
        used_at: None,
    }
}

fn ids(registry: &Registry) -> Vec<String> {
    registry.tokens().unwrap().into_iter().map(|token| token.id).collect()
}

#[test]
fn served_projects_are_listed_in_the_order_in_which_they_were_added() {
    let (_folder, registry) = registry();
    assert!(registry.serve_project(&served(2, "/b", 10)).unwrap());
    assert!(registry.serve_project(&served(1, "/a", 20)).unwrap());
    assert!(!registry.serve_project(&served(2, "/b", 30)).unwrap(), "it is served already");
    assert_eq!(registry.served_projects().unwrap(), [served(2, "/b", 10), served(1, "/a", 20)]);
    assert!(registry.unserve_project(Uuid::from_u128(2)).unwrap());
    assert!(!registry.unserve_project(Uuid::from_u128(2)).unwrap());
    assert_eq!(registry.served_projects().unwrap(), [served(1, "/a", 20)]);
}

#[test]
fn a_served_project_that_moved_is_served_where_it_is_and_replaces_what_was_there() {
    let (_folder, registry) = registry();
    registry.serve_project(&served(1, "/old", 1)).unwrap();
    registry.serve_project(&served(2, "/new", 2)).unwrap();
    assert!(!registry.serve_project(&served(1, "/new", 3)).unwrap());
    assert_eq!(registry.served_projects().unwrap(), [served(1, "/new", 1)]);
}

#[test]
fn what_is_served_does_not_depend_on_what_was_used() {
    let (_folder, registry) = registry();
    registry.serve_project(&served(1, "/x", 1)).unwrap();
    registry.note_project(&project(2, "/x", 5), None).unwrap();
    assert_eq!(registry.served_projects().unwrap(), [served(1, "/x", 1)]);
    registry.unserve_project(Uuid::from_u128(1)).unwrap();
    assert_eq!(registry.projects().unwrap().len(), 1);
}

#[test]
fn more_projects_than_can_be_watched_are_not_served() {
    let (_folder, registry) = registry();
    registry.serve_project(&served(0, "/0", 0)).unwrap();
    let fill = "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 999) \
        INSERT INTO served_projects SELECT 'x' || i, CAST('x' || i AS BLOB), i FROM n";
    rusqlite::Connection::open(registry.path()).unwrap().execute_batch(fill).unwrap();
    let refused = registry.serve_project(&served(1, "/1", 0)).unwrap_err();
    assert!(matches!(refused, ServeError::TooMany), "{refused:?}");
    assert!(!registry.serve_project(&served(0, "/0", 0)).unwrap(), "one of them still is");
}

#[test]
fn a_token_is_found_by_its_id_until_it_is_revoked_by_id_or_name() {
    let (_folder, registry) = registry();
    assert_eq!(registry.token("aa").unwrap(), None);
    assert_eq!(registry.revoke_token("aa").unwrap(), None);
    assert!(!registry.path().exists(), "there is nothing to be written yet");
    let (ci, laptop) = (token("aa", "ci", Scope::Run), token("bb", "laptop", Scope::Read));
    registry.add_token(&ci, &[1; 32]).unwrap();
    registry.add_token(&laptop, &[2; 32]).unwrap();
    assert_eq!(registry.token("aa").unwrap(), Some((ci.clone(), [1; 32])));
    assert_eq!(registry.token("ci").unwrap(), None, "a name opens nothing");
    assert_eq!(registry.revoke_token("ci").unwrap(), Some(ci));
    assert_eq!(registry.token("aa").unwrap(), None);
    assert_eq!(registry.revoke_token("bb").unwrap(), Some(laptop));
    assert_eq!(ids(&registry), [] as [&str; 0]);
}

#[test]
fn a_name_that_looks_like_the_id_of_another_token_does_not_revoke_the_wrong_one() {
    let (_folder, registry) = registry();
    registry.add_token(&token("aa", "bb", Scope::Run), &[1; 32]).unwrap();
    registry.add_token(&token("bb", "x", Scope::Run), &[2; 32]).unwrap();
    assert_eq!(registry.revoke_token("bb").unwrap().unwrap().id, "bb");
    assert_eq!(registry.revoke_token("bb").unwrap().unwrap().id, "aa");
}

#[test]
fn two_tokens_have_two_names_and_expired_ones_give_theirs_back() {
    let (_folder, registry) = registry();
    let old =
        KnownToken { expires_at: Some(Timestamp(2 * HOUR)), ..token("aa", "ci", Scope::Admin) };
    registry.add_token(&old, &[1; 32]).unwrap();
    let refused = registry.add_token(&token("bb", "ci", Scope::Read), &[2; 32]).unwrap_err();
    assert!(matches!(&refused, AddTokenError::Taken { name } if name == "ci"), "{refused:?}");
    assert!(old.is_expired(Timestamp(2 * HOUR)) && !old.is_expired(Timestamp(2 * HOUR - 1)));
    let later = KnownToken { created_at: Timestamp(3 * HOUR), ..token("bb", "ci", Scope::Read) };
    registry.add_token(&later, &[2; 32]).unwrap();
    assert_eq!(registry.tokens().unwrap(), [later]);
}

#[test]
fn tokens_are_limited() {
    let (_folder, registry) = registry();
    registry.add_token(&token("aa", "first", Scope::Read), &[1; 32]).unwrap();
    let fill = format!(
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < {}) \
         INSERT INTO tokens SELECT 'x' || i, 'x' || i, 'read', zeroblob(32), 0, NULL, NULL FROM n",
        TOKENS - 1
    );
    rusqlite::Connection::open(registry.path()).unwrap().execute_batch(&fill).unwrap();
    let refused = registry.add_token(&token("bb", "more", Scope::Read), &[1; 32]).unwrap_err();
    assert!(matches!(refused, AddTokenError::TooMany), "{refused:?}");
}

#[test]
fn that_a_token_was_used_is_noted_once_an_hour() {
    let (_folder, registry) = registry();
    registry.add_token(&token("aa", "ci", Scope::Read), &[1; 32]).unwrap();
    let note = |now: i64| {
        let (known, _) = registry.token("aa").unwrap().unwrap();
        registry.note_token_used(&known, Timestamp(now)).unwrap();
        registry.token("aa").unwrap().unwrap().0.used_at
    };
    assert_eq!(note(5 * HOUR), Some(Timestamp(5 * HOUR)));
    let before = fs::read(registry.path()).unwrap();
    assert_eq!(note(5 * HOUR + 1), Some(Timestamp(5 * HOUR)));
    assert!(fs::read(registry.path()).unwrap() == before);
    assert_eq!(note(7 * HOUR), Some(Timestamp(7 * HOUR)));
}

#[test]
fn a_registry_of_the_first_version_is_read_as_it_is_and_grows_when_it_is_written() {
    let (_folder, registry) = registry();
    let known = project(1, "/code/project", HOUR);
    registry.note_project(&known, None).unwrap();
    rusqlite::Connection::open(registry.path())
        .unwrap()
        .execute_batch(
            "DROP TABLE tokens; DROP TABLE served_projects; PRAGMA user_version = 1; VACUUM",
        )
        .unwrap();
    let before = fs::read(registry.path()).unwrap();
    assert_eq!(registry.projects().unwrap(), std::slice::from_ref(&known));
    assert_eq!(ids(&registry), [] as [&str; 0]);
    assert_eq!(registry.served_projects().unwrap(), []);
    assert!(fs::read(registry.path()).unwrap() == before, "reading changes nothing");
    registry.add_token(&token("aa", "ci", Scope::Read), &[1; 32]).unwrap();
    assert_eq!(registry.projects().unwrap(), [known]);
    assert_eq!(ids(&registry), ["aa"]);
}
