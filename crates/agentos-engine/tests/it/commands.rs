//! Real commands of real workflows, and what becomes of them when somebody is killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agentos_core::entry::{Home, RunOutcome, RunStarted};
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::operation::OperationKind;
use agentos_engine::clock::SystemClock;
use agentos_engine::engine::Builder;
use agentos_engine::library::RustLibrary;
use agentos_engine::performer::Performers;
use agentos_engine::shell::{OutputSink, Settings, ShellPerformer, Whose};
use agentos_process::directory::Directory;
use agentos_process::exit::Reason;
use agentos_process::frame::Frame;
use agentos_process::launch::{Launcher, stop};
use agentos_process::supervisor;
use agentos_sdk::{Ctx, Result, Workflow, Workflows};
use agentos_store::place::Place;
use agentos_testing::wait::{is_alive, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::part;
use crate::support::{House, Life};

/// Supervisors of these tests are this program again.
#[test]
fn plays_the_supervisor() {
    let last = std::env::args_os().skip(1).last().map(PathBuf::from);
    match last.filter(|last| last.is_absolute() && last.is_dir()) {
        Some(directory) => drop(supervisor::main(&directory)),
        None => assert!(std::env::current_exe().is_ok_and(|path| path.exists())),
    }
}

pub(crate) fn settings(folder: &Path) -> Settings {
    let program = std::env::current_exe().expect("this program");
    let launcher =
        Launcher::new(program, ["commands::plays_the_supervisor", "--exact", "--nocapture"]);
    Settings::new(launcher, folder.join("runs"))
}

/// A house in which commands are executed.
pub(crate) fn house_of(workflow: Workflow) -> House {
    let house = House::new(library(workflow));
    fs::create_dir_all(house.folder().join("ground/inner")).expect("a folder");
    house
}

fn library(workflow: Workflow) -> RustLibrary {
    RustLibrary::new(Workflows::new().with(workflow).expect("a name"), SystemClock)
}

fn live(house: &House) -> Life {
    house.live(|builder| with_commands(builder, settings(house.folder())))
}

pub(crate) fn with_commands(builder: Builder, settings: Settings) -> Builder {
    let shell = ShellPerformer::new(settings);
    builder.performers(Performers::new().with(OperationKind::Shell, shell))
}

pub(crate) fn run() -> RunId {
    RunId(Uuid::from_u128(1))
}

pub(crate) async fn start(house: &House, life: &Life, workflow: Workflow) {
    let name = workflow.name().to_owned();
    let start = library(workflow).start(run(), &name, Value::Null).expect("it can start");
    let workspace_path = house.folder().join("ground").display().to_string();
    let home = Home { workspace_path, ..Home::default() };
    let start = RunStarted { home: home.into(), ..start };
    life.engine.create(start, Place::default()).await.expect("it is created");
}

/// What a workflow returns that is driven to its end.
async fn output(make: fn() -> Workflow) -> Value {
    let house = house_of(make());
    let life = live(&house);
    start(&house, &life, make()).await;
    life.ends(run()).await;
    life.engine.leave().await;
    completed(&house).await
}

pub(crate) async fn completed(house: &House) -> Value {
    match house.outcome(run()).await {
        RunOutcome::Completed { output } => output,
        other => panic!("{other:?}"),
    }
}

fn failure(answer: std::result::Result<impl Sized, Failure>) -> Failure {
    answer.err().expect("it fails")
}

#[tokio::test]
async fn a_workflow_gets_what_its_commands_wrote_and_how_they_ended() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let known = ctx.shell("[ $AGENT_WORKSPACE_PATH = $PWD ]").await?;
            assert!(known.is_success());
            let plain = ctx.shell("echo out; echo err >&2; pwd").cwd("inner").env("X", "1").await?;
            let argv = ctx.shell("printf").args(["%s|", "$X", "a b"]).await?;
            let fed = ctx.shell("tr a-z A-Z").input("text").await?;
            let three = ctx.shell("exit 3").unchecked().await?;
            let killed = ctx.shell("kill -9 $$").unchecked().await?;
            assert!(plain.stdout.ends_with("/ground/inner\n"), "{plain:?}");
            assert!(!plain.truncated && plain.stderr == "err\n", "{plain:?}");
            let codes = [three.exit_code, killed.exit_code, killed.signal.unwrap_or(0)];
            Ok(json!([argv.stdout, fed.stdout, codes]))
        })
    };
    assert_eq!(output(make).await, json!(["$X|a b|", "TEXT", [3, 137, 9]]));
}

#[tokio::test]
async fn what_goes_wrong_with_a_command_is_a_failure_of_its_kind() {
    let make = || {
        Workflow::new("main", |ctx: Ctx, (): ()| async move {
            let mut said = Vec::new();
            let mut note = |failure: Failure| said.push((failure.kind, failure.message));
            note(failure(ctx.shell("echo so it goes >&2; exit 3").await));
            note(failure(ctx.shell("sleep 1000").timeout(Duration::from_millis(100)).await));
            note(failure(ctx.shell("sleep 1001").idle_timeout(Duration::from_millis(100)).await));
            note(failure(ctx.shell("no-such-tool").args([""]).await));
            note(failure(ctx.shell("true").cwd("..").await));
            Ok(said)
        })
    };
    let said: Vec<(FailureKind, String)> =
        serde_json::from_value(output(make).await).expect("pairs");
    let expected = [
        (FailureKind::Error, "`echo so it goes >&2; exit 3` exited with 3: so it goes"),
        (FailureKind::Timeout, "`sleep 1000` took longer than it may"),
        (FailureKind::Timeout, "`sleep 1001` said nothing for longer than it may"),
        (FailureKind::NonRetryable, "`no-such-tool` can't be started"),
        (FailureKind::NonRetryable, "`..` leads out of the workspace"),
    ];
    for ((kind, message), (expected_kind, start)) in said.iter().zip(expected) {
        assert_eq!(*kind, expected_kind, "{message}");
        assert!(message.starts_with(start), "{message}");
    }
    assert_eq!(said.len(), expected.len());
}

/// Keeps output in memory.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl OutputSink for Kept {
    fn kept(&self, _: &Whose) -> u64 {
        self.0.lock().expect("nobody panics").len() as u64
    }

    fn write(&self, _: &Whose, position: u64, frame: &Frame) -> io::Result<()> {
        let mut kept = self.0.lock().expect("nobody panics");
        assert_eq!(position, kept.len() as u64);
        kept.extend_from_slice(&frame.bytes);
        Ok(())
    }
}

/// Counts itself, says something, waits until it may go on, says more, and counts again.
const SLOW: &str = "echo $$ >> pids; echo x >> begun; echo first; \
                    until [ -e go ]; do sleep 0.01; done; echo second; echo x >> finished";

fn slow() -> Workflow {
    Workflow::new("main", |ctx: Ctx, (): ()| async move { executed(&ctx).await })
}

async fn executed(ctx: &Ctx) -> Result<String> {
    Ok(ctx.shell(SLOW).name("slow").await?.stdout)
}

fn count(house: &House, file: &str) -> usize {
    fs::read_to_string(house.folder().join("ground").join(file)).unwrap_or_default().lines().count()
}

fn let_go(house: &House) {
    fs::write(house.folder().join("ground/go"), "").expect("a file");
}

/// What the killed process of these tests does.
pub(crate) async fn play(folder: &Path) {
    let house = House::at(folder, library(slow()));
    let life = live(&house);
    start(&house, &life, slow()).await;
    life.ends(run()).await;
}

/// The directory of the only try so far.
fn directory(house: &House) -> Directory {
    let of_run = house.folder().join("runs").join(run().to_string());
    let mut tries = fs::read_dir(of_run).expect("a folder");
    Directory::at(&tries.next().expect("a try").expect("an entry").path()).expect("a path")
}

fn process(number: i32) -> Pid {
    Pid::from_raw(number).expect("a process")
}

#[tokio::test]
async fn a_command_goes_on_when_its_engine_leaves_and_is_found_by_the_next_without_doubling_anything()
 {
    let house = house_of(slow());
    let kept = Kept::default();
    let with_sink = || {
        let settings = Settings { output: Box::new(kept.clone()), ..settings(house.folder()) };
        house.live(|builder| with_commands(builder, settings))
    };
    let life = with_sink();
    start(&house, &life, slow()).await;
    until("something is kept", async || kept.0.lock().expect("nobody panics").len() == 6).await;
    life.engine.leave().await;
    drop((life.store, life.owner));
    let life = with_sink();
    let_go(&house);
    life.ends(run()).await;
    life.engine.leave().await;
    assert_eq!(completed(&house).await, json!("first\nsecond\n"));
    assert_eq!(*kept.0.lock().expect("nobody panics"), b"first\nsecond\n");
    assert_eq!((count(&house, "begun"), count(&house, "finished")), (1, 1));
}

#[tokio::test]
async fn a_command_survives_the_kill_of_its_engine_and_runs_once() {
    let house = house_of(slow());
    let mut killed = part::start(&[], "commands", house.folder(), 0);
    until("the command runs", async || count(&house, "begun") == 1).await;
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    let life = live(&house);
    let_go(&house);
    life.ends(run()).await;
    life.engine.leave().await;
    assert_eq!(completed(&house).await, json!("first\nsecond\n"));
    assert_eq!((count(&house, "begun"), count(&house, "finished")), (1, 1));
}

#[tokio::test]
async fn a_command_whose_supervisor_is_killed_too_is_ended_and_executed_again() {
    let house = house_of(slow());
    let mut killed = part::start(&[], "commands", house.folder(), 0);
    until("the command runs", async || count(&house, "begun") == 1).await;
    killed.kill().expect("it can be killed");
    killed.wait().expect("it ends");
    let started = directory(&house).load_started().expect("it can be read").expect("it has begun");
    kill_process(process(started.supervisor), Signal::KILL).expect("it can be killed");
    let life = live(&house);
    until("it runs again", async || count(&house, "begun") == 2).await;
    let pids = fs::read_to_string(house.folder().join("ground/pids")).expect("processes");
    let first: i32 = pids.lines().next().expect("a process").parse().expect("a number");
    assert!(!is_alive(first), "the first is left");
    let_go(&house);
    life.ends(run()).await;
    life.engine.leave().await;
    assert_eq!(completed(&house).await, json!("first\nsecond\n"));
    assert_eq!(count(&house, "finished"), 1);
}

#[tokio::test]
async fn an_engine_that_is_stopped_ends_its_commands_and_the_next_executes_them_again() {
    let house = house_of(slow());
    let life = live(&house);
    start(&house, &life, slow()).await;
    until("the command runs", async || count(&house, "begun") == 1).await;
    life.engine.stop().await;
    let exit = directory(&house).load_exit().expect("it can be read");
    assert_eq!(exit.expect("it has ended").reason, Reason::Stopped);
    drop((life.store, life.owner));
    let_go(&house);
    let life = live(&house);
    life.ends(run()).await;
    life.engine.leave().await;
    assert_eq!(completed(&house).await, json!("first\nsecond\n"));
    assert_eq!((count(&house, "begun"), count(&house, "finished")), (2, 1));
}

#[tokio::test]
async fn a_cancelled_run_leaves_no_process() {
    let house = house_of(slow());
    let life = live(&house);
    start(&house, &life, slow()).await;
    until("the command runs", async || count(&house, "begun") == 1).await;
    let message =
        Message { key: InboxKey("cancel".into()), body: MessageBody::Cancel { reason: None } };
    life.engine.send(run(), message).await.expect("it is sent");
    life.ends(run()).await;
    life.engine.leave().await;
    assert!(matches!(house.outcome(run()).await, RunOutcome::Cancelled { .. }));
    let exit = directory(&house).load_exit().expect("it can be read");
    assert!(exit.is_some(), "nothing of it is alive");
    assert_eq!(count(&house, "finished"), 0);
    stop(directory(&house).path()).expect("there is nothing to stop");
}
