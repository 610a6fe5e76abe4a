//! A command whose output finds no room, for longer than it waits for it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use agentos_core::entry::Entry;
use agentos_engine::shell::Settings;
use agentos_process::directory::Directory;
use agentos_sdk::{Ctx, Workflow};
use agentos_store::log::load_whole_log;
use agentos_testing::wait::{is_alive, until};
use serde_json::json;

use crate::commands::{completed, house_of, run, settings, start, with_commands};

/// Where the process of the test finds its disk.
const DISK: &str = "AGENTOS_ENGINE_TEST_DISK";

/// Mounts a small disk, and executes the rest.
const SMALL_DISK: &str = "mount -t tmpfs -o size=256k tmpfs \"$0\" && exec \"$@\"";

#[expect(clippy::disallowed_methods, reason = "it is this test again, and it is waited for")]
fn in_a_process_with_a_disk(test: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let user = if rustix::process::getuid().is_root() { "--mount" } else { "-rm" };
    let mut child = Command::new("unshare");
    child.args([user, "sh", "-c", SMALL_DISK]).arg(folder.path());
    child.arg(std::env::current_exe().expect("this program"));
    child.args([test, "--exact", "--nocapture"]).env(DISK, folder.path());
    let output = child.output().expect("it is executed");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && said.contains("1 passed"), "{output:?}");
}

fn workflow() -> Workflow {
    let command = "echo x >> begun; until [ -e go ]; do sleep 0.01; done; echo 42; touch said";
    Workflow::new("main", move |ctx: Ctx, (): ()| async move {
        Ok(ctx.shell(command).name("ask").await?.stdout)
    })
}

/// The supervisor of the only command on the disk.
fn supervisor(disk: &Path) -> i32 {
    let of_run = disk.join("runs").join(run().to_string());
    let path: PathBuf =
        fs::read_dir(of_run).expect("a folder").next().expect("a try").expect("an entry").path();
    let started = Directory::at(&path).expect("a path").load_started().expect("it can be read");
    started.expect("it has begun").supervisor
}

#[tokio::test]
async fn a_command_whose_output_finds_no_room_is_interrupted_and_executed_again() {
    let name = "room::a_command_whose_output_finds_no_room_is_interrupted_and_executed_again";
    let Some(disk) = std::env::var_os(DISK).map(PathBuf::from) else {
        return in_a_process_with_a_disk(name);
    };
    let house = house_of(workflow());
    let ground = house.folder().join("ground");
    let life = house.live(|builder| {
        let room = Duration::from_millis(200);
        with_commands(builder, Settings { room, ..settings(&disk) })
    });
    start(&house, &life, workflow()).await;
    until("the command runs", async || ground.join("begun").exists()).await;
    let (supervisor, ballast) = (supervisor(&disk), disk.join("ballast"));
    let _all_of_it = fs::write(&ballast, vec![0; 1 << 20]);
    fs::write(ground.join("go"), "").expect("a file elsewhere");
    until("the supervisor has given up", async || !is_alive(supervisor)).await;
    assert!(ground.join("said").exists(), "the command itself has ended well");
    fs::remove_file(ballast).expect("there is room");
    life.ends(run()).await;
    life.engine.leave().await;
    assert_eq!(completed(&house).await, json!("42\n"));
    let begun = fs::read_to_string(ground.join("begun")).expect("a count");
    assert_eq!(begun.lines().count(), 2, "it was executed again");
    let log = load_whole_log(&house.store(), run()).await.expect("a log");
    let entries = log.iter().flat_map(|chunk| &chunk.entries);
    let interrupted = entries.filter(|entry| matches!(entry, Entry::OperationInterrupted { .. }));
    assert_eq!(interrupted.count(), 1);
}
