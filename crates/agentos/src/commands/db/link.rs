//! `agentos db link`: this checkout uses another one's database from now on.
//!
//! Nothing is ever hidden: whatever is only in the checkout's own database is copied first, or the link is refused. While
//! that goes on nobody commits to it, since its writer lock is held. The link itself is one `rename`; before it nothing has
//! changed, after it the checkout is linked. What was there is kept beside it.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_store::records::{Records as _, WorkspaceState};
use agentos_store::sqlite::{HeldPlace, RetireError, SqliteStore};
use agentos_store::transfer::Candidate;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::link::{self, Link};

use crate::databases::carry::{Carrier, Copied, Outcome, Unfinished, copy_workspaces};
use crate::databases::source::Source;
use crate::databases::{checkout, counted, target};
use crate::error::{CommandError, Result};
use crate::session::Session;

/// How many runs are named in a refusal.
const NAMED: usize = 5;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The database, or the checkout that has it; the main checkout's if left out
    target: Option<PathBuf>,

    /// Copy this checkout's runs there first
    #[arg(long)]
    merge: bool,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let here = checkout(session)?;
    refuse_in_workspace(&here)?;
    let _turn = link::take_turn(&here).map_err(failed)?;
    let target = target::find(session, &here, args.target.as_deref())?;
    let store = target::open(&target)?;
    link::make_place(&here).map_err(failed)?;
    let place = HeldPlace::hold(&link::own_database(&here)).map_err(not_now)?;
    check_other_link(&here, &place, &target)?;
    let copied = match place.has_database().map_err(not_now)? {
        true => hand_over(&place, &store, args.merge).await?,
        false => None,
    };
    let kept = match place.link() {
        Some(_) => None,
        None => place.replace_by_link(&target, copied.is_some()).map_err(not_now)?,
    };
    let database = target.to_string_lossy().into_owned();
    Link { database, workspace_id: None, repo_root: None }.write(&here).map_err(failed)?;
    let mut lines = vec![format!("{} uses {} now", here.root.display(), target.display())];
    if let Some(copied) = copied.filter(|copied| *copied > 0) {
        lines.push(format!("{} copied there", counted(copied, "run")));
    }
    lines.extend(kept.map(|kept| format!("its own database is kept as {}", kept.display())));
    session.output.lines(lines)?;
    super::note_variable(session);
    Ok(ExitCode::SUCCESS)
}

/// A checkout that is linked already is linked to something else only after it was unlinked.
fn check_other_link(here: &Checkout, place: &HeldPlace, target: &Path) -> Result<()> {
    let said = Link::load(here).map_err(failed)?.map(|link| PathBuf::from(link.database));
    for known in [said, place.link()].into_iter().flatten() {
        let real = link::follow(&known).ok().flatten().and_then(|path| path.canonicalize().ok());
        if real.as_deref() != Some(target) {
            return Err(CommandError::refused(format!(
                "this checkout is linked to {}",
                known.display()
            ))
            .hint("`agentos db unlink` ends that; then link it again"));
        }
    }
    Ok(())
}

/// Sees to it that everything in the checkout's own database is in the other one, too. Answers with how many runs were
/// copied; none if there was nothing at all in it.
async fn hand_over(place: &HeldPlace, target: &SqliteStore, merge: bool) -> Result<Option<usize>> {
    place.make_whole().map_err(not_now)?;
    let source = Source::open(place.path())?;
    let candidates = source.store.candidates().await?;
    let unfinished = Unfinished::SourceGoes;
    let trial =
        Carrier { source: &source, target: Some(target), home: None, unfinished, is_trial: true };
    let mut missing = Vec::new();
    for candidate in &candidates {
        let found = trial.carry(candidate).await;
        if !matches!(found.outcome, Outcome::AlreadyThere | Outcome::WentOn) {
            missing.push((candidate, found));
        }
    }
    let workspaces = missing_workspaces(&source.store, target).await?;
    if let Some((candidate, found)) = missing.iter().find(|(_, found)| !found.outcome.is_new()) {
        return Err(cannot_move(candidate, found));
    }
    if !merge && (!missing.is_empty() || workspaces > 0) {
        return Err(would_hide(&missing, workspaces));
    }
    let carrier = Carrier { is_trial: false, ..trial };
    for (candidate, _) in &missing {
        let moved = carrier.carry(candidate).await;
        if !moved.outcome.is_new() {
            return Err(cannot_move(candidate, &moved));
        }
    }
    copy_workspaces(target, source.store.workspaces().await?).await?;
    Ok((!candidates.is_empty()).then_some(missing.len()))
}

async fn missing_workspaces(source: &SqliteStore, target: &SqliteStore) -> Result<usize> {
    let known = target.workspaces().await?;
    let there = source.workspaces().await?.into_iter().filter(|workspace| {
        workspace.status != WorkspaceState::Gone
            && known.iter().all(|known| known.id != workspace.id)
    });
    Ok(there.count())
}

fn would_hide(missing: &[(&Candidate, Copied)], workspaces: usize) -> CommandError {
    let mut names: Vec<&str> =
        missing.iter().take(NAMED).map(|(_, found)| found.run_id.as_str()).collect();
    if missing.len() > NAMED {
        names.push("…");
    }
    let what = match (missing.len(), workspaces) {
        (0, workspaces) => counted(workspaces, "workspace"),
        (runs, _) => format!("{} ({})", counted(runs, "run"), names.join(", ")),
    };
    CommandError::refused(format!("the link would hide {what} of this checkout's own database"))
        .hint("`agentos db link --merge` copies them there first")
}

fn cannot_move(candidate: &Candidate, found: &Copied) -> CommandError {
    let why = found.reason.as_deref().unwrap_or("it can't be copied");
    CommandError::refused(format!("{} would be hidden: {why}", candidate.run_id))
        .hint("nothing was linked; mend that, then try again")
}

pub(super) fn refuse_in_workspace(here: &Checkout) -> Result<()> {
    let link = Link::load(here).map_err(failed)?;
    match link.and_then(|link| link.workspace_id) {
        Some(id) => Err(CommandError::refused(format!(
            "this is the workspace {id}, and its history is that of its maker"
        ))
        .hint("link the checkout that it was made from")),
        None => Ok(()),
    }
}

pub(super) fn failed(error: impl std::fmt::Display) -> CommandError {
    CommandError::failed(error.to_string())
}

pub(super) fn not_now(error: RetireError) -> CommandError {
    match error {
        RetireError::InUse { .. } => CommandError::refused(error.to_string())
            .hint("wait until what `agentos status` shows as running has ended, or interrupt it, then try again"),
        RetireError::Open(error) => error.into(),
        RetireError::Backend { .. } => CommandError::failed(error.to_string()),
    }
}
