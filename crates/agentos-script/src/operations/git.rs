//! A call of `ctx.git`: its arguments are the method and what it is given.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::Request;

use crate::run::RunInfo;

/// What the call asks for.
///
/// # Errors
/// Its arguments are not what they should be.
pub(super) fn request(_args: &str, _info: &RunInfo) -> Result<Request, Failure> {
    Err(Failure::new(FailureKind::NonRetryable, "ctx.git can't be called yet"))
}
