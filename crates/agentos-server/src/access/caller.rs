//! Who asks, for routes: a request has its caller beside it, and a route says what it takes.

use std::convert::Infallible;
use std::sync::Arc;

use agentos_store::registry::Scope;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::Lineage;
use super::denied::Denied;
use super::link::Link;
use crate::problem::Problem;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// The user whose server it is.
    User {
        /// What they are called.
        name: String,
    },
    /// Somebody with a token.
    Token {
        /// The token's id.
        id: String,
        /// The token's name.
        name: String,
    },
    /// Somebody that nobody knows.
    Nobody,
}

/// Who asks, and what they may do.
#[derive(Clone)]
pub struct Caller {
    who: Who,
    granted: Option<Scope>,
    /// The connection, and who can tell what is at its other end.
    behind: Option<(Arc<Link>, Lineage)>,
}

impl Caller {
    pub(super) fn new(
        who: Who,
        granted: Option<Scope>,
        behind: Option<(Arc<Link>, Lineage)>,
    ) -> Self {
        Self { who, granted, behind }
    }

    /// A caller without a connection, for whoever calls a router by itself.
    #[must_use]
    pub fn by_itself(who: Who, granted: Option<Scope>) -> Self {
        Self::new(who, granted, None)
    }

    /// Who it is.
    #[must_use]
    pub fn who(&self) -> &Who {
        &self.who
    }

    /// For the record.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.who {
            Who::User { name } => name.clone(),
            Who::Token { name, .. } => format!("token {name}"),
            Who::Nobody => "nobody".to_owned(),
        }
    }

    /// Whether the caller may do what takes this scope.
    ///
    /// # Errors
    /// 401 if nobody knows who it is, 403 if a token is not good for this.
    pub fn may(&self, scope: Scope) -> Result<(), Problem> {
        self.check(scope).map_err(Problem::from)
    }

    pub(super) fn check(&self, needed: Scope) -> Result<(), Denied> {
        match self.granted {
            None => Err(Denied::NoToken),
            Some(granted) if granted < needed => Err(Denied::Scope { needed, granted }),
            Some(_) => Ok(()),
        }
    }

    /// Whether the caller may do what takes this scope and what only a person may decide: an approval, for example. What a
    /// run has started may not. Looks through the processes of this machine, so it is not for every request.
    ///
    /// # Errors
    /// As [`Self::may`], and 403 if a run has started the process that asks, or nobody can tell which one it is.
    pub async fn may_decide(&self, scope: Scope) -> Result<(), Problem> {
        self.may(scope)?;
        let Some((link, lineage)) = self.behind.clone() else { return Ok(()) };
        let trace = link.peer.trace();
        let looked = tokio::task::spawn_blocking(move || trace.and_then(|trace| lineage(trace)));
        let is_of_a_run = looked.await.unwrap_or(None);
        match (is_of_a_run, &self.who) {
            (Some(true), _) => Err(Denied::OfARun.into()),
            // A token was given to somebody by a person.
            (Some(false), _) | (None, Who::Token { .. }) => Ok(()),
            (None, _) => Err(Denied::UnknownProcess.into()),
        }
    }

    /// Waits until streams to this caller have to end: the server stops, or the token was taken back. Half a second
    /// later the connection of a token that was taken back is closed, whatever the stream does.
    pub async fn ended(&self) {
        match &self.behind {
            Some((link, _)) => link.over.cancelled().await,
            None => std::future::pending().await,
        }
    }
}

impl std::fmt::Debug for Caller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Caller").field("who", &self.who).field("granted", &self.granted).finish()
    }
}

/// Where nobody has looked who asks, it is nobody.
impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        let found = parts.extensions.get::<Self>().cloned();
        Ok(found.unwrap_or_else(|| Self::by_itself(Who::Nobody, None)))
    }
}
