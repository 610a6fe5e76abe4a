//! Secrets that commands print: nobody ever sees them, wherever one looks.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::site::{Process, Site, files_below};
use crate::support::wait_until;

const DECLARED: &str = "correct-horse-battery-staple";
const NAMED: &str = "tok_4f9a8b7c6d5e";

/// Prints both at once, one in two pieces and to standard error, then waits, and fails with one as its last word.
const CHATTY: &str = r#"echo "at once $CREDENTIAL and $DEPLOY_TOKEN";
    printf 'in pieces %s' "$(printf %s "$CREDENTIAL" | cut -c1-9)" >&2; sleep 0.3;
    printf '%s\n' "$(printf %s "$CREDENTIAL" | cut -c10-)" >&2; echo spoken;
    while [ ! -e go ]; do sleep 0.02; done; "#;

fn with_secrets(site: &Site, mut command: Command) -> Command {
    let config = site.repo.join(".agent/config.toml");
    fs::create_dir_all(config.parent().expect("a folder")).expect("a folder");
    let text = "[shell]\npass = [\"CREDENTIAL\", \"DEPLOY_TOKEN\"]\n\n[secrets]\nnames = [\"CREDENTIAL\"]\n";
    fs::write(config, text).expect("a file");
    command.env("CREDENTIAL", DECLARED).env("DEPLOY_TOKEN", NAMED);
    command
}

#[track_caller]
fn assert_unseen(what: &str, bytes: &[u8]) {
    // Neither whole nor the longer piece of it.
    for secret in [DECLARED, NAMED, &DECLARED[9..]] {
        let is_seen = bytes.windows(secret.len()).any(|seen| seen == secret.as_bytes());
        assert!(!is_seen, "`{secret}` is seen in {what}");
    }
}

/// Every byte that is kept in the repository: database, logs, documents, directories of commands.
#[track_caller]
fn assert_unseen_below(folder: &Path) {
    let files = files_below(folder);
    assert!(files.iter().any(|path| path.ends_with("issue_workflow.db")), "{files:?}");
    for path in files {
        // One may be gone by now.
        let bytes = fs::read(&path).unwrap_or_default();
        assert_unseen(&path.display().to_string(), &bytes);
    }
}

/// Runs a workflow with a command, and looks everywhere while it runs and when it has ended.
fn assert_unseen_anywhere(workflow: &str, last_words: &str) {
    let site = Site::new();
    let input = json!({ "command": format!("{CHATTY}{last_words}") });
    let process = Process::start(with_secrets(&site, site.run_command(workflow, &input)));
    site.until_spoken("spoken", 1);
    assert_unseen_below(&site.repo);
    site.go();
    let done = process.done().exits(1);
    assert!(done.out.contains("***"), "something was masked: {done:#?}");
    let run = site.only_run();
    let looks = [
        vec!["show", &run],
        vec!["show", "--json", &run],
        vec!["logs", &run],
        vec!["logs", "--json", &run],
        vec!["logs", "--step", "1", &run],
        vec!["status"],
    ];
    for look in looks {
        let seen = site.call(&look).exits(0);
        assert_unseen(&look.join(" "), (seen.out + &seen.err).as_bytes());
    }
    assert_unseen("what `run` says", (done.out + &done.err).as_bytes());
    assert_unseen_below(&site.repo);
    let said: Vec<String> = site.spoken().into_iter().map(|(_, line)| line).collect();
    assert!(said.contains(&"at once *** and ***".to_owned()), "{said:?}");
    assert!(said.contains(&"in pieces ***".to_owned()), "{said:?}");
}

#[test]
fn a_secret_in_the_last_words_of_a_failed_command_is_masked_everywhere() {
    assert_unseen_anywhere("forge", r#"echo "it was $CREDENTIAL" >&2; exit 7"#);
}

#[test]
fn a_secret_that_a_workflow_repeats_was_masked_before_the_workflow_saw_it() {
    assert_unseen_anywhere("gossip", r#"echo "it was $DEPLOY_TOKEN""#);
}

#[test]
fn a_secret_is_masked_though_agentos_was_killed_in_the_middle_of_it() {
    let site = Site::new();
    let command = r#"printf %s "$(printf %s "$CREDENTIAL" | cut -c1-9)"; touch half;
        while [ ! -e go ]; do sleep 0.02; done; printf '%s\n' "$(printf %s "$CREDENTIAL" | cut -c10-)""#;
    let begin = site.run_command("forge", &json!({ "command": command }));
    let process = Process::start(with_secrets(&site, begin));
    wait_until("half of it is written", || site.repo.join("half").exists());
    process.kill();
    site.go();
    // Whoever goes on does not know the secret.
    let resumed = site.call(&["resume", "--json", &site.only_run()]).exits(0).document();
    assert_eq!(resumed["output"]["stdout"], "***\n");
    assert_unseen_below(&site.repo);
}
