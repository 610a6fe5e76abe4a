//! What workflows keep with their runs: real files, whatever becomes of them meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use agentos_core::entry::RunOutcome;
use agentos_core::failure::Failure;
use agentos_sdk::operations::ArtifactType;
use agentos_sdk::{Ctx, Error, Millis, RetryPolicy, Workflow};
use agentos_store::records::{ArtifactRecord, Records as _};
use serde_json::{Value, json};

use crate::files::{execute, house, run};
use crate::support::House;

const HELLO: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

async fn rows(house: &House) -> Vec<ArtifactRecord> {
    house.store().run_detail(run()).await.expect("the run").artifacts
}

fn completed(outcome: RunOutcome) -> Value {
    match outcome {
        RunOutcome::Completed { output } => output,
        other => panic!("{other:?}"),
    }
}

fn failed(outcome: RunOutcome) -> Failure {
    match outcome {
        RunOutcome::Failed { failure } => failure,
        other => panic!("{other:?}"),
    }
}

/// Everything below the run's artifacts, whatever it is.
fn stored(house: &House) -> Vec<PathBuf> {
    let folder = house.folder().join("project/.agent/workflows/executions");
    let (mut folders, mut found) = (vec![folder.join(run().to_string()).join("artifacts")], vec![]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    found
}

fn text(house: &House, row: &ArtifactRecord) -> String {
    fs::read_to_string(house.folder().join("project").join(&row.storage_path)).expect("a file")
}

#[tokio::test]
async fn a_text_and_a_file_are_kept_with_their_hash() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, notes: String| async move {
            let report = ctx.artifact("report.html").content("hello");
            let report = report.kind(ArtifactType::TestReport).metadata(json!({ "tests": 7 }));
            let report = report.await?;
            ctx.files().write("out/build.log", "hello").await?;
            ctx.artifact("log").file("out/build.log").mime_type("text/x-log").await?;
            ctx.artifact("notes").file(notes).await?;
            Ok(report)
        })
    };
    let house = house(make());
    let answer = completed(execute(&house, make()).await);
    assert_eq!(answer["sha256"], json!(HELLO));
    assert_eq!((&answer["size_bytes"], &answer["files"]), (&json!(5), &json!(1)));
    let rows = rows(&house).await;
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.name.as_str(), row.r#type.as_str(), row.mime_type.as_deref().unwrap_or("")))
        .collect();
    let expected = [
        ("report.html", "TEST_REPORT", "text/html"),
        ("log", "OTHER", "text/x-log"),
        ("notes", "OTHER", "application/octet-stream"),
    ];
    assert_eq!(shown, expected);
    assert_eq!(rows[0].metadata, Some(json!({ "tests": 7, "sha256": HELLO })));
    assert_eq!(json!(rows[0].storage_path), answer["storage_path"]);
    assert!(rows[0].step_id.is_some(), "it forms a step by itself");
    assert!(rows[0].storage_path.ends_with("artifacts/execution/report.html"));
    assert_eq!(text(&house, &rows[1]), "hello");
    assert_eq!(text(&house, &rows[2]), "from outside");
    assert_eq!(stored(&house).len(), 3, "nothing else is left");
}

#[tokio::test]
async fn folders_and_patterns_keep_their_tree_and_have_a_row_for_each_file() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            for path in ["cov/index.html", "cov/js/a.js", "cov/b.txt"] {
                ctx.files().write(path, path).await?;
            }
            ctx.artifact("coverage").file("cov").await?;
            let some = ctx.artifact("some").file("cov/**/*.js").await?;
            ctx.files().delete("cov/index.html").await?;
            Ok(some)
        })
    };
    let house = house(make());
    let answer = completed(execute(&house, make()).await);
    assert_eq!((&answer["files"], &answer["size_bytes"]), (&json!(1), &json!(11)));
    let rows = rows(&house).await;
    let names: Vec<_> = rows.iter().map(|row| row.name.as_str()).collect();
    assert_eq!(
        names,
        ["coverage/b.txt", "coverage/index.html", "coverage/js/a.js", "some/js/a.js"]
    );
    for row in &rows {
        let (_, path) = row.name.split_once('/').expect("a path");
        assert_eq!(text(&house, row), format!("cov/{path}"));
        assert!(row.storage_path.ends_with(&row.name));
    }
    let ids: std::collections::BTreeSet<_> = rows.iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), rows.len());
}

#[tokio::test]
async fn an_empty_folder_is_kept_as_one_and_a_pattern_that_nothing_matches_is_not() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            ctx.files().write("empty/x", "").await?;
            ctx.files().delete("empty/x").await?;
            let empty = ctx.artifact("empty").file("empty").await?;
            let none = ctx.artifact("none").file("*.log").await;
            Ok(json!([empty["files"], none.err().map(|failure| failure.message)]))
        })
    };
    let house = house(make());
    let answer = completed(execute(&house, make()).await);
    assert_eq!(answer, json!([0, "there is no `*.log` in the workspace"]));
    let rows = rows(&house).await;
    let shown = (rows.len(), rows[0].size_bytes, rows[0].mime_type.as_deref());
    assert_eq!(shown, (1, Some(0), Some("inode/directory")));
    assert!(house.folder().join("project").join(&rows[0].storage_path).is_dir());
}

#[tokio::test]
async fn the_same_name_again_leaves_what_was_kept_before_alone() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            let body = |ctx: Ctx| async move {
                let attempt = ctx.attempt();
                ctx.artifact("log").content(format!("first of attempt {attempt}")).await?;
                ctx.artifact("log").content(format!("second of attempt {attempt}")).await?;
                match attempt {
                    1 => Err(Error::new("again")),
                    _ => Ok(()),
                }
            };
            let twice =
                RetryPolicy { max_attempts: 2, delay_ms: Millis::new(1), ..RetryPolicy::default() };
            ctx.step("work").retry(twice).run(body).await?;
            Ok(())
        })
    };
    let house = house(make());
    completed(execute(&house, make()).await);
    let rows = rows(&house).await;
    let texts: Vec<_> = rows.iter().map(|row| text(&house, row)).collect();
    let expected =
        ["first of attempt 1", "second of attempt 1", "first of attempt 2", "second of attempt 2"];
    assert_eq!(texts, expected);
    assert_eq!(stored(&house).len(), 4);
    let attempts = rows.iter().map(|row| row.metadata.as_ref()?.get("attempt")?.as_u64());
    assert_eq!(attempts.collect::<Vec<_>>(), [None, None, Some(2), Some(2)]);
}

#[tokio::test]
async fn names_that_are_more_than_an_answer_holds_are_refused_before_anything_is_copied() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            Ok(ctx.artifact("many").file("many").await?)
        })
    };
    let house = house(make());
    let folder = house.folder().join("ground/many").join(vec!["d".repeat(230); 16].join("/"));
    fs::create_dir_all(&folder).expect("folders");
    for number in 0..1_150 {
        File::create(folder.join(number.to_string())).expect("a file");
    }
    let failure = failed(execute(&house, make()).await);
    let words =
        "`many` stands for more than 4194304 bytes of names and hashes; name a smaller part";
    assert_eq!(failure.message, words);
    assert_eq!(stored(&house), [] as [PathBuf; 0]);
}

#[tokio::test]
async fn a_folder_of_many_files_is_kept_as_one_of_few_is() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            Ok(ctx.artifact("many").file("many").await?)
        })
    };
    let house = house(make());
    let folder = house.folder().join("ground/many");
    for number in 0..40 {
        let below = folder.join((number % 3).to_string());
        fs::create_dir_all(&below).expect("a folder");
        fs::write(below.join(number.to_string()), number.to_string()).expect("a file");
    }
    assert_eq!(completed(execute(&house, make()).await)["files"], 40);
    let rows = rows(&house).await;
    assert_eq!(rows.len(), 40);
    for row in &rows {
        assert!(row.name.ends_with(&format!("/{}", text(&house, row))), "{row:?}");
    }
}

#[tokio::test]
async fn names_and_paths_that_lead_elsewhere_are_refused() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            let mut said = Vec::new();
            for (name, path) in [
                ("../x", "a"),
                (".x", "a"),
                ("a\nb", "a"),
                ("x", "../context/notes"),
                ("x", "/etc"),
            ] {
                let failure = ctx.artifact(name).file(path).await.expect_err("it is refused");
                said.push(failure.message);
            }
            Ok(said)
        })
    };
    let house = house(make());
    let said = completed(execute(&house, make()).await);
    for (index, word) in ["`../x`", "`.x`", "`a\\nb`", "leads out", "leads out"].iter().enumerate()
    {
        assert!(said[index].as_str().is_some_and(|said| said.contains(word)), "{said}");
    }
    assert_eq!(stored(&house), [] as [PathBuf; 0]);
    assert!(rows(&house).await.is_empty());
}

/// The most memory that this process has had at once, in bytes.
fn most_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("this process");
    let line = status.lines().find(|line| line.starts_with("VmHWM")).expect("a line");
    let kilobytes = line.split_whitespace().nth(1).expect("a number");
    kilobytes.parse::<u64>().expect("a number") << 10
}

#[tokio::test]
async fn a_large_file_needs_little_memory() {
    const SIZE: u64 = 100 << 20;
    const ZEROS: &str = "20492a4d0d84f8beb1767f6616229f85d44c2827b64bdbfb260ee12fa1109e0e";
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            Ok(ctx.artifact("large").file("large").await?)
        })
    };
    let house = house(make());
    let file = File::create(house.folder().join("ground/large")).expect("a file");
    file.set_len(SIZE).expect("a size");
    let before = most_memory();
    let answer = completed(execute(&house, make()).await);
    let more = most_memory() - before;
    assert!(more < 32 << 20, "it took {more} bytes");
    assert_eq!(answer["size_bytes"], json!(SIZE));
    assert_eq!(answer["sha256"], json!(ZEROS));
    let kept = stored(&house);
    assert_eq!(fs::metadata(&kept[0]).expect("a file").len(), SIZE);
}

const SMALL_DISK: &str = "AGENTOS_TEST_SMALL_DISK";

#[expect(clippy::disallowed_methods, reason = "it is this test again, and it is waited for")]
fn in_a_process_of_its_own(name: &str) {
    // Otherwise the signal that comes with the limit would end the process.
    let limited = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let program = std::env::current_exe().expect("this program");
    let mut child = Command::new("sh");
    child.args(["-c", limited]).arg(program).args([name, "--exact", "--nocapture"]);
    let output = child.env(SMALL_DISK, "1").output().expect("it is executed");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("1 passed"), "{said}");
}

/// What a full disk does is what a limit on the size of files does: writing fails in the middle.
#[tokio::test]
async fn a_full_disk_is_a_failure_that_leaves_nothing_half() {
    if std::env::var_os(SMALL_DISK).is_none() {
        let name = "artifacts::a_full_disk_is_a_failure_that_leaves_nothing_half";
        in_a_process_of_its_own(name);
        return;
    }
    let make = || {
        Workflow::new("main", |ctx: Ctx, _: String| async move {
            ctx.artifact("small").content("hello").await?;
            ctx.files().write("folder/a", "a").await?;
            let folder = ctx.artifact("large").file("folder").await;
            assert!(folder.is_err(), "{folder:?}");
            Ok(ctx.artifact("large").file("folder/large").await?)
        })
    };
    let house = house(make());
    fs::create_dir(house.folder().join("ground/folder")).expect("a folder");
    let file = File::create(house.folder().join("ground/folder/large")).expect("a file");
    file.set_len(8 << 20).expect("a size");
    limit_files(4 << 20);
    let failure = failed(execute(&house, make()).await);
    assert!(failure.message.contains("can't be kept: File too large"), "{failure:?}");
    assert!(failure.message.contains("/large"), "{failure:?}");
    assert!(failure.is_retryable());
    let kept = stored(&house);
    assert_eq!(kept.iter().map(|path| name(path)).collect::<Vec<_>>(), ["small"]);
    assert_eq!(rows(&house).await.len(), 1);
}

fn name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

/// No file of this process grows beyond this.
fn limit_files(bytes: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    let limit = Rlimit { current: Some(bytes), maximum: Some(bytes) };
    setrlimit(Resource::Fsize, limit).expect("a limit");
}
