//! Files of runs over REST: listed, downloaded with the right headers, and never a way out of the project.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::stage::{Server, id, template};
use crate::support::Stand;

const KEEPS: &str = r#"import { createWorkflow } from "agentos";
export default createWorkflow({ name: "keeps", workspace: "none" }, async (ctx) => {
    await ctx.run("report", async () => {
        ctx.log.debug("quietly");
        ctx.log.error("loudly");
        await ctx.artifact("report.html", { content: "<script>alert(1)</script>", type: "DOCUMENT", mimeType: "text/html" });
        await ctx.artifact("größe \"x\".txt", { content: "0123456789", type: "OTHER" });
    });
    await ctx.artifact("notes.md", { content: "notes", type: "DOCUMENT" });
});"#;

fn kept(server: &Server) -> Value {
    let run = server.execute("keeps", &json!({}));
    server.until_status(&id(&run), "COMPLETED")
}

fn path_of(run: &Value, name: &str) -> String {
    let all = run["artifacts"].as_array().expect("a list");
    let found = all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{run}"));
    format!("/api/artifacts/{}/download", id(found))
}

#[test]
fn files_are_listed_by_step_and_type_and_come_with_their_headers() {
    let (stand, root) = Stand::with_repository();
    template(&root, "keeps", KEEPS);
    let server = Server::start(&stand, &root);
    let run = kept(&server);
    let list = format!("/api/executions/{}/artifacts", id(&run));
    let all = server.get(&list).is(200).json();
    assert_eq!(all["items"], run["artifacts"]);
    let step = run["steps"][0]["id"].as_str().unwrap();
    assert_eq!(server.get(&format!("{list}?stepId={step}")).is(200).json()["total"], 2);
    assert_eq!(server.get(&format!("{list}?type=DOCUMENT")).is(200).json()["total"], 2);
    assert_eq!(server.get(&format!("{list}?step_id={step}&type=other")).is(200).json()["total"], 1);
    server.get(&format!("{list}?type=PICTURE")).is(400);
    server.get(&format!("{list}?stepId=1")).is(400);
    server.get(&format!("{list}?stepId={}", id(&run))).is(404);
    server.get("/api/executions/nothing/artifacts").is(404);
    let page = server.get(&path_of(&run, "report.html")).is(200);
    assert_eq!(page.body, b"<script>alert(1)</script>");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
    assert!(page.header("content-disposition").starts_with("attachment; filename=\"report.html\""));
    assert!(page.header("content-security-policy").starts_with("sandbox;"), "{page:?}");
    assert_eq!(page.header("x-content-type-options"), "nosniff");
    let inline = server.get(&format!("{}?inline=true", path_of(&run, "report.html"))).is(200);
    assert!(inline.header("content-disposition").starts_with("inline;"));
    let policy = inline.header("content-security-policy");
    assert!(policy.starts_with("sandbox;") && !policy.contains("allow-scripts"), "{policy}");
    let named = server.get(&path_of(&run, "größe \"x\".txt")).is(200);
    let disposition = named.header("content-disposition");
    assert!(
        disposition.ends_with("filename*=UTF-8''gr%C3%B6%C3%9Fe%20%22x%22.txt"),
        "{disposition}"
    );
    server.get(&format!("{}?inline=perhaps", path_of(&run, "notes.md"))).is(400);
    server.get("/api/artifacts/nothing/download").is(404);
    server.get("/api/artifacts/0190b6a4-0000-7000-8000-000000000000/download").is(404);
    server.get("/api/artifacts/..%2f..%2f..%2fetc%2fpasswd/download").is(404);
    server.stop();
}

#[test]
fn parts_of_files_are_served_and_what_somebody_has_is_not_sent_again() {
    let (stand, root) = Stand::with_repository();
    template(&root, "keeps", KEEPS);
    let server = Server::start(&stand, &root);
    let run = kept(&server);
    let path = path_of(&run, "größe \"x\".txt");
    let whole = server.get(&path).is(200);
    assert_eq!((whole.header("accept-ranges"), whole.header("content-length")), ("bytes", "10"));
    let tag = whole.header("etag").to_owned();
    let part = |range: &str| server.ask("GET", &path, &[("range", range)], b"");
    let middle = part("bytes=2-4").is(206);
    assert_eq!((&*middle.body, middle.header("content-range")), (&b"234"[..], "bytes 2-4/10"));
    assert_eq!(part("bytes=-3").is(206).body, b"789");
    assert_eq!(part("bytes=7-").is(206).body, b"789");
    let beyond = part("bytes=10-").is(416);
    assert_eq!(beyond.header("content-range"), "bytes */10");
    assert_eq!(part("bytes=0-1,3-4").is(200).body, b"0123456789");
    server.ask("GET", &path, &[("if-none-match", &tag)], b"").is(304);
    let changed =
        server.ask("GET", &path, &[("range", "bytes=0-1"), ("if-range", "\"other\"")], b"");
    assert_eq!(changed.is(200).body.len(), 10);
    let head = server.send("HEAD", &path, &[], b"").is(200);
    assert_eq!((head.header("content-length"), head.body.len()), ("10", 0));
    server.stop();
}

#[test]
fn a_link_in_the_place_of_a_file_leads_nowhere() {
    let (stand, root) = Stand::with_repository();
    template(&root, "keeps", KEEPS);
    let server = Server::start(&stand, &root);
    let run = kept(&server);
    let secret = stand.at("secret");
    fs::write(&secret, "secret").unwrap();
    fs::write(root.join("inside"), "inside").unwrap();
    let file = |name: &str| -> PathBuf {
        let all = run["artifacts"].as_array().unwrap();
        let found = all.iter().find(|one| one["name"] == name).unwrap();
        root.join(found["storage_path"].as_str().unwrap())
    };
    for (name, target) in [("report.html", secret), ("notes.md", root.join("inside"))] {
        fs::remove_file(file(name)).unwrap();
        std::os::unix::fs::symlink(target, file(name)).unwrap();
        let refused = server.get(&path_of(&run, name));
        assert!(matches!(refused.status, 404 | 409), "{name}: {refused:?}");
        assert!(!String::from_utf8_lossy(&refused.body).contains("secret\""), "{refused:?}");
    }
    fs::remove_file(file("notes.md")).unwrap();
    server.get(&path_of(&run, "notes.md")).is(404);
    server.stop();
}

#[test]
fn logs_are_filtered_by_step_and_level_and_downloaded() {
    let (stand, root) = Stand::with_repository();
    template(&root, "keeps", KEEPS);
    let server = Server::start(&stand, &root);
    let run = kept(&server);
    let path = format!("/api/executions/{}/logs", id(&run));
    let messages = |query: &str| -> Vec<String> {
        let page = server.get(&format!("{path}{query}")).is(200).json();
        let lines = page["items"].as_array().expect("lines").iter();
        lines.filter_map(|line| line["msg"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(messages(""), ["quietly", "loudly"]);
    assert_eq!(messages("?level=warn"), ["loudly"]);
    let step = run["steps"][0]["id"].as_str().unwrap();
    assert_eq!(messages(&format!("?stepId={step}")), ["quietly", "loudly"]);
    server.get(&format!("{path}?level=shouting")).is(400);
    let whole = server.get(&format!("{path}/download")).is(200);
    assert_eq!(whole.header("content-type"), "application/x-ndjson");
    assert!(whole.header("content-disposition").contains("attachment; filename=\"keeps-"));
    assert_eq!(String::from_utf8_lossy(&whole.body).lines().count(), 2);
    let of_step = server.get(&format!("{path}/download?stepId={step}")).is(200);
    assert!(String::from_utf8_lossy(&of_step.body).contains("loudly"));
    server.ask("GET", &format!("{path}/download"), &[("range", "bytes=0-9")], b"").is(206);
    server.get(&format!("{path}/download?stepId={}", id(&run))).is(404);
    server.get("/api/executions/nothing/logs/download").is(404);
    server.stop();
}
