//! The description of the API tells of every problem: each address lists the kinds that it can answer with, by status.

use std::collections::{BTreeMap, BTreeSet};

use agentos_server::house::Refusal;
use agentos_server::house::errors::{
    AddProjectError, ApproveError, CancelError, CleanError, CommentError, DiffError, ExecuteError,
    ForkError, ListProjectsError, ListWorkspacesError, OpenArtifactError, OpenLogError,
    OperationsError, RemoveProjectError, RemoveWorkflowError, RestoreError, ResumeError,
    RetryError, ShowWorkspaceError, SignalError,
};
use agentos_server::openapi;
use agentos_server::problem::ProblemKind;
use serde_json::Value;

/// The kinds that each operation lists, by its id.
fn listed() -> BTreeMap<String, BTreeSet<ProblemKind>> {
    let described = serde_json::to_value(openapi()).expect("a document");
    let items = described["paths"].as_object().expect("paths").values();
    let operations = items.flat_map(|item| item.as_object().expect("an item").values());
    operations
        .map(|operation| {
            let id = operation["operationId"].as_str().expect("an id").to_owned();
            let responses = operation["responses"].as_object().expect("responses");
            let kinds = responses.iter().flat_map(|(status, response)| {
                let shared = response["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
                let response = shared.map_or(Some(response), |name| described.pointer(name));
                kinds_of(&id, status, response.expect("a response"))
            });
            (id.clone(), kinds.collect())
        })
        .collect()
}

/// The kinds of one response, which all have its status.
fn kinds_of(id: &str, status: &str, response: &Value) -> Vec<ProblemKind> {
    let schema = &response["content"]["application/problem+json"]["schema"];
    let types = schema.pointer("/allOf/1/properties/type/enum").and_then(Value::as_array);
    let known = |kind: &Value| {
        let slug = kind.as_str().and_then(|kind| kind.strip_prefix("urn:agentos:problem:"));
        let known = ProblemKind::ALL.iter().find(|known| Some(known.slug()) == slug);
        let known = *known.unwrap_or_else(|| panic!("{id} {status} tells of {kind}"));
        assert_eq!(known.status().as_str(), status, "{id} tells of {kind} in a wrong place");
        assert!(response["description"].as_str().expect("words").contains(known.title()));
        known
    };
    let kinds: Vec<ProblemKind> = types.into_iter().flatten().map(known).collect();
    assert_eq!(kinds.is_empty(), status < "400", "{id} {status}");
    kinds
}

#[test]
fn every_address_tells_of_what_any_request_can_meet() {
    use ProblemKind::{Busy, Failed, ForeignHost, ForeignPage, TokenNeeded, TooSlow, UnclearHost};
    for (id, kinds) in listed() {
        for kind in [Busy, Failed, ForeignHost, ForeignPage, TokenNeeded, TooSlow, UnclearHost] {
            assert!(kinds.contains(&kind), "{id} does not tell of {}", kind.slug());
        }
    }
}

#[test]
fn every_address_tells_of_every_cause_that_its_operation_knows() {
    let listed = listed();
    let tells = |id: &str, causes: &[ProblemKind]| {
        let missing: Vec<&str> = causes
            .iter()
            .filter(|kind| !listed[id].contains(kind))
            .map(|kind| kind.slug())
            .collect();
        assert!(missing.is_empty(), "{id} does not tell of {missing:?}");
    };
    for (id, causes) in [
        ("listProjects", ListProjectsError::KINDS),
        ("getProject", ListProjectsError::KINDS),
        ("addProject", AddProjectError::KINDS),
        ("removeProject", RemoveProjectError::KINDS),
        ("listWorkflows", ListProjectsError::KINDS),
        ("getWorkflow", ListProjectsError::KINDS),
        ("removeWorkflow", RemoveWorkflowError::KINDS),
        ("executeWorkflow", ExecuteError::KINDS),
        ("getExecution", OperationsError::KINDS),
        ("cancelExecution", CancelError::KINDS),
        ("resumeExecution", ResumeError::KINDS),
        ("retryExecution", RetryError::KINDS),
        ("forkExecution", ForkError::KINDS),
        ("signalExecution", SignalError::KINDS),
        ("approveExecution", ApproveError::KINDS),
        ("commentOnExecution", CommentError::KINDS),
        ("getDiff", DiffError::KINDS),
        ("downloadArtifact", OpenArtifactError::KINDS),
        ("downloadLogs", OpenLogError::KINDS),
        ("listLogs", OpenLogError::KINDS),
        ("listWorkspaces", ListWorkspacesError::KINDS),
        ("getWorkspace", ShowWorkspaceError::KINDS),
        ("cleanWorkspace", CleanError::KINDS),
        ("restoreWorkspace", RestoreError::KINDS),
    ] {
        tells(id, causes);
    }
}

#[test]
fn every_kind_is_told_of_somewhere() {
    // Those of addresses that are none, and of the WebSocket.
    let elsewhere = [
        ProblemKind::NothingHere,
        ProblemKind::OtherMethod,
        ProblemKind::UpgradeNeeded,
        ProblemKind::TooMuch,
    ];
    let all: BTreeSet<ProblemKind> = listed().into_values().flatten().collect();
    let missing: Vec<&ProblemKind> = ProblemKind::ALL
        .iter()
        .filter(|kind| !all.contains(kind) && !elsewhere.contains(kind))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}
