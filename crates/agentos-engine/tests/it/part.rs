//! Parts that are played by processes of their own, so that they can be killed.
//!
//! The test binary starts itself with the name of a part in its environment.

use std::path::Path;
use std::process::{Child, Command, Stdio};

const PART: &str = "AGENTOS_ENGINE_TEST_PART";
const FOLDER: &str = "AGENTOS_ENGINE_TEST_FOLDER";
const NUMBER: &str = "AGENTOS_ENGINE_TEST_NUMBER";

/// Starts a process that plays this part in this house, behind `wrapper` if that has any words.
#[expect(clippy::disallowed_methods, reason = "tests start and kill their own processes")]
pub(crate) fn start(wrapper: &[&str], part: &str, folder: &Path, number: u64) -> Child {
    let own = std::env::current_exe().expect("a test knows its binary");
    let mut words = wrapper.iter().map(std::ffi::OsStr::new).chain([own.as_os_str()]);
    let mut command = Command::new(words.next().expect("there is at least the binary"));
    command
        .args(words)
        .args(["--exact", "part::a_part_is_played_by_its_own_process", "--nocapture"])
        .env(PART, part)
        .env(FOLDER, folder)
        .env(NUMBER, number.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    command.spawn().expect("a process starts")
}

#[test]
fn a_part_is_played_by_its_own_process() {
    let (Ok(part), Ok(folder)) = (std::env::var(PART), std::env::var(FOLDER)) else {
        // Nobody has asked for a part: the binary itself is what is tested, and it can be found.
        assert!(std::env::current_exe().is_ok_and(|path| path.exists()));
        return;
    };
    let number = std::env::var(NUMBER).ok().and_then(|number| number.parse().ok()).unwrap_or(0);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let play = super::kills::play(&part, Path::new(&folder), number);
    runtime.expect("a runtime").block_on(play);
}
