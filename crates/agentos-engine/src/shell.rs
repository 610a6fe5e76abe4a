//! Performs commands: each under a supervisor of its own, in a directory named after operation and try.
//!
//! The order is committed before it comes here, so whoever is killed leaves either nothing or a directory that says how
//! far it came. An order that is performed again finds the command, running or over, instead of starting it twice. If the
//! future is dropped the command goes on, and whoever performs the order next attaches to it.

mod answer;
mod follow;
mod ground;
mod request;

use std::collections::BTreeMap;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agentos_core::entry::Home;
use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::{RunId, StepNumber, Try};
use agentos_core::path::OperationId;
use agentos_process::bounds::ROOM;
use agentos_process::case::Case;
use agentos_process::directory::Directory;
use agentos_process::frame::Frame;
use agentos_process::launch::{self, Launcher};
use agentos_store::projection::operation_title;
use async_trait::async_trait;
use siphasher::sip::SipHasher24;
use tokio::sync::oneshot;

pub use ground::{Ground, Grounds, Refusal, Visitor, Workspaces};

use crate::performer::{Order, Performed, Performer, Ticket};
use crate::room;
use follow::{Followed, follow};

/// How long a command may be left alone unless it is said otherwise: an upgrade or a lost terminal takes less.
const ORPHAN: Duration = Duration::from_secs(3_600);

/// How long to wait before trying again to end what could not be ended.
const AGAIN: Duration = Duration::from_secs(1);

/// How often that is tried where no file can be opened.
const WITHOUT_FILES: u32 = 30;

/// Longest readable part of a directory's name, in characters.
const NAME: usize = 40;

/// Which try of which operation something belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Whose {
    /// The run.
    pub run: RunId,
    /// Where it has its files.
    pub home: Home,
    /// The operation.
    pub operation: OperationId,
    /// The number and path of the step that it belongs to.
    pub step: Option<(StepNumber, String)>,
    /// What that is called, if it is the operation itself: what it does.
    pub title: Option<String>,
    /// The try.
    pub r#try: Try,
}

impl Whose {
    /// That of an order.
    #[must_use]
    pub fn of(order: &Order) -> Self {
        let Order { run, home, operation, step, r#try, args, .. } = order;
        let is_step = step.as_ref().is_some_and(|(_, path)| path == operation.as_str());
        Self {
            run: *run,
            home: home.clone(),
            operation: operation.clone(),
            step: step.clone(),
            title: is_step.then(|| operation_title(operation, args)),
            r#try: *r#try,
        }
    }
}

/// Keeps the output of commands while they run: in the step's log, as a rule. Called on a thread of the command's own.
pub trait OutputSink: Send + Sync + 'static {
    /// How many bytes of a command's output are kept already. Whoever attaches to it again is shown all of it again.
    fn kept(&self, whose: &Whose) -> u64;

    /// Keeps a piece of which nothing is kept yet; `position` is how many bytes came before it.
    ///
    /// # Errors
    /// Nothing of the piece is kept. Where there is no room it is given again.
    fn write(&self, whose: &Whose, position: u64, frame: &Frame) -> io::Result<()>;

    /// Keeps a remark of whoever performs it, which is no output and does not count.
    fn remark(&self, whose: &Whose, text: &str) {
        let _ = (whose, text);
    }
}

/// Keeps nothing: the output stays in the command's directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOutput;

impl OutputSink for NoOutput {
    fn kept(&self, _: &Whose) -> u64 {
        u64::MAX
    }

    fn write(&self, _: &Whose, _: u64, _: &Frame) -> io::Result<()> {
        Ok(())
    }
}

/// Performs commands.
#[derive(Clone)]
pub struct ShellPerformer {
    settings: Arc<Settings>,
}

/// How commands are performed.
pub struct Settings {
    /// How supervisors are started.
    pub launcher: Launcher,
    /// Under which folder commands have their directories, one folder for each run.
    pub root: PathBuf,
    /// Where runs work.
    pub grounds: Box<dyn Grounds>,
    /// What every command finds in its environment besides what it needs.
    pub env: BTreeMap<String, String>,
    /// Values that are masked wherever they are seen, besides those of variables whose names say so.
    pub secrets: Vec<String>,
    /// How long a command may be left alone.
    pub orphan: Option<Duration>,
    /// How long output waits for room on the disk before its command is interrupted.
    pub room: Duration,
    /// Where output goes while commands run.
    pub output: Box<dyn OutputSink>,
}

impl Settings {
    /// Commands of supervisors started so, with their directories under `root`, in the runs' workspaces.
    pub fn new(launcher: Launcher, root: impl Into<PathBuf>) -> Self {
        Self {
            launcher,
            root: root.into(),
            grounds: Box::new(Workspaces),
            env: BTreeMap::new(),
            secrets: Vec::new(),
            orphan: Some(ORPHAN),
            room: ROOM,
            output: Box::new(NoOutput),
        }
    }

    fn directory(&self, run: RunId, operation: &OperationId, r#try: Try) -> PathBuf {
        run_folder(&self.root, run).join(directory_name(operation, r#try))
    }
}

/// Where the commands of a run have their directories, among those of all runs under `root`.
#[must_use]
pub fn run_folder(root: &Path, run: RunId) -> PathBuf {
    root.join(run.to_string())
}

/// What the directory of a try is called in the folder of its run.
#[must_use]
pub fn directory_name(operation: &OperationId, r#try: Try) -> String {
    let text = operation.as_str();
    let mut hash = SipHasher24::new();
    hash.write(text.as_bytes());
    let end = text.rsplit('/').next().unwrap_or(text);
    let readable: String = end
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' })
        .take(NAME)
        .collect();
    format!("{readable}-{:016x}-{try}", hash.finish(), r#try = r#try)
}

impl ShellPerformer {
    /// Performs commands so.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    async fn performed(&self, order: Order, ticket: Ticket) -> Result<Performed, Refusal> {
        let ground = self.settings.grounds.of(order.visitor()).await?;
        if !self.is_begun(order.run, &order.operation, order.r#try) {
            ground.unlock(order.is_again()).await;
        }
        let whose = Whose::of(&order);
        let request = request::Request::parse(order.args)?;
        let path = self.settings.directory(whose.run, &whose.operation, whose.r#try);
        let spec = request.spec(&self.settings, &ground)?;
        let stop = ticket.stop.clone();
        let (tell, mut told) = oneshot::channel();
        let settings = Arc::clone(&self.settings);
        let followed = Followed { settings, whose: whose.clone(), path, spec };
        let (directory, secrets) = (followed.directory()?, followed.spec.secrets.clone());
        std::thread::Builder::new()
            .name("command".into())
            .spawn(move || follow(&followed, &ticket, tell))
            .map_err(|error| failed(format!("no thread could be started: {error}")))?;
        let outcome = tokio::select! {
            outcome = &mut told => outcome,
            () = stop.cancelled() => {
                end(directory.clone()).await;
                told.await
            }
        };
        match outcome {
            Ok(Ok(outcome)) => {
                let why = outcome.exit.message.clone();
                let performed = request.answer(outcome, stop.is_cancelled(), &secrets);
                if let (Performed::Interrupted, Some(why)) = (&performed, why) {
                    let remark =
                        format!("the command was interrupted: {why}; it is executed again");
                    self.settings.output.remark(&whose, &remark);
                }
                Ok(performed)
            }
            // It has not begun, or is over and that can't be written down: the same try goes on when there is room.
            Ok(Err(error)) if error.is_out_of_room() && !stop.is_cancelled() => {
                Err(Refusal::Held(room::hold("the record of a command")))
            }
            Ok(Err(error)) => {
                end(directory).await;
                Err(failed(secrets.masked(&error.to_string())).into())
            }
            Err(_) => Err(failed("whoever followed the command panicked".to_owned()).into()),
        }
    }
}

fn failed(message: String) -> Failure {
    Failure::new(FailureKind::Error, message)
}

/// Whether somebody has begun the try of a command that this directory is of.
pub(crate) fn is_begun(path: &Path) -> bool {
    let case = Directory::at(path).and_then(|directory| Case::of(&directory));
    !matches!(case, Ok(Case::Nothing))
}

/// Ends a command, as often as it takes. Only where this process has no file to spare for it, and none becomes free, it is
/// given up: the command ends by itself when no process has waited for it for a while.
pub(crate) async fn end(directory: Directory) {
    let mut without_files = 0;
    while without_files < WITHOUT_FILES {
        let path = directory.path().to_owned();
        match tokio::task::spawn_blocking(move || launch::stop(&path)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => {
                without_files = if error.is_out_of_files() { without_files + 1 } else { 0 };
                tracing::warn!(%error, "a command can't be ended; trying again");
            }
            Err(error) => tracing::warn!(%error, "whoever ends a command panicked"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}

#[async_trait]
impl Performer for ShellPerformer {
    async fn perform(&self, order: Order, ticket: Ticket) -> Performed {
        self.performed(order, ticket).await.unwrap_or_else(Performed::from)
    }

    fn is_begun(&self, run: RunId, operation: &OperationId, r#try: Try) -> bool {
        is_begun(&self.settings.directory(run, operation, r#try))
    }

    async fn stop(&self, run: RunId, operation: &OperationId, r#try: Try) {
        let path = self.settings.directory(run, operation, r#try);
        match Directory::at(&path) {
            Ok(directory) => end(directory).await,
            Err(error) => tracing::warn!(%error, "there is no current directory"),
        }
    }
}
