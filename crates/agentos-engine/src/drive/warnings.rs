//! Warnings of a workflow's code, kept as remarks on its run.
//!
//! A warning is a log line, so a replay makes it again until the run's log file has it. Its remark is written first, under an
//! id that follows from the line: however often it is made, there is one.

use agentos_core::id::RunId;
use agentos_core::turn::LogLine;
use agentos_store::records::NewComment;
use serde_json::json;

use super::Drive;
use crate::remark::remark;

impl Drive {
    /// Keeps the warnings among these lines. One that can't be kept is still in the log file.
    pub(super) async fn keep_warnings(&self, lines: &[LogLine]) {
        let (Some(records), run) = (&self.shared.records, self.run) else { return };
        for line in lines.iter().filter(|line| line.is_warning) {
            if let Err(error) = records.add_comment(warning(run, line)).await {
                tracing::warn!(%run, %error, "a warning is not kept on its run");
            }
        }
    }
}

fn warning(run: RunId, line: &LogLine) -> NewComment {
    let remark = remark(run, &format!("warning {}", line.ordinal), (line.message.clone(), line.at));
    NewComment { metadata: Some(json!({ "level": "warning" })), ..remark }
}
