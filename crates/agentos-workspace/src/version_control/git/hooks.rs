//! Which hook it was, and whether it refused or was killed.
//!
//! A hook that refuses says what it wants to, and git adds nothing. But git keeps a record, if it is asked to, of the
//! programs that it starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use agentos_process::tool::{KilledBySignal, ToolError, killed_by_code};
use serde::Deserialize;

use super::super::bounds::TRACE_BYTES;
use super::super::error::VersionControlError;

/// A line of git's record, as far as it matters here.
#[derive(Deserialize)]
struct Event {
    event: String,
    /// Of git itself; what a hook calls in turn has a longer one.
    sid: String,
    child_id: Option<i64>,
    hook_name: Option<String>,
    code: Option<i64>,
}

/// Why a call failed, if a hook ended badly by the record that git left: the hook refused, and said so, or it was killed.
pub(super) fn load_failure(
    call: &str,
    record: &Path,
    said: impl FnOnce() -> String,
) -> Option<VersionControlError> {
    let (hook, code) = load_failed_hook(record)?;
    Some(failure(call, hook, code, said))
}

/// The same for a hook that is known, and ended so.
pub(super) fn failure(
    call: &str,
    hook: String,
    code: i64,
    said: impl FnOnce() -> String,
) -> VersionControlError {
    match i32::try_from(code).ok().and_then(killed_by_code) {
        Some(signal) => {
            let (command, source) = (format!("git {call}: {hook}"), KilledBySignal { signal });
            ToolError::Killed { command, source }.into()
        }
        None => VersionControlError::Hook { hook, said: said() },
    }
}

fn load_failed_hook(record: &Path) -> Option<(String, i64)> {
    let lines = BufReader::new(File::open(record).ok()?.take(TRACE_BYTES)).lines();
    let mut hooks = BTreeMap::new();
    for line in lines.map_while(Result::ok) {
        let Ok(event) = serde_json::from_str::<Event>(&line) else { continue };
        let (false, Some(child)) = (event.sid.contains('/'), event.child_id) else { continue };
        match (event.event.as_str(), event.hook_name, event.code) {
            ("child_start", Some(name), _) => {
                hooks.insert(child, name);
            }
            ("child_exit", _, Some(code)) if code != 0 => {
                if let Some(name) = hooks.remove(&child) {
                    return Some((name, code));
                }
            }
            _ => {}
        }
    }
    None
}
