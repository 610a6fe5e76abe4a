//! Each call of `ctx`, and what it refuses.

use agentos_core::entry::Entry;
use serde_json::{Value, json};

use crate::support::Bench;

fn orders(body: &str) -> Vec<(String, Value)> {
    let driven = Bench::body(body).run();
    driven.output();
    driven
        .log
        .into_iter()
        .filter_map(|record| match record.entry {
            Entry::OperationOrdered { operation, args, .. } => Some((operation.to_string(), args)),
            _ => None,
        })
        .collect()
}

#[test]
fn a_command_is_ordered_with_its_options() {
    let ordered = orders(
        r#"await ctx.shell("make", { name: "build", args: ["-j", "2"], cwd: "sub", env: { A: "1" }, timeout: 1.2, idleTimeout: 5, input: "in", check: false });"#,
    );
    let args = json!({ "command": "make", "args": ["-j", "2"], "cwd": "sub", "env": { "A": "1" }, "timeout_ms": 2, "idle_timeout_ms": 5, "input": "in", "check": false });
    assert_eq!(ordered[0].1, args);
    assert!(ordered[0].0.contains("shell:build#1"), "{}", ordered[0].0);
}

#[test]
fn the_runs_own_paths_do_not_count_in_a_name() {
    let name = |command: &str| {
        let ordered = orders(&format!("await ctx.shell({command});"));
        ordered[0].0.clone()
    };
    assert_eq!(name("`ls ${ctx.workspacePath}/a`"), name("'ls \\0/a'"));
    assert_ne!(name("'ls a'"), name("'ls b'"));
}

#[test]
fn file_calls_are_ordered_under_their_own_names() {
    let ordered = orders(
        r#"
        await ctx.files.write("a.txt", "text");
        await ctx.files.write("b", new Uint8Array([0, 255]), { executable: true, mode: 0o755, createDirs: false });
        await ctx.files.read("a.txt");
        await ctx.files.read("b", { encoding: "bytes" });
        await ctx.files.exists("b");
        await ctx.files.delete("c", { recursive: true });
        await ctx.files.list();
        await ctx.files.list("src/*.ts");
        await ctx.files.copy("a", "b", { createDirs: false });
        "#,
    );
    let expected = [
        ("write#1", json!({ "path": "a.txt", "content": "text" })),
        (
            "write#2",
            json!({ "path": "b", "base64": "AP8=", "executable": true, "mode": 0o755, "create_dirs": false }),
        ),
        ("read#1", json!({ "path": "a.txt" })),
        ("read#2", json!({ "path": "b", "encoding": "bytes" })),
        ("exists#1", json!({ "path": "b" })),
        ("delete#1", json!({ "path": "c", "recursive": true })),
        ("list#1", json!({ "path": "." })),
        ("list#2", json!({ "path": "src/*.ts" })),
        ("copy#1", json!({ "from": "a", "to": "b", "create_dirs": false })),
    ];
    let expected = expected.map(|(name, args)| (format!("/files:{name}"), args));
    assert_eq!(ordered, expected);
}

#[test]
fn calls_of_git_are_named_after_their_method() {
    let ordered = orders(
        r#"
        await ctx.git.ensureBranch("topic", { from: "main", timeout: 9 });
        await ctx.git.commit("done", { author: { name: "Ada", email: "a@b" }, trailers: { A: "1", B: ["2", "3"] }, all: true, allowEmpty: true, sign: false, noVerify: true, timeout: 5 });
        await ctx.git.commit("plain");
        await ctx.git.stageAll();
        await ctx.git.getCurrentBranch();
        await ctx.git.getCurrentCommit();
        await ctx.git.getCurrentTree();
        await ctx.git.commit("mine", { since: "4b82" });
        await ctx.git.checkPr({ remote: "mine", base: "main", timeout: 5 });
        await ctx.git.status({ limit: 5 });
        await ctx.git.diff({ from: "a", to: "b", staged: true, mergeBase: true, paths: ["x"], untracked: false, stat: true, textBytes: 7, limit: 8 });
        await ctx.git.log({ limit: 3, from: "a", to: "b", paths: ["x"] });
        "#,
    );
    let trailers = json!([{ "key": "A", "value": "1" }, { "key": "B", "value": "2" }, { "key": "B", "value": "3" }]);
    let author = json!({ "name": "Ada", "email": "a@b" });
    let expected = [
        ("ensureBranch#1", json!({ "branch": "topic", "from": "main", "timeout_ms": 9 })),
        (
            "commit#1",
            json!({ "message": "done", "author": author, "trailers": trailers, "all": true, "allow_empty": true, "sign": false, "no_verify": true, "timeout_ms": 5 }),
        ),
        ("commit#2", json!({ "message": "plain" })),
        ("stageAll#1", json!({})),
        ("getCurrentBranch#1", json!({})),
        ("getCurrentCommit#1", json!({})),
        ("getCurrentTree#1", json!({})),
        ("commit#3", json!({ "message": "mine", "since": "4b82" })),
        ("checkPr#1", json!({ "remote": "mine", "base": "main", "timeout_ms": 5 })),
        ("status#1", json!({ "limit": 5 })),
        (
            "diff#1",
            json!({ "from": "a", "to": "b", "staged": true, "merge_base": true, "paths": ["x"], "untracked": false, "stat": true, "text_bytes": 7, "limit": 8 }),
        ),
        ("log#1", json!({ "limit": 3, "from": "a", "to": "b", "paths": ["x"] })),
    ];
    let expected = expected.map(|(name, args)| (format!("/git:{name}"), args));
    assert_eq!(ordered, expected);
}

#[test]
fn a_question_with_a_diff_asks_git_first_and_keeps_its_name() {
    let body = r#"return await ctx.approve("Ship it?", { name: "gate", timeout: 90_000, diff: { from: "main" } });"#;
    let driven = Bench::body(body).decide(20, "/approve:gate#1", true).run();
    assert_eq!(driven.output()["approved"], json!(true));
    let ordered: Vec<(String, Value)> = driven
        .log
        .into_iter()
        .filter_map(|record| match record.entry {
            Entry::OperationOrdered { operation, args, .. } => Some((operation.to_string(), args)),
            _ => None,
        })
        .collect();
    let diff = json!({ "from": "main", "stat": true, "limit": 50 });
    assert_eq!(ordered[0], ("/git:diff#1".to_owned(), diff));
    assert_eq!(ordered[1].0, "/approve:gate#1");
    assert_eq!(ordered[1].1["timeout_ms"], json!(90_000));
    assert!(ordered[1].1["diff"].is_object(), "{}", ordered[1].1);
}

#[test]
fn artifacts_waits_approvals_and_children() {
    let driven = Bench::body(
        r#"
        await ctx.artifact("report", { content: "text", type: "TEST_REPORT", mimeType: "text/plain", metadata: { a: 1 } });
        const event = await ctx.waitFor("event", { timeout: 1000 });
        const decision = await ctx.approve("Go on?", { name: "gate" });
        const child = await ctx.invoke("other", { x: 1 });
        await ctx.sleep(50);
        return { event, decision, child, now: Date.now() };
        "#,
    )
    .signal(5, "event", json!({ "n": 1 }))
    .decide(20, "/approve:gate#1", true)
    .run();
    let output = driven.output();
    assert_eq!(output["event"], json!({ "n": 1 }));
    assert_eq!(output["decision"]["approved"], json!(true));
    assert_eq!(output["child"], json!({ "of": "other", "got": { "x": 1 } }));
}

#[test]
fn options_that_nobody_knows_are_refused_by_name() {
    for (call, word) in [
        ("ctx.shell('x', { promt: 1 })", "promt"),
        ("ctx.shell(5)", "string"),
        ("ctx.sleep('soon')", "\"soon\" is not a time"),
        ("ctx.sleep(-1)", "-1"),
        ("ctx.sleep(NaN)", "null is not a time"),
        ("ctx.waitFor('')", "empty"),
        ("ctx.artifact('x', {})", "content"),
        ("ctx.artifact('x', { content: 'a', type: 'POEM' })", "POEM"),
        ("ctx.files.read(5)", "string"),
        ("ctx.files.read('a', { encoding: 'latin1' })", "latin1"),
        ("ctx.files.write('a')", "ctx.files.write(path, content, options)"),
        ("ctx.files.write('a', 42)", "the content is neither a text nor a Uint8Array"),
        ("ctx.files.write('a', 'x\\ud800')", "half of a character is in a text"),
        ("ctx.files.write('a', '\\ud800\\u0041')", "half of a character is in a text"),
        ("ctx.files.delete('a', { force: true })", "force"),
        ("ctx.git.commit('x', { mesage: 1 })", "mesage"),
        ("ctx.git.commit('x', { author: 'Ada' })", "Author"),
        ("ctx.git.ensureBranch()", "ctx.git.ensureBranch(name, options)"),
        ("ctx.git.diff({ form: 'main' })", "form"),
        ("ctx.git.log(5)", "ctx.git.log(options)"),
        ("ctx.approve('?', { diff: 'main' })", "`diff` is true, false"),
        ("ctx.approve('?', { diff: 1 })", "`diff` is true, false"),
        ("ctx.approve('?', { diff: [] })", "`diff` is true, false"),
        ("ctx.run('x', async () => 1, { retries: 2 })", "retries"),
        ("ctx.run('x', 5)", "not a function"),
        ("ctx.run('x'.repeat(300), async () => 1)", "at most 256"),
    ] {
        let driven = Bench::body(&format!("await (ctx as any, {call});")).run();
        let failure = driven.failure();
        assert!(failure.message.contains(word), "{call}: {failure:?}");
        assert_eq!(driven.count("attempt.failed"), 0);
    }
}

#[test]
fn state_and_log() {
    let driven = Bench::body(
        r#"
        ctx.set("a", { x: [1] });
        const before = ctx.get("a");
        ctx.delete("a");
        ctx.log.warn("one", { two: 2 }, 3);
        console.log("line", [1]);
        return [before, ctx.get("a") === undefined, ctx.has("a")];
        "#,
    )
    .run();
    assert_eq!(*driven.output(), json!([{ "x": [1] }, true, false]));
    assert_eq!(driven.lines, ["Warn one {\"two\":2} 3", "Info line [1]"]);
}

#[test]
fn the_fields_of_ctx_are_read_only() {
    let driven = Bench::body(
        r#"
        const refused: string[] = [];
        for (const change of [
            () => { (ctx as any).input = 1; },
            () => { (ctx as any).input.x = 1; },
            () => { (ctx as any).extra = 1; },
            () => { (ctx as any).attempt = 9; },
        ]) {
            try { change(); refused.push("no"); } catch (error: any) { refused.push(error.name); }
        }
        return [refused, ctx.runId, ctx.workspacePath, ctx.attempt];
        "#,
    )
    .input(json!({ "x": 0 }))
    .run();
    let refused = ["TypeError"; 4];
    assert_eq!(*driven.output(), json!([refused, "test-abcdef", "/workspace", 1]));
}

#[test]
fn what_the_types_promise_is_what_there_is() {
    let driven = Bench::body(
        "return Object.getOwnPropertyNames(Object.getPrototypeOf(ctx)).filter((name) => name !== 'constructor').sort();",
    )
    .run();
    let declared = agentos_script::assets::DECLARATIONS;
    let (_, ctx) = declared.split_once("export interface WorkflowContext").expect("an interface");
    let (ctx, _) = ctx.split_once("\n  }\n").expect("its end");
    let mut names: Vec<String> = ctx
        .lines()
        .filter_map(|line| {
            let line = line.strip_prefix("    ")?;
            let line = line.strip_prefix("readonly ").unwrap_or(line);
            let end = line.find(['(', '<', ':'])?;
            let name = &line[..end];
            name.bytes().all(|byte| byte.is_ascii_alphabetic()).then(|| name.to_owned())
        })
        .collect();
    names.sort();
    names.dedup();
    assert_eq!(*driven.output(), json!(names));
}
