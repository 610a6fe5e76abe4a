//! What workflows do with the history of their workspace, and what becomes of it when somebody was killed.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use agentos_core::entry::{Entry, Hold, Home, RunOutcome, RunStarted};
use agentos_core::failure::FailureKind;
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_engine::clock::SystemClock;
use agentos_engine::git::{ForgeSettings, GitPerformer, GitSettings};
use agentos_engine::library::RustLibrary;
use agentos_engine::performer::Performers;
use agentos_sdk::operations::git::{OnBehind, PushOutcome};
use agentos_sdk::{Ctx, RetryPolicy, Workflow, Workflows};
use agentos_store::log::load_whole_log;
use agentos_store::place::Place;
use agentos_store::records::Records as _;
use agentos_testing::forge::{ForgeServer, TOKEN};
use agentos_testing::repo::Playground;
use agentos_testing::wait::{is_alive, until};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::{House, Life};

fn library(workflow: Workflow) -> RustLibrary {
    RustLibrary::new(Workflows::new().with(workflow).expect("a name"), SystemClock)
}

/// The run of this test. What is left of its programs is looked for in the whole machine by a mark that is made of the run's
/// id, so no other test that runs at the same time may have the same one.
fn run() -> RunId {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: u64 = NEXT.fetch_add(1, Ordering::Relaxed);
    }
    RunId(Uuid::from_u64_pair(u64::from(std::process::id()), NUMBER.with(|number| *number)))
}

/// A house with a repository in which the workflow works.
struct Site {
    house: House,
    playground: Playground,
    repo: PathBuf,
    forge: ForgeSettings,
}

impl Site {
    fn new(workflow: Workflow) -> Self {
        let (house, playground) = (House::new(library(workflow)), Playground::new());
        let repo = playground.repository("repo");
        playground.git(&repo, ["config", "user.name", "A. Tester"]);
        playground.git(&repo, ["config", "user.email", "tester@example.com"]);
        Self { house, playground, repo, forge: ForgeSettings::default() }
    }

    fn live(&self) -> Life {
        // The home of whoever runs the tests has nothing to say here.
        let home = self.playground.home().display().to_string();
        let settings = GitSettings {
            env: [
                ("HOME", home.as_str()),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("SECRET_KEY", "hunter22"),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into(),
            forge: self.forge.clone(),
            ..GitSettings::new(self.playground.at("commands"))
        };
        let performers = Performers::new().with(OperationKind::Git, GitPerformer::new(settings));
        self.house.live(|builder| builder.performers(performers))
    }

    async fn start(&self, life: &Life, workflow: Workflow) {
        let name = workflow.name().to_owned();
        let start = library(workflow).start(run(), &name, Value::Null).expect("it can start");
        let workspace_path = self.repo.display().to_string();
        let home = Home { workspace_path, ..Home::default() };
        let start = RunStarted { home: home.into(), ..start };
        life.engine.create(start, Place::default()).await.expect("it is created");
    }

    async fn outcome(&self, make: fn() -> Workflow) -> RunOutcome {
        let life = self.live();
        self.start(&life, make()).await;
        life.ends(run()).await;
        life.engine.leave().await;
        self.house.outcome(run()).await
    }

    async fn output(&self, make: fn() -> Workflow) -> Value {
        match self.outcome(make).await {
            RunOutcome::Completed { output } => output,
            other => panic!("{other:?}"),
        }
    }

    fn git(&self, arguments: &[&str]) -> String {
        self.playground.git(&self.repo, arguments).trim().to_owned()
    }

    fn hook(&self, name: &str, script: &str) {
        use std::os::unix::fs::PermissionsExt as _;
        let path = self.repo.join(".git/hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a hook");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}

#[tokio::test]
async fn a_workflow_makes_a_branch_and_commits_on_it() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let git = ctx.git();
            let branch = git.ensure_branch("topic").await?;
            let clean = git.commit("nothing").await?;
            let made = git.commit("empty").allow_empty().trailer("Reviewed-by", "Ada").await?;
            let log = git.log().limit(1).await?;
            let status = git.status().await?;
            let diff = git.diff().from("main").stat().await?;
            let current = (git.current_branch().await?, git.current_commit().await?);
            assert_eq!((status.branch.as_deref(), status.clean), (Some("topic"), true));
            assert_eq!(
                (log[0].sha.as_str(), log[0].subject.as_str()),
                (made.commit_sha.as_str(), "empty")
            );
            assert_eq!(current, (Some("topic".to_owned()), Some(made.commit_sha.clone())));
            assert_eq!((branch.created, clean.created, diff.files_changed), (true, false, 0));
            Ok(made.commit_sha)
        })
    };
    let site = Site::new(make());
    let sha = site.output(make).await;
    assert_eq!(sha, json!(site.git(&["rev-parse", "topic"])));
    assert!(
        site.git(&["log", "-1", "--format=%B"]).contains("Reviewed-by: Ada\nAgentOS-Operation: ")
    );
    let record = site.house.look().run_detail(run()).await.expect("it is there").run;
    assert_eq!(record.branch_name.as_deref(), Some("topic"));
    assert_eq!(record.commit_sha.map(Value::String), Some(sha));
}

#[tokio::test]
async fn a_refusal_names_the_hook_hides_secrets_and_is_worth_another_attempt() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let failure = ctx.git().commit("a").allow_empty().await.expect_err("it is refused");
            let wrong =
                ctx.git().ensure_branch("--upload-pack=x").await.expect_err("it is no name");
            let kinds = (failure.kind, wrong.kind);
            assert_eq!(kinds, (FailureKind::Error, FailureKind::NonRetryable));
            Ok(json!([failure.message, failure.detail, wrong.message]))
        })
    };
    let site = Site::new(make());
    site.hook("pre-commit", "echo \"the key is $SECRET_KEY\"; exit 1");
    let said = site.output(make).await;
    assert_eq!(said[0], "the hook `pre-commit` refused: the key is ***");
    assert_eq!(said[1], json!({ "hook": "pre-commit" }));
    assert_eq!(said[2], "`--upload-pack=x` can't be the name of a branch");
}

#[tokio::test]
async fn a_step_that_is_tried_again_after_its_commit_finds_its_work_done() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let policy =
                RetryPolicy { delay_ms: agentos_sdk::Millis::new(1), ..RetryPolicy::default() };
            let step = ctx.step("save").retry(policy).run(|ctx| async move {
                let made = ctx.git().commit("all of it").all().await?;
                match ctx.attempt() {
                    1 => Err(agentos_sdk::Error::new("not yet")),
                    _ => Ok(made.created),
                }
            });
            Ok(step.await?)
        })
    };
    let site = Site::new(make());
    fs::write(site.repo.join("a"), "1\n").expect("a file");
    assert_eq!(site.output(make).await, json!(false));
    assert_eq!(site.git(&["rev-list", "--count", "HEAD"]), "2");
}

#[tokio::test]
async fn a_cancelled_run_ends_the_commit_that_waits_for_a_hook() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            ctx.git().commit("never").allow_empty().await?;
            Ok(())
        })
    };
    let site = Site::new(make());
    site.hook("pre-commit", "echo $$ > hook.pid; touch begun; while :; do sleep 0.05; done");
    let life = site.live();
    site.start(&life, make()).await;
    until("the hook has begun", async || site.repo.join("begun").exists()).await;
    let (key, body) = (InboxKey("cancel".into()), MessageBody::Cancel { reason: None });
    life.engine.send(run(), Message { key, body }).await.expect("it is heard");
    life.ends(run()).await;
    life.engine.leave().await;
    assert!(matches!(site.house.outcome(run()).await, RunOutcome::Cancelled { .. }));
    let pid = fs::read_to_string(site.repo.join("hook.pid")).expect("it ran");
    assert!(!is_alive(pid.trim()), "the hook is alive");
    assert_eq!(site.git(&["rev-list", "--count", "HEAD"]), "1");
    assert!(!site.repo.join(".git/index.lock").exists());
}

#[tokio::test]
async fn branches_of_a_workflow_that_commit_at_once_take_turns() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let commits = (0..6).map(|index| {
                ctx.step(format!("p{index}")).run(move |ctx| async move {
                    let message = format!("p{index}");
                    let made = ctx.git().commit(message).all().allow_empty().await?;
                    Ok(made.commit_sha)
                })
            });
            let made = agentos_sdk::try_join_all(commits).await?;
            Ok(made)
        })
    };
    let site = Site::new(make());
    fs::write(site.repo.join("a"), "1\n").expect("a file");
    let made = site.output(make).await;
    let mut made: Vec<&str> =
        made.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    made.sort_unstable();
    made.dedup();
    assert_eq!((made.len(), site.git(&["rev-list", "--count", "HEAD"])), (6, "7".to_owned()));
    assert_eq!(site.git(&["status", "--porcelain"]), "");
    let left = fs::read_dir(site.playground.at("commands").join(run().to_string()));
    assert_eq!(left.map_or(0, Iterator::count), 0, "no files are left");
}

/// How the run is held once a hook has ended in this way: what is told, and how often it may be.
async fn held_by_hook(script: &str) -> Hold {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            ctx.git().commit("a").allow_empty().await?;
            Ok(())
        })
    };
    let site = Site::new(make());
    site.hook("pre-commit", script);
    let life = site.live();
    site.start(&life, make()).await;
    until("it is held", async || site.house.kinds(run()).await.contains(&"operation.held")).await;
    life.engine.leave().await;
    let log = load_whole_log(&site.house.store(), run()).await.expect("a log");
    let mut entries = log.into_iter().flat_map(|chunk| chunk.entries);
    let held = entries.find_map(|entry| match entry {
        Entry::OperationHeld { hold, .. } => Some(hold),
        _ => None,
    });
    held.expect("it is held")
}

#[tokio::test]
async fn a_hook_that_ends_as_if_it_was_killed_is_not_waited_for_without_an_end() {
    let hold = held_by_hook("echo the key is $SECRET_KEY; exit 143").await;
    assert_eq!(
        hold.message,
        "`git commit: pre-commit` was ended by signal 15; its last words: the key is ***"
    );
    assert_eq!(hold.limit, Some(20));
    // Of git itself it is certain.
    let hold = held_by_hook("kill -9 $PPID; exit 1").await;
    assert!(hold.message.starts_with("`git commit` was ended by signal 9"), "{}", hold.message);
    assert_eq!(hold.limit, None);
}

#[tokio::test]
async fn what_a_hook_leaves_in_the_background_ends_with_the_call() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            ctx.git().commit("a").allow_empty().await?;
            Ok(())
        })
    };
    let site = Site::new(make());
    site.hook("post-commit", "setsid sleep 1000 >/dev/null 2>&1 & echo $! > hook.pid");
    assert_eq!(site.output(make).await, Value::Null);
    let pid = fs::read_to_string(site.repo.join("hook.pid")).expect("it ran");
    assert!(!is_alive(pid.trim()), "it is alive");
}

#[tokio::test]
async fn a_workflow_in_rust_pushes_its_branch_and_opens_a_pull_request() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let git = ctx.git();
            git.ensure_branch("topic").await?;
            git.commit("work").allow_empty().await?;
            let pushed = git.push().await?;
            let opened = git
                .create_pr("Work")
                .body("All of it.")
                .label("agentos")
                .draft()
                .on_behind(OnBehind::Fail)
                .await?;
            assert_eq!(pushed.outcome, PushOutcome::Created);
            assert_eq!(opened.pushed.outcome, PushOutcome::Unchanged);
            assert_eq!((opened.forge.as_deref(), opened.behind), (Some("github"), 0));
            Ok(opened.pr_url)
        })
    };
    let (mut site, forge) = (Site::new(make()), ForgeServer::start().expect("a forge"));
    let remote = site.playground.at("remote.git").display().to_string();
    site.git(&["init", "--quiet", "--bare", "--initial-branch=main", &remote]);
    site.git(&["remote", "add", "origin", "git@github.com:acme/shop.git"]);
    site.git(&["config", &format!("url.{remote}.insteadOf"), "git@github.com:acme/shop.git"]);
    site.git(&["push", "--quiet", "origin", "main"]);
    let variables = [("GITHUB_API_URL", forge.url()), ("GH_TOKEN", TOKEN.to_owned())];
    let variables = variables.map(|(name, value)| (name.to_owned(), value)).into();
    site.forge = ForgeSettings { variables, ..ForgeSettings::default() };
    let url = site.output(make).await;
    let [pull] = &forge.pulls()[..] else { panic!("{:?}", forge.pulls()) };
    assert_eq!((pull.head.as_str(), pull.base.as_str(), pull.draft), ("topic", "main", true));
    assert!(pull.body.starts_with("All of it."), "{}", pull.body);
    let record = site.house.look().run_detail(run()).await.expect("it is there").run;
    assert_eq!(record.pr_url.map(Value::String), Some(url));
}
