//! Remarks on runs, for the people and agents who look at them.

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::records::{NewComment, Records as _};
use rmcp::schemars::{self, JsonSchema};
use serde::Deserialize;
use serde_json::json;
use uuid::Uuid;

use super::{Deed, Scene, Tool};
use crate::commands::approve::user;
use crate::error::{CommandError, Result};
use crate::mcp::answer::Answer;
use crate::names;

/// The longest remark, in bytes.
const LONGEST: usize = 16 << 10;

/// `comment`
pub(super) struct Comment;

/// What is remarked on what.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remark {
    /// The run: its id, its short name, or any unambiguous beginning of one.
    run: String,
    /// The remark; at most 16 KiB.
    message: String,
    /// The step that it is about, by its number; the run itself if left out.
    step: Option<u32>,
}

impl Tool for Comment {
    const NAME: &'static str = "comment";
    const TITLE: &'static str = "Comment on a run";
    const DESCRIPTION: &'static str = "Leaves a comment on a run or one of its steps, also when it has ended: what you have found \
        out, what you have changed because of it. People and other agents see it with the run, and who wrote it. It changes \
        nothing about what the run does.";
    const DEED: Deed = Deed::Adds;
    type Arguments = Remark;

    async fn call(scene: &Scene, remark: Remark) -> Result<Answer> {
        let message = remark.message.trim();
        if message.is_empty() || message.len() > LONGEST {
            let what = format!(
                "a comment has between 1 and {LONGEST} bytes; this one has {}",
                message.len()
            );
            return Err(CommandError::usage(what));
        }
        let opened = scene.at(&remark.run).await?.open_for(&remark.run)?;
        let run = names::find(&opened.store, &remark.run).await?;
        let id = Uuid::new_v4();
        let comment = NewComment {
            id,
            run,
            step: remark.step,
            message: message.to_owned(),
            metadata: Some(scene.caller.facts(&user(&scene.session))),
            author: scene.caller.agent.clone(),
            at: SystemClock.now(),
        };
        opened.store.add_comment(comment).await?;
        let detail = opened.store.run_detail(run).await?;
        let written = detail.comments.into_iter().find(|comment| comment.id == id);
        Answer::document(&json!({ "run_id": detail.run.run_id, "comment": written }))
    }
}
