//! Which kind of workspace a run gets.
//!
//! The command line is heard first, then the environment, the workflow's own config, the configuration files; if nobody says
//! anything, what suits the repository.

use agentos_process::tool::Tool;
use agentos_workspace::git;
use agentos_workspace::workspace::Kind;
use agentos_workspace::workspace::id::WorkspaceId;
use agentos_workspace::workspace::isolation::JjWorkspace;

use super::WorkspaceArgs;
use crate::config::setting::Origin;
use crate::config::workspace::WantedKind;
use crate::error::{Cause, CommandError, Result};
use crate::session::Session;

/// Names the workspace that something was started in.
const INHERITED: &str = "AGENT_WORKSPACE_ID";

/// Where a run is to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    /// In the checkout itself.
    Checkout,
    /// In the workspace that this command was started in.
    Inherited(String),
    /// In a workspace: of this id, or a new one.
    Own {
        /// Its id, if somebody has named it.
        id: Option<WorkspaceId>,
        /// Its kind.
        kind: Kind,
        /// Whether somebody has asked for just this kind.
        is_said: bool,
    },
}

/// Decides. What could surprise somebody is told.
pub(crate) fn choose(
    session: &Session,
    args: &WorkspaceArgs,
    workflow: Option<&str>,
) -> Result<Choice> {
    let (said, id) = understood(args)?;
    let location = session.location()?;
    if said.is_none() && id.is_none() && args.base.is_none() {
        if let Some(inherited) = &location.workspace_id {
            return Ok(Choice::Inherited(inherited.clone()));
        }
        if session.surroundings.variable(INHERITED).is_some() && is_where_it_was_started(session) {
            // Around it is a run that works in a checkout itself.
            return Ok(Choice::Checkout);
        }
    }
    let is_here =
        id.as_ref().is_some_and(|id| location.workspace_id.as_deref() == Some(id.as_str()));
    if let Some(id) = id.as_ref().filter(|_| is_here && said.is_none() && args.base.is_none()) {
        // Whoever names the workspace that they stand in works with the one around them.
        return Ok(Choice::Inherited(id.to_string()));
    }
    let is_named = id.is_some();
    let wanted = match (said, is_named) {
        (Some(said), _) => said,
        // Whoever names a workspace wants one.
        (None, true) => WantedKind::Auto,
        (None, false) => configured(session, workflow)?,
    };
    let kind = match wanted {
        // Inside of a workspace, that is the checkout; never the one that it was made from.
        WantedKind::None => {
            check_no_base(args)?;
            return Ok(location.workspace_id.clone().map_or(Choice::Checkout, Choice::Inherited));
        }
        WantedKind::Own(kind) => Some(kind),
        WantedKind::Auto => {
            let wants_base = args.base.as_ref().map(|_| "/workspace/base");
            suitable(session, if is_named { Some("/workspace/id") } else { wants_base })?
        }
    };
    let is_said = matches!(wanted, WantedKind::Own(_));
    Ok(kind.map_or(Choice::Checkout, |kind| Choice::Own { id, kind, is_said }))
}

/// What somebody has said, if it makes sense: the kind and the id.
pub(crate) fn understood(
    args: &WorkspaceArgs,
) -> Result<(Option<WantedKind>, Option<WorkspaceId>)> {
    let said = args.workspace.as_deref().map(flag).transpose()?;
    let id = args.workspace_id.as_deref().map(str::parse::<WorkspaceId>).transpose();
    let id = id.map_err(|error| {
        CommandError::usage(error.to_string()).because(Cause::Place).field("/workspace/id")
    })?;
    if said == Some(WantedKind::None) {
        if id.is_some() {
            let message = "a workspace of the kind `none` is the checkout itself: it has no id";
            return Err(CommandError::usage(message).because(Cause::Place).field("/workspace/id"));
        }
        check_no_base(args)?;
    }
    Ok((said, id))
}

/// The checkout itself is not made from anything.
fn check_no_base(args: &WorkspaceArgs) -> Result<()> {
    if args.base.is_none() {
        return Ok(());
    }
    let message = "the run works in the checkout itself (`none`), which is not made from a base";
    Err(CommandError::usage(message)
        .because(Cause::Place)
        .hint("leave the base out, or ask for a workspace of the kind `worktree`, `clone` or `jj`")
        .field("/workspace/base"))
}

fn flag(text: &str) -> Result<WantedKind> {
    WantedKind::parse(text).ok_or_else(|| {
        CommandError::usage(format!("there are no workspaces of the kind `{text}`"))
            .because(Cause::Place)
            .hint("there are `worktree`, `clone`, `jj`, `auto`, and `none` for the checkout itself")
            .field("/workspace/kind")
    })
}

/// What nobody has said on the command line.
fn configured(session: &Session, workflow: Option<&str>) -> Result<WantedKind> {
    let setting = &session.config.workspace.kind;
    let is_ours = matches!(setting.origin, Origin::Environment(_) | Origin::Flag);
    match workflow.filter(|_| !is_ours) {
        None => Ok(setting.value),
        Some(text) => WantedKind::parse(text).ok_or_else(|| {
            CommandError::usage(format!("the workflow's `workspace` is `{text}`"))
                .because(Cause::Unstartable)
                .hint(format!("it {}", WantedKind::MUST))
        }),
    }
}

/// What suits the repository; none if there can be no workspace, unless a field of the request makes sense only with one.
pub(crate) fn suitable(session: &Session, wanted_by: Option<&str>) -> Result<Option<Kind>> {
    let location = session.location()?;
    let checkout = location.checkout.as_ref().ok().and_then(Option::as_ref);
    let without = |why: &str| -> Result<Option<Kind>> {
        if let Some(field) = wanted_by {
            let message = format!("there can be no workspace: {why}");
            return Err(CommandError::usage(message).because(Cause::Place).field(field));
        }
        session.output.note(&format!(
            "{why}: the run works in this folder itself; nothing keeps it apart from your own work"
        ));
        Ok(None)
    };
    let Some(checkout) = checkout else { return without("this is not in a repository") };
    if checkout.root.join(".jj").is_dir() && is_there(session, "jj") {
        let is_git = checkout.kind == agentos_workspace::checkout::Kind::Git;
        match JjWorkspace::misses(&checkout.root).filter(|_| is_git) {
            None => return Ok(Some(Kind::Jj)),
            Some(why) => session.output.note(&format!(
                "this repository {why}: the workspace is a git worktree (`worktree`)"
            )),
        }
    }
    if checkout.kind == agentos_workspace::checkout::Kind::Jj {
        return without("jj is not installed");
    }
    match git::head(&session.surroundings, &checkout.root) {
        Ok(Some(_)) => Ok(Some(Kind::Worktree)),
        Ok(None) => without("the repository has no commit yet"),
        Err(error) => Err(CommandError::failed(error.to_string())),
    }
}

fn is_there(session: &Session, program: &str) -> bool {
    let tool = Tool::new(program).only_environment(session.surroundings.environment.clone());
    tool.args(["--version"]).run().is_ok_and(|answer| answer.is_success())
}

/// Whether we stand where the run around us works.
fn is_where_it_was_started(session: &Session) -> bool {
    let path = session.surroundings.variable("AGENT_WORKSPACE_PATH").map(std::path::Path::new);
    let folder = session.surroundings.cwd.as_deref().and_then(|folder| folder.canonicalize().ok());
    path.and_then(|path| path.canonicalize().ok())
        .is_some_and(|path| folder.is_some_and(|folder| folder.starts_with(path)))
}
