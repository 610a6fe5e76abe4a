//! Panics of workflow code, made into failures: they end a step or run, never the process that drives it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use agentos_core::failure::{Failure, FailureKind};
use serde_json::json;

/// Runs code of a workflow. What it leaves half done is dropped by the caller and not looked at again.
pub(crate) fn catch<R>(code: impl FnOnce() -> R) -> Result<R, Failure> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|payload| failure(&*payload))
}

/// Drops something that workflow code made. A panic in its destructor concerns nobody any more.
pub(crate) fn drop_quietly<T>(value: T) {
    let _ = catch(|| drop(value));
}

fn failure(payload: &(dyn Any + Send)) -> Failure {
    let text = payload.downcast_ref::<&str>().copied();
    let text = text.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
    let message = format!("the workflow's code panicked: {}", text.unwrap_or("without a message"));
    Failure {
        detail: Some(json!({ "reason": "panic" })),
        ..Failure::new(FailureKind::Error, message)
    }
}
