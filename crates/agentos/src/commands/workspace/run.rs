//! `agentos workspace run`: a command in a workspace of its own.

use std::ffi::OsString;
use std::process::ExitCode;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::yard::{Opened, Wanted};

use super::inside;
use crate::config::workspace::WantedKind;
use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::workspace::desk::Desk;
use crate::workspace::{choose, setup};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The workspace
    id: String,

    /// How a new one is kept apart: `auto`, `worktree`, `clone` or `jj`
    #[arg(long)]
    kind: Option<String>,

    /// The commit that a new one is made from (default: that of the checkout)
    #[arg(long, value_name = "REV")]
    base: Option<String>,

    /// Approve the setup command of this repository's configuration, for now and later
    #[arg(long)]
    allow_setup: bool,

    /// Allow the `.envrc` of the workspace as it is
    #[arg(long)]
    allow_direnv: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let id: WorkspaceId =
        args.id.parse().map_err(|error| CommandError::usage(format!("{error}")))?;
    let said = args.kind.as_deref().map(|text| {
        let wanted = WantedKind::parse(text).filter(|wanted| *wanted != WantedKind::None);
        wanted.ok_or_else(|| {
            CommandError::usage(format!("there are no workspaces of the kind `{text}`"))
                .hint("there are `worktree`, `clone`, `jj` and `auto`")
        })
    });
    let wanted = said.transpose()?.unwrap_or(WantedKind::Auto);
    let (kind, is_kind_said) = match wanted {
        WantedKind::Own(kind) => (Some(kind), true),
        WantedKind::Auto | WantedKind::None => {
            (choose::suitable(session, Some("/workspace/id"))?, false)
        }
    };
    let kind = kind.ok_or_else(|| CommandError::usage("there can be no workspace here"))?;
    setup::check(session, args.allow_setup)?;
    let store = Desk::opened(session).await?;
    let wanted = Wanted {
        id,
        kind,
        is_kind_said,
        base: args.base.clone(),
        run: None,
        now: SystemClock.now(),
    };
    let desk = Desk::open(session, &store)?;
    let open = desk.work(move |yard| yard.open(&wanted)).await?;
    let path = open.workspace.path.display().to_string();
    match open.how {
        Opened::Found => {}
        Opened::Made => session.output.note(&format!("made the workspace {path}")),
        Opened::MadeAgain => {
            session.output.note(&format!("the workspace {path} was gone; it was made again"));
        }
    }
    open.notes.iter().for_each(|note| session.output.note(note));
    drop(open.lock);
    inside::set_up(session, &store, &open.workspace).await?;
    let env = inside::direnv(session, &open.workspace, args.allow_direnv)?;
    inside::execute(session, &desk, (open.workspace, env), &args.command).await
}
