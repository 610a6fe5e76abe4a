//! A child run.

use std::panic::Location;

use agentos_core::invocation::Invoked;
use agentos_core::operation::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::Answer;
use crate::ctx::{Ctx, named};
use crate::json;

impl Ctx {
    /// Runs another workflow, and gives what it returns. Its run ends no later than the scope that asked for it. Asked for
    /// at this call.
    #[track_caller]
    pub fn invoke<T: DeserializeOwned>(
        &self,
        workflow: impl AsRef<str>,
        input: impl Serialize,
    ) -> Answer<T> {
        let request = named(workflow.as_ref())
            .and_then(|name| Ok(Request::invoke(name, json::encode("the input", &input)?)));
        self.ask(request, Location::caller())
    }

    /// As [`invoke`](Self::invoke), in a workspace of its own, made from what this run's has committed.
    #[track_caller]
    pub fn invoke_apart<T: DeserializeOwned>(
        &self,
        workflow: impl AsRef<str>,
        input: impl Serialize,
    ) -> Answer<T> {
        let request = named(workflow.as_ref()).and_then(|name| {
            let input = json::encode("the input", &input)?;
            let invoked = Invoked { input, has_own_workspace: true };
            Ok(Request::invoke(name, invoked.into_args()))
        });
        self.ask(request, Location::caller())
    }
}
