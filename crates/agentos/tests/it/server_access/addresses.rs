//! Ids and names that want to be paths, belong to somebody else, or lead out of the project.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};

use crate::server::stage::{Server, id, template};
use crate::support::Stand;

/// What is put in the place of every parameter.
const ODD: [&str; 14] = [
    "..",
    "%2e%2e",
    "..%2f..%2f..%2f..%2fetc%2fpasswd",
    "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "%2fetc%2fpasswd",
    "....%2f%2fetc%2fpasswd",
    "%00",
    "a%00b",
    "%ff%fe",
    "'%20OR%201=1%20--",
    "%e2%80%ae",
    "$(id)",
];

#[test]
fn no_id_or_name_is_taken_for_a_path() {
    let (stand, root) = Stand::with_repository();
    let server = Server::start(&stand, &root);
    let description = server.get("/api/openapi.json").is(200).json();
    let paths = description["paths"].as_object().unwrap();
    let mut tried = 0;
    for (path, item) in paths.iter().filter(|(path, _)| path.contains('{')) {
        let methods = ["get", "post", "delete"].into_iter().filter(|name| item.get(name).is_some());
        for method in methods {
            for odd in ODD {
                let address = filled(path, odd);
                let json = [("content-type", "application/json")];
                let answer = server.send(&method.to_uppercase(), &address, &json, b"{}");
                let said = String::from_utf8_lossy(&answer.body).into_owned();
                let is_refusal = (400..500).contains(&answer.status);
                assert!(is_refusal, "{method} {address}: {} {said}", answer.status);
                assert!(!said.contains("root:"), "{method} {address}: {said}");
                tried += 1;
            }
        }
    }
    assert!(tried > 100, "there are addresses with ids: {tried}");
    server.stop();
}

fn filled(path: &str, with: &str) -> String {
    let parts = path.split('/').map(|part| if part.starts_with('{') { with } else { part });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn a_run_of_a_project_that_is_not_served_is_nobodys() {
    let (stand, root) = Stand::with_repository();
    let other = stand.repository("other");
    let run = stand.run(&other, &["run", "greet", "--name", "Ada", "--json"]).exits(0).document();
    let run = id(&run);
    let server = Server::start(&stand, &root);
    for path in ["", "/events", "/logs", "/logs/download", "/artifacts", "/diff"] {
        server.get(&format!("/api/executions/{run}{path}")).is(404);
    }
    for deed in ["cancel", "resume", "retry"] {
        server.post(&format!("/api/executions/{run}/{deed}"), &json!({})).is(404);
    }
    let listed = server.get("/api/executions").is(200).json();
    assert_eq!(listed["total"], 0, "{listed}");
    server.stop();
}

#[test]
fn an_artifact_that_became_a_link_is_not_followed() {
    let (stand, root) = Stand::with_repository();
    template(
        &root,
        "keeps",
        r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "keeps", workspace: "none" }, async (ctx) => {
    await ctx.artifact("notes.md", { content: "notes", type: "DOCUMENT" });
});"#,
    );
    let server = Server::start(&stand, &root);
    let run = id(&server.execute("keeps", &json!({})));
    let run = server.until_status(&run, "COMPLETED");
    let kept: &Value = &run["artifacts"][0];
    let address = format!("/api/artifacts/{}/download", id(kept));
    assert_eq!(server.get(&address).is(200).body, b"notes");
    let secret = stand.at("secret");
    fs::write(&secret, "nobody's business").unwrap();
    let file = root.join(kept["storage_path"].as_str().unwrap());
    fs::remove_file(&file).unwrap();
    symlink(&secret, &file).unwrap();
    let answer = server.send("GET", &address, &[], b"");
    assert!((400..500).contains(&answer.status), "{answer:?}");
    assert!(!String::from_utf8_lossy(&answer.body).contains("business"), "{answer:?}");
    // Also where the folder became one.
    let folder = file.parent().unwrap();
    fs::rename(folder, stand.at("moved")).unwrap();
    fs::create_dir(stand.at("elsewhere")).unwrap();
    fs::write(stand.at("elsewhere").join(file.file_name().unwrap()), "nobody's business").unwrap();
    symlink(stand.at("elsewhere"), folder).unwrap();
    let answer = server.send("GET", &address, &[], b"");
    assert!(!String::from_utf8_lossy(&answer.body).contains("business"), "{answer:?}");
    server.stop();
}
