//! What a run has asked of the world and waits for: with the process, where there is one.

use std::collections::HashMap;
use std::path::Path;

use agentos_core::codec::Chunk;
use agentos_core::entry::{Entry, Hold, HoldKind};
use agentos_core::id::{RunId, Try};
use agentos_core::journal::Journal;
use agentos_core::operation::OperationKind;
use agentos_core::path::OperationId;
use agentos_core::time::Timestamp;
use agentos_core::value::Value;
use agentos_engine::shell;
use agentos_process::case::Case;
use agentos_process::directory::Directory;
use agentos_process::secret::Secrets;
use agentos_store::log::load_whole_log;
use agentos_store::moment;
use agentos_store::sqlite::SqliteStore;
use serde::Serialize;

use crate::error::{CommandError, Result};
use crate::supervise;
use crate::terminal::question::Question;

/// Something that is under way.
#[derive(Debug, Serialize)]
pub(crate) struct UnderWay {
    pub(crate) operation: OperationId,
    pub(crate) kind: Option<OperationKind>,
    pub(crate) name: String,
    pub(crate) step_number: Option<u32>,
    pub(crate) r#try: Try,
    #[serde(serialize_with = "as_moment")]
    pub(crate) since: Timestamp,
    /// The line for the shell, or the program with its arguments.
    pub(crate) command: Option<String>,
    /// What a person is asked.
    pub(crate) question: Option<Question>,
    /// What it waits for before it can begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) held: Option<String>,
    /// The command's process, while it can be seen.
    pub(crate) pid: Option<i32>,
    /// The process that supervises it.
    pub(crate) supervisor: Option<i32>,
    /// Where all that is known about the command is kept while the run lasts.
    pub(crate) directory: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out a reference")]
fn as_moment<S: serde::Serializer>(at: &Timestamp, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&moment::written(*at))
}

/// Everything that is under way in a run, the oldest first. What must not be seen is masked.
pub(crate) async fn under_way(
    store: &SqliteStore,
    run: RunId,
    secrets: &Secrets,
) -> Result<Vec<UnderWay>> {
    let log = load_whole_log(store, run).await?;
    let (mut journal, mut since) = (Journal::default(), HashMap::new());
    for record in log.into_iter().flat_map(Chunk::into_records) {
        if let Entry::OperationOrdered { operation, .. }
        | Entry::OperationRetried { operation, .. } = &record.entry
        {
            since.insert(operation.clone(), record.at);
        }
        journal.apply(record).map_err(|error| {
            CommandError::failed(format!("the run's log can't be read: {error}"))
        })?;
    }
    let folder = shell::run_folder(&supervise::commands_folder(store.path()), run);
    let open = journal.open_operations().map(|(operation, r#try, args)| {
        let found = UnderWay {
            operation: operation.clone(),
            kind: operation.kind(),
            name: operation.name().map(|name| name.to_string()).unwrap_or_default(),
            step_number: journal.step_of(operation).map(|(number, _)| number.0),
            r#try,
            since: since.get(operation).copied().unwrap_or(Timestamp(0)),
            question: question(operation, args, journal.hold_of(operation), secrets),
            held: journal.hold_of(operation).map(|hold| secrets.masked(&hold.message)),
            command: command(args).map(|command| secrets.masked(&command)),
            pid: None,
            supervisor: None,
            directory: None,
        };
        match found.kind {
            Some(OperationKind::Shell | OperationKind::Agent) => found.located(&folder),
            _ => found,
        }
    });
    let mut open: Vec<UnderWay> = open.collect();
    open.sort_by(|one, other| {
        (one.since, one.operation.as_str()).cmp(&(other.since, other.operation.as_str()))
    });
    Ok(open)
}

/// What is asked, if it is a question.
fn question(
    operation: &OperationId,
    args: &Value,
    hold: Option<&Hold>,
    secrets: &Secrets,
) -> Option<Question> {
    if let Some(hold) = hold.filter(|hold| hold.kind == HoldKind::Approval) {
        return Some(Question { text: secrets.masked(&hold.message), diff: None });
    }
    operation.kind().filter(|kind| *kind == OperationKind::Approve)?;
    let name = operation.name().map(|name| name.to_string()).unwrap_or_default();
    let question = Question::of(args, &name);
    Some(Question { text: secrets.masked(&question.text), ..question })
}

/// What is executed, if it is a command.
fn command(args: &Value) -> Option<String> {
    let program = args.get("command")?.as_str()?;
    let words = args.get("args").and_then(Value::as_array).into_iter().flatten();
    let words = std::iter::once(program).chain(words.filter_map(Value::as_str));
    Some(words.collect::<Vec<_>>().join(" "))
}

impl UnderWay {
    /// With its directory, and its processes if somebody keeps it.
    fn located(mut self, folder: &Path) -> Self {
        let path = folder.join(shell::directory_name(&self.operation, self.r#try));
        self.directory = Some(path.display().to_string());
        let Ok(directory) = Directory::at(&path) else { return self };
        if let (Ok(Case::Held), Ok(Some(started))) =
            (Case::of(&directory), directory.load_started())
        {
            self.pid = started.load_command_pid();
            self.supervisor = Some(started.supervisor);
        }
        self
    }
}
