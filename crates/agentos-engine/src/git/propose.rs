//! What has to be done before a pull request can be opened: everything that is git's.
//!
//! It is looked at in the order of what it costs to be wrong: the template and the forge first, then how far the base has
//! gone on, and only then is something pushed.

use std::collections::BTreeMap;
use std::path::PathBuf;

use agentos_core::failure::{Failure, FailureKind};
use agentos_workspace::version_control::{
    Base, BaseRequest, LogRequest, LoggedCommit, PushRequest, Pushed, VersionControl,
};

use super::door::{Door, ForgeSettings, door};
use super::summary::ROWS;
use super::template::Template;
use super::visit::Trouble;
use super::wish::{OnBehind, Wish};

/// What a proposal needs to know besides the history.
pub(super) struct Circumstances<'a> {
    pub(super) forge: &'a ForgeSettings,
    /// The template that the configuration names.
    pub(super) template: Option<&'a PathBuf>,
    /// The project's root.
    pub(super) project: PathBuf,
    pub(super) environment: &'a BTreeMap<String, String>,
}

/// Work that is on its remote, and can be asked to be merged.
pub(super) struct Proposal {
    pub(super) template: Template,
    pub(super) door: Door,
    pub(super) base: Base,
    /// Whether its commits were made again on top of the base.
    pub(super) is_rebased: bool,
    /// How far it was behind before that.
    pub(super) was_behind: u64,
    pub(super) pushed: Pushed,
    pub(super) commits: Vec<LoggedCommit>,
}

/// Sees to it that the work is on its remote.
pub(super) fn propose(
    wish: &Wish,
    repository: &dyn VersionControl,
    around: &Circumstances<'_>,
) -> Result<Proposal, Trouble> {
    let named = around.template.map(PathBuf::as_path);
    let template = Template::load(wish.template.as_deref(), named, &around.project)?;
    let request = BaseRequest {
        remote: wish.remote.clone(),
        base: wish.base.clone(),
        head: wish.head.clone(),
        timeout: wish.timeout(),
    };
    let remote = repository.remote(wish.remote.as_deref())?;
    let door = door(around.forge, &remote, around.environment)?;
    let mut base = repository.compare_with_base(&request)?;
    let was_behind = base.behind;
    let is_rebased = was_behind > 0 && wish.on_behind == OnBehind::Rebase;
    match wish.on_behind {
        OnBehind::Fail if was_behind > 0 => return Err(left_behind(&base).into()),
        OnBehind::Rebase if was_behind > 0 => {
            repository.rebase(&base, wish.timeout())?;
            base = repository.compare_with_base(&request)?;
        }
        OnBehind::Continue | OnBehind::Rebase | OnBehind::Fail => {}
    }
    let push = PushRequest {
        remote: wish.remote.clone(),
        branch: Some(base.head.clone()),
        timeout_ms: wish.timeout_ms,
        ..PushRequest::default()
    };
    let pushed = repository.push(&push)?;
    let listed = LogRequest {
        limit: Some(ROWS),
        from: Some(base.base_commit.clone()),
        to: Some(pushed.commit_sha.clone()),
        ..LogRequest::default()
    };
    let commits = repository.log(&listed)?;
    Ok(Proposal { template, door, base, is_rebased, was_behind, pushed, commits })
}

fn left_behind(base: &Base) -> Failure {
    let commits = if base.behind == 1 { "commit" } else { "commits" };
    let message = format!(
        "the branch `{}` is {} {commits} behind `{}`, and `onBehind` is \"fail\"; rebase it, or set `onBehind` to \
         \"rebase\" or \"continue\"",
        base.head, base.behind, base.base
    );
    Failure::new(FailureKind::NonRetryable, message)
}
