//! An `.envrc` that reads other files: what somebody has changed in them in a workspace is not executed without being asked.

use std::fs;

use agentos_workspace::workspace::direnv::{self, DirenvError};
use agentos_workspace::workspace::{Kind, Workspace};

use crate::keep::state::write;
use crate::place::{Ground, Place};

fn opened(envrc: &str) -> (Place, Ground, Workspace) {
    let place = Place::new(Kind::Worktree);
    write(&place.repo, ".envrc", envrc);
    write(&place.repo, "lib.envrc", "export FROM_LIB=first\n");
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "envrc"]);
    place.playground.run("direnv", &place.repo, ["allow"]);
    let (made, _) = place.open("fix-1");
    let ground = place.ground();
    (place, ground, made)
}

fn read(ground: &Ground, made: &Workspace) -> Result<Option<String>, DirenvError> {
    let set = direnv::environment(&ground.surroundings, made)?;
    Ok(set.get("FROM_LIB").cloned())
}

#[test]
fn a_file_that_an_envrc_reads_is_asked_about_once_it_is_changed() {
    let (_place, ground, made) = opened("source_env ./lib.envrc\ndotenv_if_exists\n");
    assert_eq!(read(&ground, &made).unwrap().as_deref(), Some("first"));
    let mark = made.path.join("executed");
    let changed = format!("export FROM_LIB=changed\ntouch {}\n", mark.display());
    write(&made.path, "lib.envrc", changed);
    let Err(DirenvError::Blocked { why, hash, .. }) = read(&ground, &made) else {
        panic!("it should be asked about")
    };
    assert!(why.contains("a file that it reads"), "{why}");
    assert!(!mark.exists());
    assert!(direnv::allow_approved(&ground.surroundings, &made, &hash).unwrap());
    assert_eq!(read(&ground, &made).unwrap().as_deref(), Some("changed"));
    // What was approved is what it said then.
    write(&made.path, "lib.envrc", "export FROM_LIB=again\n");
    assert!(!direnv::allow_approved(&ground.surroundings, &made, &hash).unwrap());
    read(&ground, &made).unwrap_err();
    write(&made.path, "lib.envrc", "export FROM_LIB=first\n");
    assert_eq!(read(&ground, &made).unwrap().as_deref(), Some("first"));
    write(&made.path, ".env", "FROM_LIB=mine\n");
    read(&ground, &made).unwrap_err();
    fs::write(made.repo_root.join(".env"), "FROM_LIB=mine\n").unwrap();
    assert_eq!(read(&ground, &made).unwrap().as_deref(), Some("mine"), "as in the checkout");
}

#[test]
fn an_envrc_that_does_not_name_what_it_reads_is_asked_about() {
    let (_place, ground, made) = opened("source_env \"$PWD/lib.envrc\"\n");
    let Err(DirenvError::Blocked { why, .. }) = read(&ground, &made) else {
        panic!("it should be asked about")
    };
    assert!(why.contains("does not plainly name"), "{why}");
    direnv::allow(&ground.surroundings, &made).unwrap();
    assert_eq!(read(&ground, &made).unwrap().as_deref(), Some("first"));
}
