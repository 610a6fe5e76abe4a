//! `agentos approve`: an answer to a question that a run has asked.

use std::process::ExitCode;

use agentos_core::codec::Chunk;
use agentos_core::id::{InboxKey, RunId};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_store::log::load_whole_log;
use agentos_store::sqlite::SqliteStore;

use super::signal;
use crate::error::{CommandError, Result};
use crate::names;
use crate::session::Session;
use crate::terminal::text::harmless;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The run: its id, its short name, or the beginning of one
    run: String,

    /// Say no
    #[arg(long)]
    deny: bool,

    /// What you want to say with it
    #[arg(long)]
    comment: Option<String>,

    /// Which question, if there are several: a part of its text
    #[arg(long, value_name = "TEXT")]
    question: Option<String>,
}

/// A question that nobody has answered.
struct Question {
    operation: OperationId,
    text: String,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let opened = session.open_for(&args.run)?;
    let run = names::find(&opened.store, &args.run).await?;
    let questions = open_questions(&opened.store, run).await?;
    let Question { operation, text } = choose(args, questions)?;
    let body = MessageBody::Approval {
        operation: operation.clone(),
        approved: !args.deny,
        by: user(session),
        comment: args.comment.clone(),
    };
    // One question has one answer: whoever answers it at the same moment is not heard.
    let key = InboxKey(format!("approval:{operation}"));
    signal::send(&opened, &args.run, Message { key, body }).await?;
    let word = if args.deny { "denied" } else { "approved" };
    session.output.lines([format!("{word}: {}", harmless(&text))])?;
    Ok(ExitCode::SUCCESS)
}

async fn open_questions(store: &SqliteStore, run: RunId) -> Result<Vec<Question>> {
    let log = load_whole_log(store, run).await?;
    let journal = Journal::fold(log.into_iter().flat_map(Chunk::into_records))
        .map_err(|error| CommandError::failed(format!("the run's log can't be read: {error}")))?;
    let question = |(operation, args): (&OperationId, &Value)| {
        let text = args.get("question").and_then(Value::as_str).map(str::to_owned);
        let name = || operation.name().map(|name| name.to_string()).unwrap_or_default();
        Question { operation: operation.clone(), text: text.unwrap_or_else(name) }
    };
    let mut questions: Vec<Question> = journal.open_questions().map(question).collect();
    questions.sort_by(|one, other| one.operation.cmp(&other.operation));
    Ok(questions)
}

fn choose(args: &Args, questions: Vec<Question>) -> Result<Question> {
    if questions.is_empty() {
        return Err(CommandError::not_found(format!("{} asks nothing", args.run))
            .hint(format!("`agentos show {}` tells what it waits for", args.run)));
    }
    let all: Vec<String> =
        questions.iter().map(|question| format!("`{}`", question.text)).collect();
    let is_meant = |question: &Question| {
        args.question.as_ref().is_none_or(|part| question.text.contains(part.as_str()))
    };
    let mut meant: Vec<Question> = questions.into_iter().filter(is_meant).collect();
    match (meant.pop(), meant.is_empty()) {
        (Some(question), true) => Ok(question),
        (None, _) => {
            let what = args.question.as_deref().unwrap_or_default();
            Err(CommandError::not_found(format!("{} does not ask `{what}`", args.run))
                .hint(format!("it asks {}", all.join(" and "))))
        }
        (Some(_), false) => Err(CommandError::usage(format!(
            "{} asks several questions: {}",
            args.run,
            all.join(", ")
        ))
        .hint("say which with `--question` and a part of its text")),
    }
}

/// Who answers, for the record.
fn user(session: &Session) -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| session.surroundings.variable(name));
    let named = named.map(|name| name.to_string_lossy().into_owned());
    named.unwrap_or_else(|| format!("uid {}", rustix::process::getuid().as_raw()))
}
