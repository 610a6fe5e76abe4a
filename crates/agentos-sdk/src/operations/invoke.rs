//! A child run.

use std::panic::Location;

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
}
