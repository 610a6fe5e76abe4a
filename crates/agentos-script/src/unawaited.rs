//! Calls on `ctx` that were never awaited, and so were stopped when what they belong to ended.
//!
//! What a scope leaves open is cancelled, and its promise is rejected. Code that awaits it, or has given it to `Promise.race`
//! or `Promise.all`, handles that rejection. Otherwise `await` was forgotten: the code looks as if the work was done,
//! and it was stopped on the way.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::OperationKind;
use agentos_core::program::Door;
use agentos_core::source::Site;
use agentos_core::value::Value;

use crate::desk::{Desk, Pending, ScopeNumber};

/// A call that is being told of its cancellation.
pub(crate) struct Unawaited {
    scope: ScopeNumber,
    kind: Option<OperationKind>,
    site: Site,
    /// How many rejections were not handled before.
    before: usize,
}

impl Unawaited {
    /// Watches what becomes of a call that is answered, if it was cancelled.
    pub(crate) fn watch(
        pending: &Pending,
        result: &Result<Value, Failure>,
        desk: &Desk,
    ) -> Option<Self> {
        let is_cancelled = result.as_ref().is_err_and(|error| error.kind == FailureKind::Cancelled);
        let site = pending.site.clone().filter(|_| is_cancelled)?;
        let before = desk.unhandled_count();
        Some(Self { scope: pending.scope, kind: pending.kind, site, before })
    }

    /// Warns if it was not handled.
    pub(crate) fn warn(self, desk: &mut Desk, door: &mut Door<'_>) {
        if desk.unhandled_count() > self.before
            && let Some(scope) = desk.scope(self.scope)
            && desk.warns_of(&self.site)
        {
            let Self { site, .. } = &self;
            let call = call(self.kind);
            let message = format!(
                "{site}: `{call}` (or the function around it) was not awaited, so it was stopped when the code around it \
                 ended; write `await` before the call"
            );
            door.warn(scope, message);
        }
    }
}

/// What was called on `ctx`.
const fn call(kind: Option<OperationKind>) -> &'static str {
    match kind {
        None => "ctx.run",
        Some(OperationKind::Shell) => "ctx.shell",
        Some(OperationKind::Agent) => "ctx.runCli",
        Some(OperationKind::Git) => "ctx.git",
        Some(OperationKind::Files) => "ctx.files",
        Some(OperationKind::Artifact) => "ctx.artifact",
        Some(OperationKind::Invoke) => "ctx.invoke",
        Some(OperationKind::Sleep) => "ctx.sleep",
        Some(OperationKind::Wait) => "ctx.waitFor",
        Some(OperationKind::Approve) => "ctx.approve",
        Some(OperationKind::Effect | OperationKind::Set | OperationKind::Comment) => "ctx",
    }
}
