//! The folder of a run, as others find it.

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_core::turn::LogLevel;
use agentos_store::folder::{FolderError, Line, RunFolder, StepName, Stream, make_self_ignoring};
use serde_json::{Value, json};
use uuid::Uuid;

fn run() -> RunId {
    RunId(Uuid::from_u128(0xabc))
}

#[test]
fn a_folder_holds_what_the_contract_says() {
    let project = tempfile::tempdir().unwrap();
    let folder = RunFolder::new(project.path(), run());
    let step = StepName {
        id: Uuid::from_u128(5),
        number: 2,
        name: "Über/Review (2nd)".into(),
        earlier: None,
    };
    let line = Line {
        ordinal: Some(1),
        at: Timestamp(1_000),
        level: LogLevel::Warn,
        step: Some(step),
        stream: Stream::Log,
        message: "careful".into(),
        piece: None,
    };
    folder.open_logs().unwrap().append(&[line]).unwrap();
    folder.write_metadata(&json!({ "id": run(), "status": "RUNNING" })).unwrap();

    let root = project.path().join(".agent/workflows/executions");
    assert_eq!(std::fs::read_to_string(root.join(".gitignore")).unwrap(), "*\n");
    let own = root.join(run().to_string());
    let expected = json!({ "at": "1970-01-01T00:00:01.000Z", "level": "warn", "step_id": Uuid::from_u128(5),
                           "stream": "log", "msg": "careful", "n": 1 });
    for file in ["logs/execution.log", "logs/step-2-ber-review-2nd.log"] {
        let text = std::fs::read_to_string(own.join(file)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(text.trim()).unwrap(), expected, "{file}");
    }
    let metadata: Value =
        serde_json::from_slice(&std::fs::read(own.join("metadata.json")).unwrap()).unwrap();
    assert_eq!(metadata["status"], "RUNNING");
    assert!(own.join("artifacts").is_dir());
}

#[test]
fn paths_are_relative_to_the_project_and_stay_in_the_folder() {
    let folder = RunFolder::new("/code/project".as_ref(), run());
    let id = run().to_string();
    let executions = format!(".agent/workflows/executions/{id}");
    assert_eq!(
        folder.log_file().to_str(),
        Some(format!("{executions}/logs/execution.log").as_str())
    );
    let artifact = folder.artifact_file(None, "report.xml").unwrap();
    assert_eq!(
        artifact.to_str(),
        Some(format!("{executions}/artifacts/execution/report.xml").as_str())
    );
    let of_step = folder.artifact_file(Some(Uuid::from_u128(5)), "a b.png").unwrap();
    assert!(of_step.to_str().unwrap().contains(&Uuid::from_u128(5).to_string()));
    for name in ["", ".", "..", "../x", "a/b", "/etc/passwd", ".hidden", "a\0b"] {
        assert!(
            matches!(folder.artifact_file(None, name), Err(FolderError::Name { .. })),
            "{name}"
        );
    }
    let long = folder.step_log_file(1, &"x".repeat(300));
    assert_eq!(long.file_name().unwrap().len(), "step-1-.log".len() + 60);
    assert!(folder.step_log_file(3, "…").ends_with("step-3-step.log"));
}

#[test]
fn a_folder_goes_on_being_ignored_after_a_crash_while_it_was_made() {
    let folder = tempfile::tempdir().unwrap();
    let ignored = folder.path().join(".gitignore");
    std::fs::write(&ignored, "").unwrap();
    make_self_ignoring(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&ignored).unwrap(), "*\n");
    std::fs::write(&ignored, "*\n!kept\n").unwrap();
    make_self_ignoring(folder.path()).unwrap();
    assert_eq!(std::fs::read_to_string(&ignored).unwrap(), "*\n!kept\n", "that is somebody's own");
}
