//! `agentos approve`: an answer to a question that a run has asked.

use std::process::ExitCode;

use agentos_core::codec::Chunk;
use agentos_core::entry::Hold;
use agentos_core::id::{InboxKey, RunId, Seq};
use agentos_core::inbox::{Message, MessageBody};
use agentos_core::journal::Journal;
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_store::log::load_whole_log;
use agentos_store::sqlite::SqliteStore;

use super::signal;
use crate::error::{Cause, CommandError, Result};
use crate::names;
use crate::session::{Opened, Session};
use crate::terminal::paint::Tone;
use crate::terminal::question::Question;
use crate::terminal::text::Line;

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

    /// Only show what it asks, and what was changed
    #[arg(long, conflicts_with_all = ["deny", "comment"])]
    show: bool,
}

/// An answer to a question.
pub(crate) struct Decision<'a> {
    /// Which question, if there are several: a part of its text.
    pub(crate) question: Option<&'a str>,
    /// Yes or no.
    pub(crate) approved: bool,
    /// What is said with it.
    pub(crate) comment: Option<String>,
    /// Who answers, for the record.
    pub(crate) by: String,
}

/// A question that nobody has answered.
struct Asked {
    operation: OperationId,
    question: Question,
    /// One question has one answer: whoever says something else at the same moment is refused.
    key: InboxKey,
    /// What exactly an approval is given for, if it is not the workflow that asks.
    subject: Option<String>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.show {
        return show(session, args).await;
    }
    let decision = Decision {
        question: args.question.as_deref(),
        approved: !args.deny,
        comment: args.comment.clone(),
        by: user(session),
    };
    let question = decide(session, &args.run, decision).await?;
    let word = if args.deny { "denied" } else { "approved" };
    let answer = Line::of(Tone::Plain, &format!("{word}: {}", question.text));
    session.output.lines(painted(session, [answer].into_iter().chain(question.changes())))?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a question of a run, and says which it was.
pub(crate) async fn decide(
    session: &Session,
    run: &str,
    decision: Decision<'_>,
) -> Result<Question> {
    let opened = session.open_for(run)?;
    let found = names::find(&opened.store, run).await?;
    let questions = open_questions(&opened.store, found).await?;
    let Asked { operation, key, question, .. } = choose(run, decision.question, questions)?;
    let body = MessageBody::Approval {
        operation,
        approved: decision.approved,
        by: decision.by,
        comment: decision.comment,
    };
    signal::send(&opened, run, Message { key, body }).await?;
    Ok(question)
}

/// What a run asks.
pub(crate) async fn questions(store: &SqliteStore, run: RunId) -> Result<Vec<Question>> {
    let asked = open_questions(store, run).await?;
    Ok(asked.into_iter().map(|asked| asked.question).collect())
}

/// Approves what a run waits for, if it is just this.
pub(super) async fn approve_subject(
    session: &Session,
    opened: &Opened,
    name: &str,
    subject: &str,
) -> Result<()> {
    let run = names::find(&opened.store, name).await?;
    let questions = open_questions(&opened.store, run).await?;
    for asked in questions.into_iter().filter(|asked| asked.subject.as_deref() == Some(subject)) {
        let Asked { operation, key, .. } = asked;
        let by = user(session);
        let body = MessageBody::Approval { operation, approved: true, by, comment: None };
        signal::put(&opened.store, run, Message { key, body }).await?;
    }
    Ok(())
}

/// What the run asks, and nothing else happens.
async fn show(session: &Session, args: &Args) -> Result<ExitCode> {
    let store = session.look_for(&args.run)?;
    let run = names::find(&store, &args.run).await?;
    let questions = open_questions(&store, run).await?;
    let is_meant = |asked: &&Asked| asked.is_meant(args.question.as_deref());
    let meant: Vec<&Asked> = questions.iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(asks_nothing(&args.run));
    }
    let lines = meant.iter().flat_map(|asked| {
        [Line::of(Tone::Plain, &asked.question.text)]
            .into_iter()
            .chain(asked.question.about(&args.run))
    });
    session.output.lines(painted(session, lines))?;
    Ok(ExitCode::SUCCESS)
}

/// Lines as the terminal takes them.
fn painted(session: &Session, lines: impl IntoIterator<Item = Line>) -> Vec<String> {
    let (paint, size) = (session.output.paint, session.output.size);
    let fitted = |line: Line| match size {
        Some(size) => line.fitted(size.width, paint),
        None => line.painted(paint),
    };
    lines.into_iter().map(fitted).collect()
}

impl Asked {
    /// Whether somebody who says a part of its text means it.
    fn is_meant(&self, part: Option<&str>) -> bool {
        part.is_none_or(|part| self.question.text.contains(part))
    }
}

fn asks_nothing(run: &str) -> CommandError {
    CommandError::not_found(format!("{run} asks nothing"))
        .because(Cause::NothingToAnswer)
        .cli_hint(format!("`agentos show {run}` tells what it waits for"))
        .api_hint("`waiting` in the run's document tells what it waits for")
}

async fn open_questions(store: &SqliteStore, run: RunId) -> Result<Vec<Asked>> {
    let log = load_whole_log(store, run).await?;
    let journal = Journal::fold(log.into_iter().flat_map(Chunk::into_records))
        .map_err(|error| CommandError::failed(format!("the run's log can't be read: {error}")))?;
    let question = |(operation, args): (&OperationId, &Value)| {
        let name = operation.name().map(|name| name.to_string()).unwrap_or_default();
        let key = InboxKey(format!("approval:{operation}"));
        let question = Question::of(args, &name);
        Asked { operation: operation.clone(), question, key, subject: None }
    };
    let held = |(operation, seq, hold): (&OperationId, Seq, &Hold)| Asked {
        operation: operation.clone(),
        question: Question { text: hold.message.clone(), diff: None },
        // It may be held again for something else.
        key: InboxKey(format!("approval:{operation}:{seq}")),
        subject: hold.subject.clone(),
    };
    let mut questions: Vec<Asked> = journal.open_questions().map(question).collect();
    questions.extend(journal.held_for_approval().map(held));
    questions.sort_by(|one, other| one.operation.cmp(&other.operation));
    Ok(questions)
}

fn choose(run: &str, part: Option<&str>, questions: Vec<Asked>) -> Result<Asked> {
    if questions.is_empty() {
        return Err(asks_nothing(run));
    }
    let all: Vec<String> =
        questions.iter().map(|asked| format!("`{}`", asked.question.text)).collect();
    // Whoever knows the whole text means just that, also if it is a part of another, or is asked twice.
    let exact = questions.iter().position(|asked| Some(asked.question.text.as_str()) == part);
    let mut meant: Vec<Asked> = match exact {
        Some(number) => questions.into_iter().skip(number).take(1).collect(),
        None => questions.into_iter().filter(|asked| asked.is_meant(part)).collect(),
    };
    match (meant.pop(), meant.is_empty()) {
        (Some(question), true) => Ok(question),
        (None, _) => {
            let what = part.unwrap_or_default();
            Err(CommandError::not_found(format!("{run} does not ask `{what}`"))
                .because(Cause::OtherQuestion)
                .hint(format!("it asks {}", all.join(" and ")))
                .field("/question"))
        }
        (Some(_), false) => {
            Err(CommandError::usage(format!("{run} asks several questions: {}", all.join(", ")))
                .because(Cause::SeveralQuestions)
                .cli_hint("say which with `--question` and a part of its text")
                .api_hint("say which with `question` and a part of its text")
                .field("/question"))
        }
    }
}

/// Who answers, for the record: what they are called here, or what the system calls them.
pub(crate) fn user(session: &Session) -> String {
    let named = ["USER", "LOGNAME"].iter().find_map(|name| session.surroundings.variable(name));
    let named = named.map(|name| name.to_string_lossy().into_owned());
    named.filter(|name| !name.is_empty()).unwrap_or_else(known_user)
}

/// What the system calls whoever this process belongs to; a number if it knows no name.
fn known_user() -> String {
    let id = rustix::process::getuid().as_raw();
    let known = uzers::get_user_by_uid(id);
    known.map_or_else(|| format!("uid {id}"), |known| known.name().to_string_lossy().into_owned())
}
