//! What a route takes, said among its arguments: whoever may not is refused before anything else of the request is read.

use std::marker::PhantomData;

use agentos_store::registry::Scope;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Caller;
use crate::problem::Problem;

/// Something that not everybody may do.
pub(crate) trait Right {
    /// The scope that it takes.
    const SCOPE: Scope;
    /// Whether only a person may decide it, and nothing that a run has started.
    const IS_DECISION: bool = false;
}

/// To look at something.
pub(crate) enum Read {}

/// To start runs, and to do something to them.
pub(crate) enum Run {}

/// To answer for a run what only a person may.
pub(crate) enum Decide {}

/// To add, remove and clean.
pub(crate) enum Admin {}

impl Right for Read {
    const SCOPE: Scope = Scope::Read;
}

impl Right for Run {
    const SCOPE: Scope = Scope::Run;
}

impl Right for Decide {
    const SCOPE: Scope = Scope::Run;
    const IS_DECISION: bool = true;
}

impl Right for Admin {
    const SCOPE: Scope = Scope::Admin;
}

/// Somebody who may.
pub(crate) struct May<R> {
    caller: Caller,
    right: PhantomData<R>,
}

impl<R> May<R> {
    /// Who it is, for the record.
    pub(crate) fn name(&self) -> String {
        self.caller.name()
    }
}

impl<R: Right, S: Send + Sync> FromRequestParts<S> for May<R> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let Ok(caller) = Caller::from_request_parts(parts, state).await;
        match R::IS_DECISION {
            true => caller.may_decide(R::SCOPE).await?,
            false => caller.may(R::SCOPE)?,
        }
        Ok(Self { caller, right: PhantomData })
    }
}
