//! Where a run works: which workspace it gets, and what becomes of that when it ends.

pub(crate) mod choose;
pub(crate) mod desk;
pub(crate) mod homes;
pub(crate) mod keeper;
pub(crate) mod removal;
pub(crate) mod setup;
pub(crate) mod tend;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::RunRecord;
use agentos_store::sqlite::SqliteStore;
use agentos_workspace::workspace::Workspace;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::repository::RepositoryLock;
use agentos_workspace::workspace::yard::{Open, OpenError, Opened, Wanted};

use crate::error::{CommandError, Result};
use crate::session::Session;
use choose::Choice;
use desk::Desk;

/// What somebody has said about the workspace on the command line.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct WorkspaceArgs {
    /// Where the run works: `auto`, `worktree`, `clone`, `jj`, or `none` for the checkout itself
    #[arg(long, value_name = "KIND")]
    pub(crate) workspace: Option<String>,

    /// The workspace to work in: made if there is none of this id
    #[arg(long, value_name = "ID")]
    pub(crate) workspace_id: Option<String>,

    /// The commit that a new workspace is made from (default: that of the checkout)
    #[arg(long, value_name = "REV")]
    pub(crate) base: Option<String>,

    /// Approve the setup command of this repository's configuration, for now and later
    #[arg(long)]
    pub(crate) allow_setup: bool,
}

/// Where a run works.
#[derive(Default)]
pub(crate) struct Placed {
    /// The workspace; none if it is the checkout itself.
    pub(crate) workspace: Option<Workspace>,
    /// Whether it was in somebody else's hands already: a nested run works where the one around it does.
    pub(crate) is_shared: bool,
    /// What is executed in it before the run's code begins; empty: nothing.
    pub(crate) setup: String,
    /// Held until the run is there.
    _lock: Option<RepositoryLock>,
}

impl Placed {
    /// Where that is.
    pub(crate) fn path<'a>(&'a self, project: &'a Path) -> &'a Path {
        self.workspace.as_ref().map_or(project, |workspace| &workspace.path)
    }
}

/// Finds or makes the workspace of a run that is about to be created. `run` is its id, and what people call it.
pub(crate) async fn place(
    session: &Session,
    store: &SqliteStore,
    (choice, base): (Choice, Option<String>),
    run: (String, String),
) -> Result<Placed> {
    let (wanted_id, kind, is_kind_said) = match choice {
        Choice::Checkout => {
            return Ok(Placed::default());
        }
        Choice::Inherited(id) => return inherited(session, store, &id).await,
        Choice::Own { id, kind, is_said } => (id, kind, is_said),
    };
    let is_named = wanted_id.is_some();
    let id: WorkspaceId = match wanted_id {
        Some(id) => id,
        None => run.1.parse().map_err(|error| CommandError::failed(format!("{error}")))?,
    };
    let wanted = Wanted { id, kind, is_kind_said, base, run: Some(run.0), now: SystemClock.now() };
    let desk = Desk::open(session, store)?;
    if !is_named {
        tell_of_changes(session, &desk).await;
    }
    let open = open(session, &desk, wanted).await?;
    if open.how == Opened::MadeAgain {
        let path = open.workspace.path.display();
        session.output.note(&format!("the workspace {path} was gone; it was made again"));
    }
    open.notes.iter().for_each(|note| session.output.note(note));
    Ok(Placed {
        setup: desk.setup_of(&open.workspace),
        workspace: Some(open.workspace),
        is_shared: false,
        _lock: Some(open.lock),
    })
}

/// The workspace for a run; if there is no room for it yet, it is made when there is, and the run waits.
async fn open(session: &Session, desk: &Desk, wanted: Wanted) -> Result<Open> {
    let later = wanted.clone();
    // Whether it is refused is seen below.
    let opened = desk.work(move |yard| Ok::<_, CommandError>(yard.open(&wanted))).await?;
    match opened {
        Ok(open) => Ok(open),
        Err(OpenError::NoRoom(no_room)) => {
            session.output.note(&format!("{no_room}. The run waits until there is room"));
            desk.work(move |yard| yard.reserve(&later)).await
        }
        Err(error) => Err(desk.told(error).await),
    }
}

/// A nested run works where the one around it does.
async fn inherited(session: &Session, store: &SqliteStore, id: &str) -> Result<Placed> {
    let desk = Desk::open(session, store)?;
    let id: WorkspaceId = id.parse().map_err(|error| CommandError::failed(format!("{error}")))?;
    let found = desk.find(&id).await?;
    let workspace = found.ok_or_else(|| {
        CommandError::failed(format!(
            "the workspace {id} that this is is not known to the database"
        ))
        .cli_hint("name one with `--workspace-id`, or say `--workspace none`")
    })?;
    Ok(Placed { workspace: Some(workspace), is_shared: true, ..Placed::default() })
}

/// Makes sure that the workspace of a run that goes on is there and is the right one.
pub(crate) async fn ensure(
    session: &Session,
    store: &SqliteStore,
    run: &RunRecord,
) -> Result<Option<Workspace>> {
    let id = run.workspace_id.as_deref().map(str::parse::<WorkspaceId>);
    let Some(Ok(id)) = id else { return Ok(None) };
    let desk = Desk::open(session, store)?;
    let Some(known) = desk.find(&id).await? else { return Ok(None) };
    let desk = desk.of(&known)?;
    let is_its = desk.is_of_family(run, &known).await?;
    let wanted = Wanted {
        id,
        kind: known.kind,
        is_kind_said: true,
        base: None,
        run: if is_its { known.run.clone() } else { Some(run.id.to_string()) },
        now: SystemClock.now(),
    };
    // Whether it is refused is seen below.
    let opened = desk.work(move |yard| Ok::<_, CommandError>(yard.open(&wanted))).await?;
    let open = match opened {
        Ok(open) => open,
        Err(OpenError::NoRoom(no_room)) => {
            // What is to be done there waits for it.
            session.output.note(&no_room.to_string());
            return Ok(Some(known));
        }
        Err(error) => return Err(desk.told(error).await),
    };
    let (mut workspace, is_new) = (open.workspace, open.how == Opened::MadeAgain);
    drop(open.lock);
    if is_new {
        let path = workspace.path.display();
        session.output.note(&format!("the workspace {path} was gone; it was made again"));
        open.notes.iter().for_each(|note| session.output.note(note));
        if run.completed_at.is_none() && is_its {
            workspace = desk.occupy(run, workspace).await?;
        }
    }
    Ok(Some(workspace))
}

/// Uncommitted changes in the checkout are not in the workspace: whoever expects them is told.
async fn tell_of_changes(session: &Session, desk: &Desk) {
    let root: PathBuf = desk.repository().checkout.root.clone();
    let surroundings = Arc::clone(desk.surroundings());
    let looked = tokio::task::spawn_blocking(move || {
        agentos_workspace::workspace::changes::count(&surroundings, &root)
    });
    if let Ok(Ok(count @ 1..)) = looked.await {
        let files = if count == 1 { "1 file" } else { &format!("{count} files") };
        session.output.note(&format!(
            "{files} with uncommitted changes in this checkout: the run does not see them"
        ));
    }
}
