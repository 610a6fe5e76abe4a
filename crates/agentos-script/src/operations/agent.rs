//! A call of `ctx.runCli`.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::Request;

use crate::run::RunInfo;

/// What the call asks for.
///
/// # Errors
/// Its arguments are not what they should be.
pub(super) fn request(_args: &str, _info: &RunInfo) -> Result<Request, Failure> {
    Err(Failure::new(FailureKind::NonRetryable, "ctx.runCli can't be called yet"))
}
