//! What people see: every command's answer, help and complaint, as it stands on the screen.

use std::fs;
use std::path::Path;

use crate::support::{Stand, assert_seen, name};

#[test]
fn help_says_what_each_command_takes() {
    let (stand, root) = Stand::with_repository();
    let commands = [
        "",
        "run",
        "resume",
        "status",
        "query",
        "top",
        "show",
        "logs",
        "artifacts",
        "diff",
        "cancel",
        "retry",
        "fork",
        "signal",
        "approve",
        "workflows",
        "mcp",
        "token",
        "token create",
        "token list",
        "token revoke",
        "db",
        "db path",
        "db link",
        "db unlink",
        "db migrate",
        "db check",
        "db prune",
        "config",
    ];
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
        let help = stand.run(&root, &words).exits(0);
        assert_eq!(help.err, "");
        let title = format!("help_{}", command.replace(' ', "_"));
        assert_seen!(&stand, title.trim_end_matches('_'), help.out);
    }
}

#[test]
fn help_for_a_workflow_lists_its_inputs() {
    let (stand, root) = Stand::with_repository();
    let help = stand.run(&root, &["run", "greet", "--help"]).exits(0);
    let inputs = help.out.split_once("Inputs:").expect("they are listed").1;
    assert_seen!(&stand, "help_of_a_workflow", inputs);
    assert!(!inputs.contains("--json"), "that name is taken: {inputs}");
    assert_eq!(stand.run(&root, &["--version"]).exits(0).out, "agentos 0.1.0\n");
}

#[test]
fn a_run_is_told_line_by_line_where_there_is_no_terminal() {
    let (stand, root) = Stand::with_repository();
    let arguments = ["run", "greet", "--name", "Ada", "--times=2", "--loud"];
    assert_seen!(&stand, "run_greet", stand.run(&root, &arguments).exits(0).seen_in_any_order());
    assert_seen!(&stand, "show_greet", stand.run(&root, &["show", "greet"]).exits(0).seen());
    assert_seen!(&stand, "logs_greet", stand.run(&root, &["logs", "greet"]).exits(0).seen());
    assert_seen!(&stand, "status_greet", stand.run(&root, &["status"]).exits(0).seen());
    let failing = ["run", "mend", "--input", "file=no", "--input", "counted=counted"];
    // Whether the first attempt is seen depends on when somebody looks.
    let told = stand.run(&root, &failing).exits(1).out.clone();
    assert!(told.contains("step 2 try: started (attempt 2/2)"), "{told}");
    assert!(told.trim_end().ends_with(": it is still broken"), "{told}");
    assert_seen!(&stand, "show_mend", stand.run(&root, &["show", "mend"]).exits(0).seen());
}

#[test]
fn listings_where_there_is_nothing_say_so() {
    let (stand, root) = Stand::with_repository();
    assert_seen!(&stand, "status_empty", stand.run(&root, &["status"]).exits(0).seen());
    assert_seen!(&stand, "due_empty", stand.run(&root, &["resume", "--due"]).exits(0).seen());
    let own = Path::new(env!("CARGO_BIN_EXE_agentos"));
    let bare = |arguments: &[&str]| stand.call_program(own, &root, arguments).done();
    assert_seen!(&stand, "workflows_built_in", bare(&["workflows"]).exits(0).seen());
    assert_seen!(&stand, "run_without_workflows", bare(&["run", "something"]).exits(3).seen());
    assert!(!root.join(".agentos").exists(), "looking creates nothing");
}

#[test]
fn workflows_configuration_and_the_database_are_told() {
    let (stand, root) = Stand::with_repository();
    fs::create_dir(root.join(".agent")).unwrap();
    fs::write(root.join(".agent/config.toml"), "[run]\nconcurrency = 7\n").unwrap();
    for (title, arguments) in [
        ("workflows", &["workflows"][..]),
        ("config", &["config"]),
        ("config_json", &["config", "--json"]),
        ("db_path", &["db", "path"]),
        ("db_path_explained", &["db", "path", "--explain"]),
    ] {
        let call = stand.call(&root, arguments).env("AGENTOS_LOG", "error");
        assert_seen!(&stand, title, call.done().exits(0).seen());
    }
}

#[test]
fn documents_have_the_promised_shape() {
    let (stand, root) = Stand::with_repository();
    let run = stand.run(&root, &["run", "greet", "--json", "--name", "Ada"]).exits(0).document();
    assert_eq!(run["status"], "COMPLETED");
    assert_eq!(run["output"]["said"], "hello Ada");
    let mut names: Vec<&str> = run.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_seen!(&stand, "document_of_a_run", names.join("\n"));
    for arguments in [&["status", "--json"][..], &["workflows", "--json"]] {
        let listing = stand.run(&root, arguments).exits(0).document();
        let mut names: Vec<&str> =
            listing.as_object().unwrap().keys().map(String::as_str).collect();
        names.sort_unstable();
        // A view over several databases also says which of them are missing.
        names.retain(|name| *name != "unreadable");
        assert_eq!(names, ["items", "limit", "next", "page", "total"], "{arguments:?}");
    }
    let page = |number: &str| {
        stand
            .run(&root, &["status", "--json", "--limit", "1", "--page", number])
            .exits(0)
            .document()
    };
    stand.run(&root, &["run", "greet", "--name", "Bob"]).exits(0);
    let (first, second) = (page("1"), page("2"));
    assert_eq!((&first["total"], &second["total"]), (&2.into(), &2.into()));
    assert_eq!(name(&second["items"][0]), name(&run), "the newest is first");
    assert!(first["next"].is_string() && second["next"].is_null(), "{first} {second}");
}

#[test]
fn inputs_come_from_flags_pairs_files_and_standard_input() {
    let (stand, root) = Stand::with_repository();
    fs::write(root.join("input.json"), r#"{"name": "file", "times": 3}"#).unwrap();
    let said = |arguments: &[&str], input: Option<&str>| {
        let words: Vec<&str> =
            ["run", "greet", "--json"].iter().chain(arguments).copied().collect();
        let call = stand.call(&root, &words);
        let call = match input {
            Some(text) => call.input(text),
            None => call,
        };
        call.done().exits(0).document()["output"]["said"].as_str().unwrap().to_owned()
    };
    assert_eq!(said(&["--input-file", "input.json", "--times", "1"], None), "hello file");
    assert_eq!(said(&["--input", "-"], Some(r#"{"name": "stdin"}"#)), "hello stdin");
    assert_eq!(said(&["--input", "name=pair", "--input", "loud=true"], None), "HELLO PAIR");
    assert_eq!(said(&["--input", "-", "--name", "flag"], Some(r#"{"name": "no"}"#)), "hello flag");
}

#[test]
fn a_file_that_is_an_input_is_read_where_the_command_was_called_and_kept_with_the_run() {
    let (stand, root) = Stand::with_repository();
    let below = root.join("docs/deep");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("notes.md"), "be kind").unwrap();
    let arguments = ["run", "greet", "--json", "--name", "Ada", "--brief", "notes.md"];
    let run = stand.run(&below, &arguments).exits(0).document();
    assert_eq!(run["output"]["brief"], "be kind");
    assert_eq!(run["input"]["brief"], "docs/deep/notes.md", "it is told as it was given");
    let copy = Path::new(run["context_dir"].as_str().unwrap()).join("brief/notes.md");
    assert_eq!(fs::read_to_string(copy).unwrap(), "be kind");
}
