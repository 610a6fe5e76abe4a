//! A call of `ctx.git`: its arguments are the method and what it is given. The operation is named after the method.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::{OperationKind, Request};
use agentos_core::value::Value;
use serde::Deserialize;
use serde_json::{Map, json};

use super::{fill, perform, read};
use crate::config::Milliseconds;

/// What the call asks for.
///
/// # Errors
/// Its arguments are not what they should be.
pub(super) fn request(args: &str) -> Result<Request, Failure> {
    let words: Vec<Value> = read("ctx.git", args)?;
    let method = words.first().and_then(Value::as_str).unwrap_or_default();
    let order = match method {
        "ensureBranch" => {
            let (_, branch, options): Named<BranchOptions> =
                read("ctx.git.ensureBranch(name, options)", args)?;
            options.unwrap_or_default().order(&branch)
        }
        "commit" => {
            let (_, message, options): Named<CommitOptions> =
                read("ctx.git.commit(message, options)", args)?;
            options.unwrap_or_default().order(&message)
        }
        "status" => {
            let (_, options): Given<StatusOptions> = read("ctx.git.status(options)", args)?;
            options.unwrap_or_default().order()
        }
        "diff" => {
            let (_, options): Given<DiffOptions> = read("ctx.git.diff(options)", args)?;
            options.unwrap_or_default().order()
        }
        "log" => {
            let (_, options): Given<LogOptions> = read("ctx.git.log(options)", args)?;
            options.unwrap_or_default().order()
        }
        "push" => {
            let (_, options): Given<PushOptions> = read("ctx.git.push(options)", args)?;
            options.unwrap_or_default().order()
        }
        "checkPr" => {
            let (_, options): Given<CheckOptions> = read("ctx.git.checkPr(options)", args)?;
            options.unwrap_or_default().order()
        }
        "createPr" => {
            let (_, options): (String, PullRequestOptions) =
                read("ctx.git.createPr(options)", args)?;
            options.order()
        }
        "getCurrentBranch" | "getCurrentCommit" | "getCurrentTree" | "stageAll" => json!({}),
        other => {
            let message = format!("there is no ctx.git.{other}");
            return Err(Failure::new(FailureKind::NonRetryable, message));
        }
    };
    perform(OperationKind::Git, method, order)
}

/// The method, what it is about, and its options.
type Named<T> = (String, String, Option<T>);

/// The method and its options.
type Given<T> = (String, Option<T>);

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct BranchOptions {
    from: Option<String>,
    timeout: Option<Milliseconds>,
}

impl BranchOptions {
    fn order(self, branch: &str) -> Value {
        let mut order = json!({ "branch": branch });
        let timeout = self.timeout.map(|timeout| json!(timeout.millis()));
        fill(&mut order, [("from", self.from.map(Value::String)), ("timeout_ms", timeout)]);
        order
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Author {
    name: String,
    email: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CommitOptions {
    author: Option<Author>,
    /// By their keys; one of many values has a list.
    trailers: Option<Map<String, Value>>,
    allow_empty: bool,
    all: bool,
    since: Option<String>,
    sign: Option<bool>,
    no_verify: bool,
    timeout: Option<Milliseconds>,
}

impl CommitOptions {
    fn order(self, message: &str) -> Value {
        let mut order = json!({ "message": message });
        let author =
            self.author.map(|Author { name, email }| json!({ "name": name, "email": email }));
        let fields = [
            ("author", author),
            ("trailers", self.trailers.map(|trailers| listed(&trailers))),
            ("allow_empty", self.allow_empty.then_some(Value::Bool(true))),
            ("all", self.all.then_some(Value::Bool(true))),
            ("since", self.since.map(Value::String)),
            ("sign", self.sign.map(Value::Bool)),
            ("no_verify", self.no_verify.then_some(Value::Bool(true))),
            ("timeout_ms", self.timeout.map(|timeout| json!(timeout.millis()))),
        ];
        fill(&mut order, fields);
        order
    }
}

/// Trailers in a list. What is no text is refused by whoever reads them.
fn listed(trailers: &Map<String, Value>) -> Value {
    let pairs = trailers.iter().flat_map(|(key, value)| match value {
        Value::Array(values) => values.iter().map(|value| (key, value)).collect(),
        value => vec![(key, value)],
    });
    pairs.map(|(key, value)| json!({ "key": key, "value": value })).collect()
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct StatusOptions {
    limit: Option<u64>,
}

impl StatusOptions {
    fn order(&self) -> Value {
        let mut order = json!({});
        fill(&mut order, [("limit", self.limit.map(|limit| json!(limit)))]);
        order
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DiffOptions {
    from: Option<String>,
    to: Option<String>,
    staged: bool,
    merge_base: bool,
    paths: Option<Vec<String>>,
    untracked: Option<bool>,
    stat: bool,
    text_bytes: Option<u64>,
    limit: Option<u64>,
}

impl DiffOptions {
    fn order(self) -> Value {
        let mut order = json!({});
        let fields = [
            ("from", self.from.map(Value::String)),
            ("to", self.to.map(Value::String)),
            ("staged", self.staged.then_some(Value::Bool(true))),
            ("merge_base", self.merge_base.then_some(Value::Bool(true))),
            ("paths", self.paths.map(|paths| json!(paths))),
            ("untracked", self.untracked.map(Value::Bool)),
            ("stat", self.stat.then_some(Value::Bool(true))),
            ("text_bytes", self.text_bytes.map(|limit| json!(limit))),
            ("limit", self.limit.map(|limit| json!(limit))),
        ];
        fill(&mut order, fields);
        order
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct LogOptions {
    limit: Option<u64>,
    from: Option<String>,
    to: Option<String>,
    paths: Option<Vec<String>>,
}

impl LogOptions {
    fn order(self) -> Value {
        let mut order = json!({});
        let fields = [
            ("limit", self.limit.map(|limit| json!(limit))),
            ("from", self.from.map(Value::String)),
            ("to", self.to.map(Value::String)),
            ("paths", self.paths.map(|paths| json!(paths))),
        ];
        fill(&mut order, fields);
        order
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct PushOptions {
    remote: Option<String>,
    branch: Option<String>,
    force: Option<Force>,
    set_upstream: Option<bool>,
    timeout: Option<Milliseconds>,
}

/// `"lease"` or `false`.
#[derive(Deserialize)]
#[serde(untagged, expecting = "`force` is \"lease\" or false")]
enum Force {
    Named(Lease),
    Never(Never),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Lease {
    Lease,
}

#[derive(Deserialize)]
#[serde(try_from = "bool")]
struct Never;

impl TryFrom<bool> for Never {
    type Error = &'static str;

    fn try_from(force: bool) -> Result<Self, Self::Error> {
        if force { Err("`force` is \"lease\" or false") } else { Ok(Self) }
    }
}

impl PushOptions {
    fn order(self) -> Value {
        let force = self.force.map(|force| match force {
            Force::Named(Lease::Lease) => json!("lease"),
            Force::Never(Never) => json!("never"),
        });
        let mut order = json!({});
        let fields = [
            ("remote", self.remote.map(Value::String)),
            ("branch", self.branch.map(Value::String)),
            ("force", force),
            ("set_upstream", self.set_upstream.map(Value::Bool)),
            ("timeout_ms", self.timeout.map(|timeout| json!(timeout.millis()))),
        ];
        fill(&mut order, fields);
        order
    }
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CheckOptions {
    remote: Option<String>,
    base: Option<String>,
    timeout: Option<Milliseconds>,
}

impl CheckOptions {
    fn order(self) -> Value {
        let mut order = json!({});
        let fields = [
            ("remote", self.remote.map(Value::String)),
            ("base", self.base.map(Value::String)),
            ("timeout_ms", self.timeout.map(|timeout| json!(timeout.millis()))),
        ];
        fill(&mut order, fields);
        order
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
enum OnBehind {
    Continue,
    Rebase,
    Fail,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct PullRequestOptions {
    title: String,
    body: Option<String>,
    template: Option<String>,
    base: Option<String>,
    head: Option<String>,
    remote: Option<String>,
    draft: Option<bool>,
    labels: Option<Vec<String>>,
    reviewers: Option<Vec<String>>,
    on_behind: Option<OnBehind>,
    timeout: Option<Milliseconds>,
}

impl PullRequestOptions {
    fn order(self) -> Value {
        let on_behind = self.on_behind.map(|policy| match policy {
            OnBehind::Continue => json!("continue"),
            OnBehind::Rebase => json!("rebase"),
            OnBehind::Fail => json!("fail"),
        });
        let mut order = json!({ "title": self.title });
        let fields = [
            ("body", self.body.map(Value::String)),
            ("template", self.template.map(Value::String)),
            ("base", self.base.map(Value::String)),
            ("head", self.head.map(Value::String)),
            ("remote", self.remote.map(Value::String)),
            ("draft", self.draft.map(Value::Bool)),
            ("labels", self.labels.map(|labels| json!(labels))),
            ("reviewers", self.reviewers.map(|reviewers| json!(reviewers))),
            ("on_behind", on_behind),
            ("timeout_ms", self.timeout.map(|timeout| json!(timeout.millis()))),
        ];
        fill(&mut order, fields);
        order
    }
}

/// An answer as scripts know it: its keys in the spelling of the language. None of them is a user's.
pub(super) fn answer(answer: Value) -> Value {
    respelled(answer, camel)
}

/// The same answer as the log knows it.
pub(super) fn asked(answer: Value) -> Value {
    respelled(answer, snake)
}

fn respelled(value: Value, spelling: fn(&str) -> String) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| respelled(item, spelling)).collect(),
        Value::Object(fields) => {
            let respell =
                |(key, value): (String, Value)| (spelling(&key), respelled(value, spelling));
            fields.into_iter().map(respell).collect()
        }
        other => other,
    }
}

fn camel(key: &str) -> String {
    let mut words = key.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |spelled, word| {
        let mut letters = word.chars();
        let start = letters.next().map(|letter| letter.to_ascii_uppercase());
        spelled + &start.into_iter().chain(letters).collect::<String>()
    })
}

fn snake(key: &str) -> String {
    let letters = key.chars().flat_map(|letter| {
        let gap = letter.is_ascii_uppercase().then_some('_');
        gap.into_iter().chain([letter.to_ascii_lowercase()])
    });
    letters.collect()
}
