//! A project whose database is damaged, or can't be used for a while: it is named, and the others are served.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::readiness::replace;
use super::stage::{Server, id, template};
use crate::support::{Stand, sqlite, wait_until};

const DATABASE: &str = ".agentos/issue_workflow.db";

const NOTHING: &str = "0190b6a4-0000-7000-8000-000000000000";

const PLAIN: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "plain", workspace: "none" }, async (ctx) => "hello");"#;

#[track_caller]
pub(super) fn names(document: &Value, database: &Path) {
    let told = document.to_string();
    assert!(told.contains(database.to_str().expect("a path")), "{told}");
}

/// What is answered while the database of the second project is damaged: all there is about the first.
fn the_first_is_served(server: &Server, database: &Path) {
    names(&server.get("/readyz").is(503).json()["unreadable"], database);
    let projects = server.get("/api/projects").is(200).json();
    let projects = projects["items"].as_array().expect("a list").clone();
    let of = |is_damaged: bool| {
        let found = projects
            .iter()
            .find(|one| (one["database"] == *database.to_string_lossy()) == is_damaged);
        found.unwrap_or_else(|| panic!("{projects:?}"))
    };
    let (first, second) = (id(of(false)), id(of(true)));
    let workflows = server.get("/api/workflows").is(200).json();
    names(&workflows["unreadable"], database);
    let all = workflows["items"].as_array().expect("a list");
    assert!(all.iter().any(|one| one["name"] == "plain" && one["project_id"] == first.as_str()));
    let greet = all.iter().find(|one| one["name"] == "greet").expect("a workflow");
    server.get(&format!("/api/workflows/{}", id(greet))).is(200);
    // Whatever nobody can find may be in there.
    for path in [
        "/api/workflows/nothing",
        &format!("/api/artifacts/{NOTHING}/download"),
        "/api/workspaces/nothing",
    ] {
        let hidden = server.get(path).refuses("database-unusable");
        names(&hidden["hint"], database);
        assert!(hidden["hint"].to_string().contains("/readyz"), "{hidden}");
    }
    server.get("/api/workspaces").is(200);
    let wrong = server.get(&format!("/api/workspaces?projectId={second}"));
    let wrong = wrong.refuses("database-unusable");
    assert!(wrong["hint"].to_string().contains("on the server's machine"), "{wrong}");
    names(&wrong["detail"], database);
    let execute = |workflow: &str, body: &Value| {
        server.post(&format!("/api/workflows/{workflow}/execute"), body)
    };
    // By its name, which only the first project has; by its id; and by a name that both have.
    let run = id(&execute("plain", &json!({})).is(201).json());
    server.until_status(&run, "COMPLETED");
    execute(&id(greet), &json!({ "input": { "name": "Ada" } })).is(201);
    execute("greet", &json!({ "input": { "name": "Ada" } })).is(422);
    let body = json!({ "input": { "name": "Ada" }, "projectId": second });
    names(&execute("greet", &body).is(503).json()["detail"], database);
    // Whether there is one nobody knows.
    names(&execute(NOTHING, &json!({})).is(503).json()["detail"], database);
    names(&server.delete(&format!("/api/workflows/{NOTHING}")).is(503).json()["detail"], database);
    // Figures are told again for a while.
    wait_until("the figures tell of it", || {
        let figures = server.get("/metrics").is(200).body;
        let figures = String::from_utf8_lossy(&figures).into_owned();
        figures.lines().any(|line| line == "agentos_databases_unreadable 1")
            && figures.lines().any(|line| line == "agentos_databases 1")
    });
}

#[test]
fn a_damaged_database_is_named_and_the_other_projects_are_served_also_after_a_restart() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    template(&root, "plain", PLAIN);
    let server = Server::start(&stand, &root);
    server.post("/api/projects", &json!({ "path": other })).is(201);
    let database = other.join(DATABASE);
    sqlite(&database, include_str!("sql/lost_tables.sql"));
    the_first_is_served(&server, &database);
    server.stop();
    let server = Server::start(&stand, &root);
    the_first_is_served(&server, &database);
    server.stop();
}

#[test]
fn a_database_that_can_not_be_opened_makes_the_server_unready_and_the_others_are_served() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("another");
    let server = Server::start(&stand, &root);
    let project = id(&server.post("/api/projects", &json!({ "path": other })).is(201).json());
    server.stop();
    let database = other.join(DATABASE);
    let good = fs::read(&database).expect("a database");
    fs::write(&database, b"no database at all ".repeat(500)).expect("a file");
    let server = Server::start(&stand, &root);
    names(&server.get("/readyz").is(503).json()["unreadable"], &database);
    names(&server.get("/api/executions").is(200).json()["unreadable"], &database);
    for kind in ["executions", "workflows", "workspaces"] {
        let hidden = server.get(&format!("/api/{kind}/nothing")).refuses("database-unusable");
        names(&hidden["hint"], &database);
    }
    let hidden = server.post("/api/workflows/nothing/execute", &json!({}));
    names(&hidden.refuses("database-unusable")["hint"], &database);
    let hidden = server.delete(&format!("/api/workflows/{NOTHING}"));
    names(&hidden.refuses("database-unusable")["hint"], &database);
    let hidden = server.get(&format!("/api/projects/{project}")).refuses("database-unusable");
    names(&hidden["hint"], &database);
    let order = json!({ "projectId": project, "input": { "name": "Ada" } });
    server.post("/api/workflows/greet/execute", &order).refuses("database-unusable");
    server.delete(&format!("/api/projects/{project}?purge=true")).refuses("database-unusable");
    let run = id(&server.execute("greet", &json!({ "name": "Ada" })));
    server.until_status(&run, "COMPLETED");
    // Whoever has no use for it any more need not mend it.
    server.delete(&format!("/api/projects/{project}")).is(204);
    server.get("/readyz").is(200);
    server.delete(&format!("/api/projects/{project}")).refuses("unknown-project");
    fs::write(&database, good).expect("a file");
    server.post("/api/projects", &json!({ "path": other })).is(201);
    server.get("/readyz").is(200);
    server.stop();
}

#[test]
fn workflows_that_could_not_be_written_down_are_when_the_database_can_be_used_again() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let database = root.join(DATABASE);
    replace(&stand, &database);
    template(&root, "plain", PLAIN);
    wait_until("it was tried", || {
        let problems = &server.get("/api/projects").is(200).json()["items"][0]["problems"];
        problems.to_string().contains("can't be read or written down")
    });
    fs::remove_file(&database).expect("the file");
    wait_until("it is written down", || {
        let all = server.get("/api/workflows").is(200).json();
        all["items"].as_array().expect("a list").iter().any(|one| one["name"] == "plain")
    });
    wait_until("nothing is wrong any more", || {
        server.get("/api/projects").is(200).json()["items"][0]["problems"] == json!([])
    });
    server.stop();
}
