//! Backups that are older than they are to be kept. Without `workspace.keep_backups`, none are.

use agentos_core::time::Timestamp;
use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_workspace::workspace::backup::Backup;
use serde_json::{Value, json};

use super::Args;
use crate::error::Result;
use crate::session::Session;
use crate::workspace::desk::Desk;

/// Removes those that are too old, unless only asked about; what became of each.
pub(super) async fn remove_old(session: &Session, args: &Args, desk: &Desk) -> Result<Vec<Value>> {
    let Some(most) = session.config.workspace.keeping.keep_backups_ms() else {
        return Ok(Vec::new());
    };
    let before = Timestamp(SystemClock.now().0.saturating_sub(most));
    let is_dry = args.dry_run;
    let gone = desk.work(move |yard| {
        let mut old = yard.all_backups()?;
        old.retain(|backup| backup.made_at < before);
        if !is_dry {
            old.iter().try_for_each(|backup| yard.discard(backup))?;
        }
        Ok::<Vec<Backup>, agentos_workspace::workspace::backup::BackupError>(old)
    });
    let gone = gone.await?;
    let mut items = Vec::new();
    for backup in gone {
        if !args.json {
            let word = if is_dry { "would be removed" } else { "removed" };
            let told = format!("{}: {word} (workspace.keep_backups)", backup.reference);
            session.output.lines([told])?;
        }
        items.push(json!({
            "workspace_id": backup.workspace_id,
            "backup": backup,
            "is_removed": !is_dry,
            "reason": { "why": "keep_backups" },
        }));
    }
    Ok(items)
}
