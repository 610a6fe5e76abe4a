//! Runs that another process drives: the test binary starts itself with the name of a part in its environment.

use std::process::{Child, Command, Stdio};

use super::writer::{Writer, open};

const PART: &str = "AGENTOS_SERVER_TEST_PART";

/// A process that drives run `number` of the database to its end, with so many commits.
#[expect(clippy::disallowed_methods, reason = "tests watch their own processes")]
pub(crate) fn drive(database: &std::path::Path, number: u128, commits: usize) -> Child {
    let own = std::env::current_exe().expect("a test knows its binary");
    let mut command = Command::new(own);
    command
        .args(["--exact", "live::child::a_run_is_driven_by_its_own_process", "--nocapture"])
        .env(PART, format!("{}\n{number}\n{commits}", database.display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.spawn().expect("a process starts")
}

#[tokio::test]
async fn a_run_is_driven_by_its_own_process() {
    let Ok(part) = std::env::var(PART) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
        return;
    };
    let part: Vec<&str> = part.split('\n').collect();
    let store = open(part[0].as_ref());
    let mut writer = Writer::start(&store, part[1].parse().unwrap()).await;
    for commit in 0..part[2].parse().unwrap() {
        let texts = [format!("{commit}a"), format!("{commit}b")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        writer.note(&texts[..1 + commit % 2]).await;
    }
    writer.end().await;
}
