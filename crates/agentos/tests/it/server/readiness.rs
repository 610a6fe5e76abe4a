//! Databases that are taken away, put somewhere else or replaced while the server has them open.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::http::Answer;
use super::stage::{Server, id};
use crate::support::{Stand, remove_folder, wait_until};

const DATABASE: &str = ".agentos/issue_workflow.db";

fn execute(server: &Server) -> Answer {
    server.post("/api/workflows/greet/execute", &json!({ "input": { "name": "Ada" } }))
}

fn until_ready(server: &Server) {
    wait_until("the server is ready", || server.get("/readyz").status == 200);
}

/// Puts another file in the place of a database with one rename: a server that finds no file for a moment puts its database
/// back.
pub(super) fn replace(stand: &Stand, database: &Path) {
    let other = stand.at("another-file");
    fs::write(&other, "something else").expect("a file");
    fs::rename(other, database).expect("it is put there");
}

/// Waits until the server says that it can't use this database, and why.
fn until_unready(server: &Server, database: &Path, why: &str) {
    let mut said = String::new();
    wait_until("the server says that it is not ready", || {
        let answer = server.get("/readyz");
        said = answer.json()["unreadable"].to_string();
        answer.status == 503
    });
    assert!(said.contains(database.to_str().expect("a path")) && said.contains(why), "{said}");
}

#[test]
fn a_database_that_was_replaced_makes_the_server_unready_until_it_is_back() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&execute(&server).is(201).json());
    server.until_status(&run, "COMPLETED");
    let database = root.join(DATABASE);
    replace(&stand, &database);
    until_unready(&server, &database, "was replaced by another file");
    let refused = execute(&server).is(503);
    assert_eq!(refused.header("content-type"), "application/problem+json");
    let detail = refused.json()["detail"].to_string();
    assert!(detail.contains("was replaced by another file"), "{detail}");
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 1, "what it has it shows");
    assert_eq!(fs::read_to_string(&database).expect("the file"), "something else");
    fs::remove_file(&database).expect("the file");
    until_ready(&server);
    // While it is being put back it is refused once more.
    let mut later = String::new();
    wait_until("a run is started", || {
        let answer = execute(&server);
        if answer.status == 201 {
            later = id(&answer.json());
        }
        !later.is_empty()
    });
    server.until_status(&later, "COMPLETED");
    assert_eq!(server.get("/api/executions").is(200).json()["total"], 2);
    server.stop();
}

#[test]
fn a_database_that_was_moved_is_used_again_when_it_is_moved_back() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let (home, elsewhere) = (root.join(".agentos"), stand.at("elsewhere"));
    fs::rename(&home, &elsewhere).expect("it is moved");
    until_unready(&server, &root.join(DATABASE), "was moved to");
    execute(&server).is(503);
    wait_until("it is moved back", || {
        fs::remove_dir_all(&home).ok();
        fs::rename(&elsewhere, &home).is_ok()
    });
    until_ready(&server);
    let run = id(&execute(&server).is(201).json());
    server.until_status(&run, "COMPLETED");
    server.stop();
}

#[test]
fn a_database_that_was_removed_is_put_back_before_anybody_asks() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let run = id(&execute(&server).is(201).json());
    server.until_status(&run, "COMPLETED");
    // git complains of a folder that is not empty if the server is as fast as git.
    let clean = stand.call_program(Path::new("git"), &root, &["clean", "-fdxq"]);
    clean.done();
    wait_until("it is there again", || root.join(DATABASE).exists());
    until_ready(&server);
    // Whoever kills the server now takes nothing away.
    server.kill();
    assert_eq!(stand.runs(&root)[0]["id"], run.as_str());
}

#[test]
fn a_worktree_that_lost_its_database_is_shown_without_it() {
    let (stand, root) = Stand::with_repository();
    let other = stand.at("other");
    stand.git(&root, &["worktree", "add", "-q", other.to_str().expect("a path")]);
    stand.run(&other, &["run", "greet", "--name", "Ada"]).exits(0);
    let server = Server::start(&stand, &root);
    let total = || server.get("/api/executions").is(200).json()["total"].as_u64();
    assert_eq!(total(), Some(1));
    remove_folder(&other.join(".agentos"));
    wait_until("its runs are gone", || total() == Some(0));
    until_ready(&server);
    assert!(!other.join(DATABASE).exists(), "nobody has put it back");
    stand.run(&other, &["run", "greet", "--name", "Ada"]).exits(0);
    wait_until("its new run is seen", || total() == Some(1));
    server.stop();
}
