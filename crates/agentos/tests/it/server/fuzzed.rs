//! Requests that nobody thought of, made up from the server's own description by schemathesis: none may break the server, and
//! none may be answered in a way that is not described.

use std::fs;

use agentos_testing::schemathesis;
use serde_json::json;

use super::stage::{Server, id, template};
use crate::support::Stand;

/// What an answer has to be.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
    response_headers_conformance,response_schema_conformance,unsupported_method";

const KEEPS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "keeps" }, async (ctx) => {
    await ctx.run("write", async () => { await ctx.files.write("made.txt", "one"); });
    await ctx.artifact("notes.md", { content: "notes", type: "DOCUMENT" });
});"#;

#[test]
fn requests_that_nobody_thought_of_get_answers_that_are_described() {
    let (stand, root) = Stand::with_repository();
    template(&root, "keeps", KEEPS);
    let server = Server::start(&stand, &root);
    let body = json!({ "workspace": { "kind": "worktree" } });
    let run = id(&server.post("/api/workflows/keeps/execute", &body).is(201).json());
    let run = server.until_status(&run, "COMPLETED");
    let waiting = id(&server.execute("listen", &json!({})));
    let artifact = id(&run["artifacts"][0]);
    let workspace = run["workspace_id"].as_str().expect("a workspace");
    let ids = [
        ("/api/executions/", id(&run)),
        ("/api/executions/.*/(signal|approve|comments|resume)", waiting),
        ("/api/artifacts/", artifact),
        ("/api/workflows/", id(&server.workflow("greet"))),
        ("/api/workspaces/", workspace.to_owned()),
        ("/api/projects/", "0190b6a4-0000-7000-8000-000000000000".to_owned()),
    ];
    // Half of the requests are about things that there are.
    let known: String = ids
        .iter()
        .map(|(path, id)| {
            format!("[[operations]]\ninclude-path-regex = \"^{path}\"\nparameters = {{ \"path.id\" = \"{id}\" }}\n")
        })
        .collect();
    for (name, settings, phases) in
        [("known", known.as_str(), "examples,coverage,fuzzing"), ("unknown", "", "fuzzing")]
    {
        let folder = stand.folder(name);
        fs::write(folder.join("schemathesis.toml"), settings).expect("a file");
        let address = format!("http://{}/api/openapi.json", server.address);
        let words = [
            "-m",
            "schemathesis.cli",
            "run",
            &address,
            "--checks",
            CHECKS,
            "--phases",
            phases,
            "--max-examples",
            "5",
            "--seed",
            "1",
            "--generation-deterministic",
            "--no-color",
            "--request-timeout",
            "120",
            "--max-failures",
            "5",
            // It would wait for a run that never ends.
            "--exclude-path-regex",
            "/events$",
        ];
        let python = schemathesis::python();
        let done = stand.call_program(&python, &folder, &words).done();
        assert_eq!(done.code, Some(0), "{name}: {}\n{}", done.out, done.err);
        assert!(!done.out.contains(" 0 passed"), "{}", done.out);
    }
    server.get("/healthz").is(200);
    server.stop();
}
