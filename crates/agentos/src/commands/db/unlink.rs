//! `agentos db unlink`: this checkout uses a database of its own again. The one that it was linked to is left as it is.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agentos_store::sqlite::{HeldPlace, SqliteStore};
use agentos_store::transfer::Candidate;
use agentos_workspace::checkout::Checkout;
use agentos_workspace::identity::Identity;
use agentos_workspace::link::{self, Link};

use super::link::{failed, not_now, refuse_in_workspace};
use crate::databases::carry::{Carrier, Outcome, Unfinished};
use crate::databases::source::Source;
use crate::databases::{checkout, counted, target};
use crate::error::{CommandError, Result};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Copy this checkout's own runs into its new database
    #[arg(long)]
    merge: bool,
}

/// What was taken along.
#[derive(Default)]
struct Along {
    copied: usize,
    left: Vec<String>,
}

pub(super) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    let here = checkout(session)?;
    refuse_in_workspace(&here)?;
    let _turn = link::take_turn(&here).map_err(failed)?;
    let own = link::own_database(&here);
    let said = Link::load(&here).map_err(failed)?.map(|link| PathBuf::from(link.database));
    let Some(shared) = said.clone().or_else(|| std::fs::read_link(&own).ok()) else {
        session.output.lines([format!("{} is not linked", here.root.display())])?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut along = Along::default();
    let place = HeldPlace::hold(&own).map_err(not_now)?;
    let is_link = place.link().is_some();
    if !args.merge {
        place.replace_link_by(None).map_err(not_now)?;
    } else if is_link || !place.has_database().map_err(not_now)? {
        let source = open_shared(&own, &shared)?;
        let ground = place.building_ground().map_err(not_now)?;
        {
            let store = target::open(&ground)?;
            take_along(&here, &source, &store, &mut along).await?;
        }
        place.replace_link_by(Some(&ground)).map_err(not_now)?;
    } else {
        // Somebody was killed after this database was put here; it is filled up.
        drop(place);
        let source = open_shared(&own, &shared)?;
        take_along(&here, &source, &target::open(&own)?, &mut along).await?;
    }
    Link::remove(&here).map_err(failed)?;
    let mut lines = vec![format!("{} uses {} now", here.root.display(), own.display())];
    if args.merge {
        lines.push(format!("{} copied into it", counted(along.copied, "run")));
    }
    lines.push(format!("{} is as it was", shared.display()));
    session.output.lines(lines)?;
    for name in along.left {
        session.output.note(&name);
    }
    super::note_variable(session);
    Ok(ExitCode::SUCCESS)
}

fn open_shared(own: &Path, shared: &Path) -> Result<Source> {
    let path = link::follow(shared).map_err(failed)?.unwrap_or_else(|| own.to_owned());
    Source::open(&path).map_err(|error| {
        let hint = "without `--merge` the link ends, and nothing is copied";
        CommandError { hint: error.hint.clone().or(Some(hint.to_owned())), ..error }
    })
}

/// Copies the runs of this checkout that have ended. The others would be driven twice.
async fn take_along(
    here: &Checkout,
    source: &Source,
    target: &SqliteStore,
    along: &mut Along,
) -> Result<()> {
    let identity = Identity::load(here).map_err(failed)?;
    let root = here.root.to_string_lossy();
    let is_ours = |candidate: &&Candidate| {
        let worktree = identity.as_ref().map(|identity| identity.worktree.as_str());
        candidate.work_dir.as_deref() == Some(&*root)
            || (worktree.is_some() && candidate.worktree_id.as_deref() == worktree)
    };
    let unfinished = Unfinished::InSource;
    let carrier = Carrier { source, target: Some(target), home: None, unfinished, is_trial: false };
    for candidate in source.store.candidates().await?.iter().filter(is_ours) {
        if !candidate.is_ended {
            let (name, shared) = (&candidate.run_id, source.path.display());
            along.left.push(format!("{name} has not ended and is only in {shared}"));
            continue;
        }
        let moved = carrier.carry(candidate).await;
        match moved.outcome {
            outcome if outcome.is_new() => along.copied += 1,
            Outcome::AlreadyThere | Outcome::WentOn => {}
            _ => {
                let why = moved.reason.unwrap_or_default();
                return Err(CommandError::failed(format!("{}: {why}", candidate.run_id))
                    .hint("nothing was unlinked"));
            }
        }
    }
    Ok(())
}
