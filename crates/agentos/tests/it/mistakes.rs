//! Wrong names, wrong inputs, wrong moments: what is said, and with which exit status.

use std::fs;
use std::path::Path;

use agentos_testing::repo::snapshot;

use crate::support::{Stand, assert_seen};

#[test]
fn wrong_usage_is_answered_with_what_was_wrong_and_what_to_do() {
    let (stand, root) = Stand::with_repository();
    fs::write(root.join("broken.json"), "{").unwrap();
    let cases: &[(&str, i32, &[&str])] = &[
        ("unknown_command", 2, &["rnu"]),
        ("no_command", 2, &[]),
        ("unknown_flag", 2, &["status", "--jsno"]),
        ("unknown_workflow", 3, &["run", "nope"]),
        ("missing_input", 2, &["run", "greet"]),
        ("input_of_the_wrong_type", 2, &["run", "greet", "--name", "Ada", "--times", "many"]),
        ("input_out_of_bounds", 2, &["run", "greet", "--name", "Ada", "--times", "0"]),
        ("input_that_is_unknown", 2, &["run", "greet", "--name", "Ada", "--input", "age=3"]),
        ("input_without_a_value", 2, &["run", "greet", "--input", "name"]),
        ("input_file_missing", 2, &["run", "greet", "--input-file", "no.json"]),
        ("input_file_broken", 2, &["run", "greet", "--input-file", "broken.json"]),
        ("file_missing", 2, &["run", "greet", "--name", "Ada", "--brief", "no.md"]),
        ("file_that_is_a_folder", 2, &["run", "greet", "--name", "Ada", "--brief", "."]),
        ("workspace_kind", 2, &["run", "greet", "--name", "Ada", "--workspace", "tree"]),
        ("unknown_status", 2, &["status", "--status", "done"]),
        ("nothing_to_resume", 2, &["resume"]),
    ];
    for (title, code, arguments) in cases {
        let done = stand.run(&root, arguments).exits(*code);
        assert_eq!(done.out, "", "{title}");
        assert_seen!(&stand, format!("mistake_{title}"), done.seen());
    }
    assert!(!root.join(".agentos").exists(), "a mistake creates nothing");
}

#[test]
fn a_run_that_is_not_there_or_not_meant_clearly_is_said_so() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    for verb in ["show", "logs", "cancel", "retry", "resume", "approve"] {
        let done = stand.run(&root, &[verb, "nope"]).exits(3);
        assert!(done.err.starts_with("error: there is no run `nope`"), "{verb}: {done:#?}");
    }
    stand.run(&root, &["signal", "nope", "go"]).exits(3);
    stand.run(&root, &["run", "greet", "--name", "Bob"]).exits(0);
    let names: Vec<String> = stand.runs(&root).iter().map(crate::support::name).collect();
    for verb in ["show", "logs", "cancel", "retry", "resume", "approve"] {
        let done = stand.run(&root, &[verb, "greet"]).exits(2);
        assert!(names.iter().all(|name| done.err.contains(name.as_str())), "{verb}: {done:#?}");
    }
    stand.run(&root, &["show", &names[0]]).exits(0);
}

#[test]
fn what_has_ended_stays_so() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let before = stand.show(&root, "greet");
    let cases: &[(&str, i32, &[&str])] = &[
        ("cancel", 0, &["cancel", "greet"]),
        ("resume", 2, &["resume", "greet"]),
        ("resume_detached", 2, &["resume", "--detach", "greet"]),
        ("retry", 4, &["retry", "greet"]),
        ("signal", 2, &["signal", "greet", "go"]),
        ("approve", 3, &["approve", "greet"]),
    ];
    for (title, code, arguments) in cases {
        let done = stand.run(&root, arguments).exits(*code);
        assert_seen!(&stand, format!("ended_{title}"), done.seen());
    }
    assert_eq!(stand.show(&root, "greet"), before);
    assert_eq!(stand.executors(), [0; 0]);
}

#[test]
fn a_broken_configuration_is_named_by_file_and_line() {
    let (stand, root) = Stand::with_repository();
    fs::create_dir(root.join(".agent")).unwrap();
    for (title, text) in [
        ("syntax", "[run]\nconcurrency = \n"),
        ("key", "[run]\nconcurrancy = 3\n"),
        ("value", "\n\n[run]\nconcurrency = \"many\"\n"),
    ] {
        fs::write(root.join(".agent/config.toml"), text).unwrap();
        let done = stand.run(&root, &["status"]).exits(2);
        assert!(done.err.contains("config.toml:"), "{done:#?}");
        assert_seen!(&stand, format!("configuration_{title}"), done.seen());
    }
}

fn refused(stand: &Stand, root: &Path, title: &str) {
    let before = snapshot(root);
    for arguments in [&["status"][..], &["run", "greet", "--name", "Ada"]] {
        let done = stand.run(root, arguments).exits(4);
        if arguments == ["status"] {
            assert_seen!(stand, format!("database_{title}"), done.seen());
        }
    }
    let after = snapshot(root);
    let database = root.join(".agentos/issue_workflow.db");
    assert_eq!(before[&database], after[&database], "not one byte is changed");
}

#[test]
fn a_database_that_is_not_ours_is_refused_and_left_alone() {
    let (stand, root) = Stand::with_repository();
    fs::create_dir(root.join(".agentos")).unwrap();
    let path = root.join(".agentos/issue_workflow.db");
    fs::write(&path, "just a text, long enough to be looked at as one, I should think\n").unwrap();
    refused(&stand, &root, "text");
    // A database of SQLite without a schema of ours, as another program would leave it.
    let mut page = vec![0_u8; 4096];
    page[..16].copy_from_slice(b"SQLite format 3\0");
    page[16..24].copy_from_slice(&[0x10, 0, 1, 1, 0, 64, 32, 32]);
    page[28..32].copy_from_slice(&1_u32.to_be_bytes());
    page[44..48].copy_from_slice(&4_u32.to_be_bytes());
    page[56..60].copy_from_slice(&1_u32.to_be_bytes());
    page[68..72].copy_from_slice(&0x0bad_cafe_u32.to_be_bytes());
    page[100] = 0x0d;
    page[105] = 0x10;
    fs::write(&path, &page).unwrap();
    refused(&stand, &root, "foreign");
}

#[test]
fn a_database_of_a_newer_version_is_refused_and_left_alone() {
    let (stand, root) = Stand::with_repository();
    stand.run(&root, &["run", "greet", "--name", "Ada"]).exits(0);
    let path = root.join(".agentos/issue_workflow.db");
    // What is still in the log beside it would hide what is changed here.
    let mut bytes = fs::read(&path).unwrap();
    for beside in ["-wal", "-shm"] {
        let beside = format!("{}{beside}", path.display());
        if Path::new(&beside).exists() {
            fs::remove_file(beside).unwrap();
        }
    }
    bytes[60..64].copy_from_slice(&9_999_u32.to_be_bytes());
    fs::write(&path, &bytes).unwrap();
    refused(&stand, &root, "newer");
}
