//! Opening a pull request for work that is on its remote, once.
//!
//! The request carries the mark of the operation, and the forge is asked for it before anything is sent. So whoever is
//! killed between request and answer leaves a pull request that the next try finds.

use std::sync::Arc;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::id::RunId;
use agentos_core::value::Value;
use agentos_forge::{Forge, ForgeError, Mark, NewPullRequest, Opened, PullRequestState};
use agentos_process::secret::Secrets;
use serde_json::json;

use super::GitSettings;
use super::door::Door;
use super::propose::Proposal;
use super::summary::Summary;
use super::wish::Wish;

/// Whose pull request it is.
pub(super) struct Request<'a> {
    pub(super) settings: &'a Arc<GitSettings>,
    pub(super) run: RunId,
    /// The number of the step that asks for it.
    pub(super) step: Option<u32>,
    /// The mark of the operation.
    pub(super) mark: String,
    pub(super) wish: &'a Wish,
    pub(super) proposal: &'a Proposal,
    pub(super) secrets: &'a Secrets,
}

impl Request<'_> {
    /// Opens it, or finds the one that there is; says why there can be none.
    pub(super) async fn answer(&self) -> Result<Value, Failure> {
        let (access, repository) = match &self.proposal.door {
            Door::Forge(forge) => (&forge.0, &forge.1),
            Door::None(why) => {
                let note = format!("the branch was pushed, and no pull request opened: {why}");
                return Ok(self.value(None, None, Some(note)));
            }
        };
        let wanted = self.wanted().await;
        let secrets = Secrets::of([], access.token.as_deref());
        let masked = |error: &ForgeError| failure(error, &secrets);
        let forge = Forge::new(access, repository).map_err(|error| masked(&error))?;
        let waiting = tokio::time::timeout(self.wish.timeout(), forge.open(&wanted)).await;
        let opened = waiting.map_err(|_| {
            let after = self.wish.timeout().as_secs_f32();
            let message = format!("{} did not open it within {after} s", access.forge());
            Failure::new(FailureKind::Timeout, message)
        })?;
        let opened = opened.map_err(|error| masked(&error))?;
        let note = note(&opened);
        Ok(self.value(Some(access.kind.id()), Some(&opened), note))
    }

    async fn wanted(&self) -> NewPullRequest {
        let run = match &self.settings.records {
            Some(records) => records.run_detail(self.run).await.ok(),
            None => None,
        };
        let Self { wish, proposal, step, .. } = self;
        let summary = Summary { wish, proposal, run: run.as_ref(), step: *step };
        let body = proposal.template.filled(|place| summary.value(place));
        NewPullRequest {
            title: self.secrets.masked(&wish.title),
            body: self.secrets.masked(&body),
            head: proposal.base.head.clone(),
            base: proposal.base.base.clone(),
            draft: wish.draft,
            labels: wish.labels.clone(),
            reviewers: wish.reviewers.clone(),
            mark: Mark::new(&self.mark),
        }
    }

    /// The answer as the log has it.
    fn value(&self, forge: Option<&str>, opened: Option<&Opened>, note: Option<String>) -> Value {
        let Proposal { base, pushed, is_rebased, was_behind, .. } = self.proposal;
        json!({
            "pr_url": opened.map(|opened| &opened.pull_request.url),
            "number": opened.map(|opened| opened.pull_request.number),
            "created": opened.is_some_and(|opened| opened.is_own),
            "branch": base.head,
            "base": base.base,
            "commit_sha": pushed.commit_sha,
            "behind": if *is_rebased { base.behind } else { *was_behind },
            "ahead": base.ahead,
            "rebased": is_rebased,
            "pushed": pushed,
            "forge": forge,
            "note": note,
        })
    }
}

/// What is to be known about it besides.
fn note(opened: &Opened) -> Option<String> {
    let is_closed = opened.pull_request.state == PullRequestState::Closed;
    let closed = is_closed.then(|| "the pull request was closed or merged meanwhile".to_owned());
    let found =
        (!opened.is_own).then(|| "there was an open pull request for this branch".to_owned());
    let all: Vec<String> = found.into_iter().chain(closed).chain(opened.notices.clone()).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// Why the forge did not do it, without the token.
pub(super) fn failure(error: &ForgeError, secrets: &Secrets) -> Failure {
    let kind = if error.is_passing() { FailureKind::Error } else { FailureKind::NonRetryable };
    Failure::new(kind, secrets.masked(&error.to_string()))
}
