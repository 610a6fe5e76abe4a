//! What a script asks for, read from JSON: one piece for each call of `ctx`.
//!
//! Unknown options are refused by name. An option that is silently ignored is a bug that nobody finds.

mod agent;
mod files;
mod git;

use std::collections::BTreeMap;
use std::hash::Hasher;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::invocation::Invoked;
use agentos_core::operation::{OperationKind, Request};
use agentos_core::program::StepOptions;
use agentos_core::retry::RetryPolicy;
use agentos_core::value::Value;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use siphasher::sip::SipHasher24;

use crate::config::{Milliseconds, Retry};
use crate::desk::Desk;
use crate::failure::named;
use crate::run::RunInfo;

/// The kinds by the numbers under which the prelude knows them.
const KINDS: [OperationKind; 9] = [
    OperationKind::Shell,
    OperationKind::Artifact,
    OperationKind::Sleep,
    OperationKind::Wait,
    OperationKind::Approve,
    OperationKind::Invoke,
    OperationKind::Files,
    OperationKind::Git,
    OperationKind::Agent,
];

/// What the prelude means by a number.
pub(crate) fn kind(number: usize) -> Option<OperationKind> {
    KINDS.get(number).copied()
}

/// The request that a call of `ctx` stands for.
///
/// # Errors
/// Its arguments are not what they should be.
pub(crate) fn request(number: usize, args: &str, desk: &Desk) -> Result<Request, Failure> {
    match kind(number) {
        Some(OperationKind::Shell) => shell(read("ctx.shell(command, options)", args)?, &desk.info),
        Some(OperationKind::Artifact) => artifact(read("ctx.artifact(name, content)", args)?),
        Some(OperationKind::Sleep) => {
            let (length,): (Milliseconds,) = read("ctx.sleep(ms)", args)?;
            Ok(Request::sleep(named("sleep")?, length.millis()))
        }
        Some(OperationKind::Wait) => {
            let (event, options): (String, Option<WaitOptions>) =
                read("ctx.waitFor(event, options)", args)?;
            let timeout = options.and_then(|options| options.timeout).map(Milliseconds::millis);
            Ok(Request::wait(named(&event)?, timeout))
        }
        Some(OperationKind::Approve) => {
            let (question, options): (String, Option<ApproveOptions>) =
                read("ctx.approve(question, options)", args)?;
            approve(&question, options.unwrap_or_default(), &desk.info)
        }
        Some(OperationKind::Invoke) => {
            let (workflow, input, options): (String, Value, Option<InvokeOptions>) =
                read("ctx.invoke(workflow, input, options)", args)?;
            let workspace = options.and_then(|options| options.workspace);
            let has_own_workspace = matches!(workspace, Some(ChildWorkspace::Own));
            let invoked = Invoked { input, has_own_workspace };
            Ok(Request::invoke(named(&workflow)?, invoked.into_args()))
        }
        Some(OperationKind::Files) => files::request(args),
        Some(OperationKind::Git) => git::request(args),
        Some(OperationKind::Agent) => agent::request(args, &desk.roles),
        _ => Err(Failure::new(FailureKind::NonRetryable, "there is no such operation")),
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ShellOptions {
    name: Option<String>,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    env: BTreeMap<String, String>,
    timeout: Option<Milliseconds>,
    idle_timeout: Option<Milliseconds>,
    input: Option<String>,
    check: Option<bool>,
}

fn shell(
    (command, options): (String, Option<ShellOptions>),
    info: &RunInfo,
) -> Result<Request, Failure> {
    let ShellOptions { name, args, cwd, env, timeout, idle_timeout, input, check } =
        options.unwrap_or_default();
    let name = name.unwrap_or_else(|| hashed(&command, info));
    let mut order = json!({ "command": command });
    let fields = [
        ("args", args.map(|args| json!(args))),
        ("cwd", cwd.map(Value::String)),
        ("env", (!env.is_empty()).then(|| json!(env))),
        ("timeout_ms", timeout.map(|timeout| json!(timeout.millis()))),
        ("idle_timeout_ms", idle_timeout.map(|timeout| json!(timeout.millis()))),
        ("input", input.map(Value::String)),
        ("check", check.filter(|check| !check).map(Value::Bool)),
    ];
    fill(&mut order, fields);
    perform(OperationKind::Shell, &name, order)
}

/// Adds the fields that have a value.
fn fill<const N: usize>(order: &mut Value, fields: [(&str, Option<Value>); N]) {
    for (key, value) in fields {
        if let Some(value) = value {
            order[key] = value;
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ArtifactContent {
    content: Option<String>,
    file: Option<String>,
    #[serde(default = "other")]
    r#type: ArtifactType,
    mime_type: Option<String>,
    metadata: Option<Value>,
}

#[derive(Deserialize, serde::Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum ArtifactType {
    Screenshot,
    LogFile,
    SessionFile,
    TestReport,
    BuildOutput,
    Document,
    Other,
}

const fn other() -> ArtifactType {
    ArtifactType::Other
}

fn artifact((name, given): (String, ArtifactContent)) -> Result<Request, Failure> {
    let ArtifactContent { content, file, r#type, mime_type, metadata } = given;
    if content.is_some() == file.is_some() {
        let message = format!(
            "the artifact `{name}` needs either `content`, a text, or `file`, a path in the workspace"
        );
        return Err(Failure::new(FailureKind::NonRetryable, message));
    }
    let mut order = json!({ "type": r#type });
    let fields = [
        ("content", content.map(Value::String)),
        ("file", file.map(Value::String)),
        ("mime_type", mime_type.map(Value::String)),
        ("metadata", metadata),
    ];
    fill(&mut order, fields);
    perform(OperationKind::Artifact, &name, order)
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct InvokeOptions {
    workspace: Option<ChildWorkspace>,
}

/// Where a child run works.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ChildWorkspace {
    Parent,
    Own,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct WaitOptions {
    timeout: Option<Milliseconds>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ApproveOptions {
    name: Option<String>,
    timeout: Option<Milliseconds>,
    /// What differs, which the prelude has asked for before.
    diff: Option<Value>,
}

fn approve(question: &str, options: ApproveOptions, info: &RunInfo) -> Result<Request, Failure> {
    let ApproveOptions { name, timeout, diff } = options;
    let name = named(&name.unwrap_or_else(|| hashed(question, info)))?;
    let request = Request::approve(name, question, timeout.map(Milliseconds::millis));
    Ok(match diff.filter(Value::is_object) {
        Some(diff) => request.about("diff", git::asked(diff)),
        None => request,
    })
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct RunOptions {
    retry: Option<Retry>,
    timeout: Option<Milliseconds>,
    /// A function is no JSON: it stays where it is.
    on_retry: Option<OnRetry>,
}

/// What a step says about its further attempts, if that is no function.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum OnRetry {
    Rollback,
}

/// How a step is executed; `base` is how those are retried that say nothing about it.
///
/// # Errors
/// The options are not what they should be.
pub(crate) fn step_options(options: &str, base: RetryPolicy) -> Result<StepOptions, Failure> {
    if options == "null" {
        return Ok(StepOptions { retry: base, ..StepOptions::default() });
    }
    let RunOptions { retry, timeout, on_retry } = read("ctx.run(name, body, options)", options)?;
    let retry = retry.map_or(base, |retry| retry.over(base));
    let timeout = timeout.map(Milliseconds::millis);
    let rolls_back = matches!(on_retry, Some(OnRetry::Rollback));
    Ok(StepOptions { retry, timeout, rolls_back, ..StepOptions::default() })
}

fn perform(kind: OperationKind, name: &str, order: Value) -> Result<Request, Failure> {
    Request::perform(kind, named(name)?, order)
        .map_err(|error| Failure::new(FailureKind::NonRetryable, error.to_string()))
}

fn read<T: DeserializeOwned>(call: &str, json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| {
        let error = error.to_string();
        // Where in the JSON it was says nothing to whoever wrote TypeScript.
        let error = error.split(" at line ").next().unwrap_or_default();
        let error = if error.ends_with("hex escape") {
            "half of a character is in a text (a lone surrogate), which no log can hold"
        } else {
            error
        };
        Failure::new(FailureKind::NonRetryable, format!("{call}: {error}"))
    })
}

/// The name of an operation whose author gave it none: the same text, the same name. The run's own ids and paths do not
/// count, so that a fork asks for the same things.
fn hashed(text: &str, info: &RunInfo) -> String {
    let own = [&info.workspace_path, &info.project_path, &info.execution_id, &info.run_id];
    let mut text = std::borrow::Cow::Borrowed(text);
    for own in own.into_iter().filter(|own| !own.is_empty()) {
        if text.contains(own.as_str()) {
            text = text.replace(own.as_str(), "\u{0}").into();
        }
    }
    let mut hash = SipHasher24::new();
    hash.write(text.as_bytes());
    format!("{:016x}", hash.finish())
}

/// What an answer holds, if it is bytes and not JSON.
pub(crate) fn bytes(kind: Option<OperationKind>, answer: &Value) -> Option<Vec<u8>> {
    kind.filter(|kind| *kind == OperationKind::Files).and_then(|_| files::bytes(answer))
}

/// An answer as scripts know it.
pub(crate) fn answer(kind: Option<OperationKind>, mut answer: Value) -> Value {
    if kind == Some(OperationKind::Agent) {
        return agent::answer(answer);
    }
    if kind == Some(OperationKind::Artifact) && answer.is_object() {
        return artifact_answer(&answer);
    }
    if kind == Some(OperationKind::Shell)
        && let Some(code) = answer.as_object_mut().and_then(|fields| fields.remove("exit_code"))
    {
        answer["exitCode"] = code;
    }
    if kind == Some(OperationKind::Git) { git::answer(answer) } else { answer }
}

/// What was kept, but for the single files of a folder: of those there may be thousands.
fn artifact_answer(answer: &Value) -> Value {
    let fields = [
        ("name", "name"),
        ("path", "storage_path"),
        ("sizeBytes", "size_bytes"),
        ("sha256", "sha256"),
        ("mimeType", "mime_type"),
        ("files", "files"),
        ("skipped", "skipped"),
    ];
    let known = fields.into_iter().filter_map(|(to, from)| Some((to, answer.get(from)?.clone())));
    known.map(|(to, value)| (to.to_owned(), value)).collect::<serde_json::Map<_, _>>().into()
}
