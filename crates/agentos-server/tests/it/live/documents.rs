//! What messages carry: the documents that REST answers with.

use agentos_core::entry::{CommentOn, Entry, OperationResult, StepOutcome};
use agentos_core::id::StepNumber;
use agentos_core::retry::RetryPolicy;
use agentos_core::time::Timestamp;
use agentos_store::records::{NewComment, Records as _};
use serde_json::{Value, json};
use tempfile::tempdir;

use super::house::Server;
use super::http::{get, json as body};
use super::writer::{Writer, open};

pub(super) fn requested(step: &str, number: u32) -> Entry {
    Entry::StepRequested {
        step: step.parse().unwrap(),
        number: Some(StepNumber(number)),
        retry: RetryPolicy::default(),
        timeout_ms: None,
        rolls_back: false,
        body: None,
        site: None,
    }
}

fn started(scope: &str) -> Entry {
    Entry::AttemptStarted { scope: scope.parse().unwrap(), counts_from: None }
}

pub(super) fn ended(step: &str, output: Value) -> Entry {
    Entry::StepEnded { step: step.parse().unwrap(), outcome: StepOutcome::Completed { output } }
}

fn ordered(operation: &str, number: Option<u32>, args: Value) -> Entry {
    Entry::OperationOrdered {
        operation: operation.parse().unwrap(),
        number: number.map(StepNumber),
        args,
        due: None,
        child: None,
        r#try: agentos_core::id::Try::FIRST,
        site: None,
    }
}

fn answered(operation: &str, value: Value) -> Entry {
    let result = OperationResult::Ok { value };
    Entry::OperationEnded { operation: operation.parse().unwrap(), result }
}

#[tokio::test]
async fn a_message_carries_the_document_that_its_entry_is_about() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, None).await;

    writer.commit(vec![requested("/build#1", 1), started("/build#1@1")]).await;
    let said = client.entries(2).await;
    for said in &said {
        assert_eq!(
            (&said["type"], &said["data"]["name"]),
            (&json!("workflow:step:updated"), &json!("build"))
        );
        assert_eq!(
            (&said["data"]["status"], &said["current_workflow_step_id"]),
            (&json!("RUNNING"), &said["data"]["id"])
        );
    }
    let step = said[0]["data"]["id"].clone();

    let remark = Entry::CommentAdded {
        operation: "/build#1@1/comment:comment#1".parse().unwrap(),
        on: CommentOn::Step,
        message: "looks good".to_owned(),
        meta: Value::Null,
    };
    writer
        .commit(vec![remark, ordered("/build#1@1/agent:fix#1", None, json!({ "agent": "claude" }))])
        .await;
    let said = client.entries(2).await;
    assert_eq!(
        (&said[0]["type"], &said[0]["data"]["message"]),
        (&json!("workflow:comment:added"), &json!("looks good"))
    );
    assert_eq!(
        (&said[1]["type"], &said[1]["data"]["agent"]),
        (&json!("workflow:agent:updated"), &json!("claude"))
    );
    assert_eq!(
        (&said[1]["data"]["status"], &said[1]["data"]["workflow_step_id"]),
        (&json!("RUNNING"), &step)
    );

    let usage = json!({ "exit_reason": "completed", "output_tokens": 7 });
    writer.commit(vec![answered("/build#1@1/agent:fix#1", usage)]).await;
    let said = client.entries(1).await.remove(0);
    assert_eq!(
        (&said["data"]["status"], &said["data"]["output_tokens"]),
        (&json!("COMPLETED"), &json!(7))
    );

    writer
        .commit(vec![
            ordered("/sleep:nap#1", Some(2), json!({ "ms": 5 })),
            ended("/build#1", json!({ "ok": true })),
        ])
        .await;
    let said = client.entries(2).await;
    assert_eq!(
        (&said[0]["type"], &said[0]["data"]["step_number"]),
        (&json!("workflow:step:updated"), &json!(2))
    );
    assert_eq!(
        (&said[1]["data"]["status"], &said[1]["data"]["output"]),
        (&json!("COMPLETED"), &json!({ "ok": true }))
    );
}

#[tokio::test]
async fn an_artifact_of_many_files_is_told_with_all_of_them() {
    let directory = tempdir().unwrap();
    let path = directory.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, None).await;
    writer.commit(vec![requested("/build#1", 1), started("/build#1@1")]).await;
    client.entries(2).await;
    let one = json!({ "storage_path": "a.txt", "type": "DOCUMENT" });
    let folder = json!({ "storage_path": "b", "entries": [{ "path": "x" }, { "path": "y" }] });
    writer
        .commit(vec![
            ordered("/build#1@1/artifact:a#1", None, Value::Null),
            answered("/build#1@1/artifact:a#1", one),
        ])
        .await;
    let said = client.entries(2).await;
    assert_eq!(
        (&said[0]["type"], &said[0]["data"]["seq"]),
        (&json!("workflow:execution:updated"), &json!(5))
    );
    assert_eq!(
        (&said[1]["type"], &said[1]["data"]["storage_path"]),
        (&json!("workflow:artifact:created"), &json!("a.txt"))
    );
    assert_eq!(said[1].get("artifacts"), None);

    writer
        .commit(vec![
            ordered("/build#1@1/artifact:b#1", None, Value::Null),
            answered("/build#1@1/artifact:b#1", folder),
        ])
        .await;
    let said = client.entries(2).await;
    assert_eq!(said[1]["artifacts"].as_array().unwrap().len(), 2);
}

#[tokio::test]
async fn an_agent_outside_of_a_step_brings_its_step_along() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, None).await;
    writer.commit(vec![ordered("/agent:fix#1", Some(1), json!({ "agent": "codex" }))]).await;
    let said = client.entries(1).await.remove(0);
    assert_eq!(
        (&said["type"], &said["step"]["step_number"]),
        (&json!("workflow:agent:updated"), &json!(1))
    );
}

#[tokio::test]
async fn a_document_that_is_too_large_names_what_it_leaves_out() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, None).await;
    writer.commit(vec![requested("/build#1", 1), started("/build#1@1")]).await;
    writer.commit(vec![ended("/build#1", json!("x".repeat(200_000)))]).await;
    let said = client.entries(3).await.remove(2);
    assert_eq!(
        (&said["data"]["output"], &said["data"]["omitted"]),
        (&Value::Null, &json!(["output"]))
    );
    assert_eq!(said["data"]["status"], "COMPLETED");
}

#[tokio::test]
async fn what_a_person_remarks_is_told_of_to_whoever_is_there() {
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    let server = Server::over(&[path]).await;
    let mut client = server.connect().await;
    client.subscribe(writer.run, None).await;
    let remark = NewComment {
        id: uuid::Uuid::from_u128(5),
        run: writer.run,
        step: None,
        message: "well done".to_owned(),
        metadata: None,
        author: "grace".to_owned(),
        at: Timestamp(9_000),
    };
    writer.store.add_comment(remark).await.unwrap();
    let said = client.next().await.unwrap();
    assert_eq!(
        (&said["type"], &said["data"]["author"]),
        (&json!("workflow:comment:added"), &json!("grace"))
    );
    assert_eq!((said.get("seq"), &said["ephemeral"]), (None, &json!(true)));
    writer.note(&["x"]).await;
    assert_eq!(client.next().await.unwrap()["seq"], 2, "it is told of once");
}

#[tokio::test]
async fn a_run_with_more_to_tell_than_gets_a_tag_is_answered_whole() {
    const BYTES: usize = 5 << 20;
    let folder = tempdir().unwrap();
    let path = folder.path().join("x.db");
    let mut writer = Writer::start(&open(&path), 1).await;
    for number in 1..=7 {
        let step = format!("/build#{number}");
        let output = json!("x".repeat(BYTES));
        let first = started(&format!("{step}@1"));
        writer.commit(vec![requested(&step, number), first, ended(&step, output)]).await;
    }
    let server = Server::over(&[path]).await;
    let answer = get(server.address, &format!("/api/executions/{}", writer.run), &[]).await;
    assert_eq!(answer.headers().get("etag"), None, "it would have to be kept twice");
    let run = body(answer).await;
    let sizes: Vec<usize> = run["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["output"].as_str().unwrap().len())
        .collect();
    assert_eq!(sizes, [BYTES; 7]);
}
