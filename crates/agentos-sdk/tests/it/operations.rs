//! Operations: what they ask for, and what comes back.

use std::time::Duration;

use agentos_core::entry::Entry;
use agentos_sdk::operations::{ArtifactType, PermissionMode};
use agentos_sdk::{Ctx, FailureKind, Value, Workflow};
use serde_json::json;

use crate::support::{Bench, Driven};

/// Identity and arguments of everything that was ordered.
fn orders(driven: &Driven) -> Vec<(String, Value)> {
    let orders = driven.log.iter().filter_map(|record| match &record.entry {
        Entry::OperationOrdered { operation, args, .. } => {
            Some((operation.to_string(), args.clone()))
        }
        _ => None,
    });
    orders.collect()
}

#[test]
fn a_command_is_ordered_with_all_its_options() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let test = ctx.shell("cargo").args(["test", "-q"]).cwd("ui").env("CI", "1");
        let output = test.timeout(Duration::from_secs(60)).name("test").await?;
        ctx.shell("ls").await?;
        ctx.shell("ls").await?;
        let quiet = ctx.shell("cat").input("text").idle_timeout(Duration::from_secs(5)).unchecked();
        quiet.name("quiet").await?;
        Ok((output.is_success(), ctx.shell("fail").await?.exit_code))
    });
    let driven = Bench::new(workflow).run();
    assert_eq!(*driven.output(), json!([true, 1]));
    let orders = orders(&driven);
    let args = json!({ "command": "cargo", "args": ["test", "-q"], "cwd": "ui", "env": { "CI": "1" }, "timeout_ms": 60_000 });
    assert_eq!(orders[0], ("/shell:test#1".to_owned(), args));
    assert_eq!(orders[1].1, json!({ "command": "ls" }));
    assert_eq!(orders[1].0.replace("#1", "#2"), orders[2].0);
    let args =
        json!({ "command": "cat", "input": "text", "idle_timeout_ms": 5_000, "check": false });
    assert_eq!(orders[3], ("/shell:quiet#1".to_owned(), args));
}

#[test]
fn an_artifact_is_ordered_with_all_its_options() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let report = ctx.artifact("report.md").content("# All good").kind(ArtifactType::TestReport);
        report.mime_type("text/markdown").metadata(json!({ "tests": 7 })).await?;
        ctx.artifact("log").file("build.log").await?;
        Ok(())
    });
    let orders = orders(&Bench::new(workflow).run());
    let args = json!({ "content": "# All good", "type": "TEST_REPORT", "mime_type": "text/markdown", "metadata": { "tests": 7 } });
    assert_eq!(orders[0], ("/artifact:report.md#1".to_owned(), args));
    assert_eq!(orders[1].1, json!({ "file": "build.log", "type": "OTHER" }));
}

#[test]
fn things_are_asked_for_at_the_call_and_builders_when_they_are_awaited() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let builder = ctx.shell("a").name("a");
        let sleep = ctx.sleep(Duration::from_millis(1));
        let started = ctx.shell("b").name("b").start();
        builder.await?;
        started.await?;
        sleep.await?;
        Ok(())
    });
    let orders = orders(&Bench::new(workflow).run());
    let orders: Vec<_> = orders.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(orders, ["/sleep:sleep#1", "/shell:b#1", "/shell:a#1"]);
}

#[test]
fn a_sleep_is_never_too_short() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        ctx.sleep(Duration::from_micros(1_001)).await?;
        Ok(ctx.now()?.0)
    });
    assert_eq!(*Bench::new(workflow).run().output(), json!(2));
}

#[test]
fn a_wait_is_answered_by_its_signal_or_its_timeout() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let (a, b) = (ctx.wait_for::<u32>("go").start(), ctx.wait_for::<u32>("go").start());
        let both = (a.await?, b.await?);
        let kept: u32 = ctx.wait_for("kept").await?;
        let late = ctx.wait_for::<()>("late").timeout(Duration::from_millis(100)).await;
        Ok((both, kept, late.unwrap_err().kind == FailureKind::Timeout))
    });
    let driven = Bench::new(workflow).signal(1, "kept", json!(2)).signal(5, "go", json!(1)).run();
    assert_eq!(*driven.output(), json!([[1, 1], 2, true]));
}

#[test]
fn a_question_is_answered_by_its_decision() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let decision = ctx.approve("Ship it?").name("ship").await?;
        let second = ctx.approve("Really?").name("sure").timeout(Duration::from_secs(1)).await;
        Ok((decision.approved, decision.by, second.is_err()))
    });
    let driven = Bench::new(workflow).decide(5, "/approve:ship#1", true).run();
    assert_eq!(*driven.output(), json!([true, "me", true]));
}

#[test]
fn a_child_gives_what_it_returned() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let first = ctx.invoke::<Value>("lint", json!({ "strict": true }));
        let second = ctx.invoke::<Value>("test", 7);
        Ok((first.await?, second.await?))
    });
    let driven = Bench::new(workflow).run();
    let output = json!([{ "of": "lint", "got": { "strict": true } }, { "of": "test", "got": 7 }]);
    assert_eq!(*driven.output(), output);
}

#[test]
fn a_session_is_ordered_with_all_its_options() {
    let workflow = Workflow::new("build", |ctx: Ctx, (): ()| async move {
        let session = ctx.run_cli("implement", "claude", "do it").model("m").max_turns(3);
        let session = session.permission_mode(PermissionMode::Full).allowed_tools(["Bash"]);
        let session = session.token_budget(1_000).usd_budget(0.5).env("A", "b").resume("plan");
        let session = session.timeout(Duration::from_secs(60)).continue_on_retry().unchecked();
        let session = session.schema(json!({ "type": "object" })).system_prompt("brief");
        session.mcp_server("db", json!({ "command": "mcp-db" })).cwd("ui").await?;
        Ok(())
    });
    let orders = orders(&Bench::new(workflow).run());
    let args = json!({
        "agent": "claude", "prompt": "do it", "model": "m", "max_turns": 3, "permission_mode": "full",
        "allowed_tools": ["Bash"], "budget": { "tokens": 1_000, "usd": 0.5 }, "env": { "A": "b" }, "resume": "plan",
        "timeout_ms": 60_000, "on_retry": "continue", "check": false, "schema": { "type": "object" },
        "system_prompt": "brief", "mcp_servers": { "db": { "command": "mcp-db" } }, "cwd": "ui",
    });
    assert_eq!(orders[0], ("/agent:implement#1".to_owned(), args));
}

#[test]
fn calls_of_git_are_named_after_their_method_and_ordered_with_all_their_options() {
    let workflow = Workflow::new("save", |ctx: Ctx, (): ()| async move {
        let git = ctx.git();
        git.ensure_branch("topic").from("main").timeout(Duration::from_secs(9)).start().ignore();
        let commit = git.commit("done").author("Ada", "ada@example.com").trailer("A", "1");
        let commit = commit.trailer("B", "2").all().allow_empty().sign(false).no_verify();
        commit.timeout(Duration::from_secs(1)).start().ignore();
        git.stage_all().ignore();
        git.current_branch().ignore();
        git.current_commit().ignore();
        git.current_tree().ignore();
        git.commit("mine").since("4b82").start().ignore();
        let check = git.check_pr().remote("mine").base("main");
        check.timeout(Duration::from_secs(1)).start().ignore();
        git.status().limit(5).start().ignore();
        let diff = git.diff().from("a").to("b").staged().merge_base().paths(["x", "y"]);
        diff.tracked_only().stat().text_bytes(7).limit(8).start().ignore();
        git.log().limit(3).from("a").to("b").paths(["x"]).start().ignore();
        Ok(())
    });
    let orders = orders(&Bench::new(workflow).run());
    let commit = json!({
        "message": "done", "author": { "name": "Ada", "email": "ada@example.com" },
        "trailers": [{ "key": "A", "value": "1" }, { "key": "B", "value": "2" }],
        "all": true, "allow_empty": true, "sign": false, "no_verify": true, "timeout_ms": 1_000
    });
    let diff = json!({
        "from": "a", "to": "b", "staged": true, "merge_base": true, "paths": ["x", "y"],
        "untracked": false, "stat": true, "text_bytes": 7, "limit": 8
    });
    let expected = [
        ("ensureBranch", json!({ "branch": "topic", "from": "main", "timeout_ms": 9_000 })),
        ("commit", commit),
        ("stageAll", json!({})),
        ("getCurrentBranch", json!({})),
        ("getCurrentCommit", json!({})),
        ("getCurrentTree", json!({})),
        ("commit#2", json!({ "message": "mine", "since": "4b82" })),
        ("checkPr", json!({ "remote": "mine", "base": "main", "timeout_ms": 1_000 })),
        ("status", json!({ "limit": 5 })),
        ("diff", diff),
        ("log", json!({ "limit": 3, "from": "a", "to": "b", "paths": ["x"] })),
    ];
    let numbered = |method: &str| match method.contains('#') {
        true => format!("/git:{method}"),
        false => format!("/git:{method}#1"),
    };
    let expected = expected.map(|(method, args)| (numbered(method), args));
    assert_eq!(orders, expected);
}

#[test]
fn a_question_carries_what_was_changed_without_its_text() {
    let workflow = Workflow::new("save", |ctx: Ctx, (): ()| async move {
        let file = |index: u32| json!({ "path": format!("f{index}"), "insertions": 1, "deletions": 0, "binary": false });
        let diff = json!({
            "files_changed": 60, "insertions": 60, "deletions": 0, "truncated": false,
            "files": (0..60).map(file).collect::<Vec<_>>(), "text": "+1", "text_truncated": true
        });
        let diff = serde_json::from_value(diff).expect("a diff");
        ctx.approve("Ship it?").name("gate").diff(diff).start().ignore();
        Ok(())
    });
    let orders = orders(&Bench::new(workflow).run());
    let diff = &orders[0].1["diff"];
    assert_eq!(orders[0].1["question"], "Ship it?");
    assert_eq!((&diff["files_changed"], &diff["truncated"]), (&json!(60), &json!(true)));
    assert_eq!(diff["files"].as_array().map(Vec::len), Some(50));
    assert_eq!(diff.get("text"), None);
}
