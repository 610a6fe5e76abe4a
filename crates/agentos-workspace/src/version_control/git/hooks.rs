//! Which hook it was.
//!
//! A hook that refuses says what it wants to, and git adds nothing. But git keeps a record, if it is asked to, of the
//! programs that it starts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use serde::Deserialize;

use super::super::bounds::TRACE_BYTES;

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

/// The hook that ended badly, by the record that git left.
pub(super) fn load_failed_hook(record: &Path) -> Option<String> {
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
                    return Some(name);
                }
            }
            _ => {}
        }
    }
    None
}
