//! Who may use the server, and for what.
//!
//! ```text
//! accept ─▶ who is it? ─▶ for us? ─▶ from a page of ours? ─▶ who asks, and may they? ─▶ router
//!           Peer          Host       Origin                   same user or token: Caller
//! ```
//!
//! The same user on the same machine may do everything, without a token: such a process could do it anyway. Everybody else
//! needs a token: other users, other machines, whoever comes through a proxy, and everybody of whom the system can't say
//! who it is. A token that is shown counts, also where none is needed.
//!
//! Two things can be had without one: the dashboard's own files, which are the same for everybody and hold nobody's data,
//! and the answer to whether the server lives.
//!
//! This keeps strangers and other people's pages out. It is no sandbox for programs of the same user.

mod caller;
mod denied;
mod forwarded;
mod headers;
mod host;
mod link;
pub(crate) mod may;
mod origin;
mod peer;
mod secret;
mod tokens;

use std::net::SocketAddr;
use std::sync::Arc;

use agentos_store::registry::{Registry, Scope};
use axum::extract::Request;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};

pub use caller::{Caller, Who};
pub use host::HostName;
pub use origin::PageOrigin;
pub use peer::{Peer, Trace};
pub use secret::Secret;

pub(crate) use denied::Denied;
pub(crate) use headers::secure;
pub(crate) use link::Link;

use host::{HostError, Hosts};
use tokens::Tokens;

/// What may follow `Sec-WebSocket-Protocol:` to show a token, since pages can't set other headers of a WebSocket.
const PROTOCOL: &str = "agentos.token.";

/// Says whether a process was started by a run, or by something that was. None: nobody can tell, or it is gone.
pub type Lineage = Arc<dyn Fn(Trace) -> Option<bool> + Send + Sync>;

/// What decides who may use the server.
#[derive(Clone)]
pub struct AccessSettings {
    /// Where the tokens are.
    pub registry: Registry,
    /// What the user is called, for the record.
    pub user: String,
    /// Further names under which the server answers, beside localhost and the numbers that it is reached by.
    pub hosts: Vec<HostName>,
    /// Pages that may use the server beside its own.
    pub origins: Vec<PageOrigin>,
    /// Whether a run has started a process.
    pub lineage: Lineage,
}

/// Decides about each request. Clones are handles to the same.
#[derive(Clone)]
pub struct Access {
    inner: Arc<Inner>,
}

struct Inner {
    own_uid: u32,
    user: String,
    hosts: Hosts,
    origins: Vec<PageOrigin>,
    tokens: Tokens,
    lineage: Lineage,
}

impl Access {
    /// The decisions that follow from these settings.
    #[must_use]
    pub fn new(settings: AccessSettings) -> Self {
        let AccessSettings { registry, user, hosts, origins, lineage } = settings;
        Self {
            inner: Arc::new(Inner {
                own_uid: rustix::process::geteuid().as_raw(),
                user,
                hosts: Hosts::new(hosts),
                origins,
                tokens: Tokens::new(registry),
                lineage,
            }),
        }
    }

    /// Whether this is the user whose server it is.
    pub(crate) fn is_same_user(&self, peer: &Peer) -> bool {
        peer.uid() == Some(self.inner.own_uid)
    }

    /// Lets a request in, with its [`Caller`] beside it, or says why not.
    pub(crate) async fn admit(
        &self,
        link: &Arc<Link>,
        request: Request,
    ) -> Result<Request, Denied> {
        let (mut parts, body) = request.into_parts();
        self.check_address(&parts, link.local)?;
        let caller = self.caller(link, &parts).await?;
        if !is_open(parts.uri.path()) || !is_reading(&parts.method) {
            caller.check(least(&parts.method))?;
        }
        parts.extensions.insert(caller);
        Ok(Request::from_parts(parts, body))
    }

    /// Ends the connections whose token has been taken back, again and again. Never returns.
    pub(crate) async fn watch_tokens(&self) {
        self.inner.tokens.watch().await;
    }

    fn check_address(&self, request: &Parts, local: Option<SocketAddr>) -> Result<(), Denied> {
        let host = self.inner.hosts.check(request, local).map_err(|error| match error {
            HostError::Unclear => Denied::UnclearHost,
            HostError::Foreign => Denied::ForeignHost,
        })?;
        match origin::is_ours(request, &host, &self.inner.origins) {
            true => Ok(()),
            false => Err(Denied::ForeignPage),
        }
    }

    async fn caller(&self, link: &Arc<Link>, request: &Parts) -> Result<Caller, Denied> {
        let (who, granted) = match shown_token(&request.headers)? {
            Some(text) => {
                let token = self.inner.tokens.check(text).await?;
                self.inner.tokens.hold(link, &token.id);
                (Who::Token { id: token.id, name: token.name }, Some(token.scope))
            }
            None if !forwarded::is_forwarded(&request.headers) && self.is_same_user(&link.peer) => {
                (Who::User { name: self.inner.user.clone() }, Some(Scope::Admin))
            }
            None => (Who::Nobody, None),
        };
        Ok(Caller::new(who, granted, Some((link.clone(), self.inner.lineage.clone()))))
    }
}

/// Whether anybody may read there: everything but data.
fn is_open(path: &str) -> bool {
    const DATA: [&str; 4] = ["/api", "/ws", "/metrics", "/readyz"];
    // As the router sees it, and a little more: what is nearly one of these is treated as if it were.
    let is_data = |start: &str| {
        path.get(..start.len()).is_some_and(|found| found.eq_ignore_ascii_case(start))
    };
    path.starts_with('/') && !path.contains(['%', '\\']) && !DATA.iter().any(|start| is_data(start))
}

fn is_reading(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// What a request of this kind takes at least, whatever its route asks for beside.
fn least(method: &Method) -> Scope {
    match *method {
        Method::GET | Method::HEAD | Method::OPTIONS => Scope::Read,
        Method::DELETE => Scope::Admin,
        _ => Scope::Run,
    }
}

/// The token that a request shows.
fn shown_token(headers: &HeaderMap) -> Result<Option<&str>, Denied> {
    let mut said = headers.get_all(header::AUTHORIZATION).iter();
    match (said.next(), said.next()) {
        (Some(one), None) => {
            let text = one.to_str().map_err(|_| Denied::WrongToken)?;
            let (scheme, token) = text.split_once(' ').ok_or(Denied::WrongToken)?;
            let is_bearer = scheme.eq_ignore_ascii_case("bearer");
            is_bearer.then_some(Some(token.trim())).ok_or(Denied::WrongToken)
        }
        (Some(_), Some(_)) => Err(Denied::WrongToken),
        (None, _) => {
            let offers = headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
            let offers = offers.filter_map(|offers| offers.to_str().ok());
            let mut offers = offers.flat_map(|offers| offers.split(','));
            Ok(offers.find_map(|offer| offer.trim().strip_prefix(PROTOCOL)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_never_open_however_its_address_is_written() {
        for path in ["/", "/index.html", "/assets/app.js", "/runs/abc", "/healthz", "/favicon.ico"]
        {
            assert!(is_open(path), "{path}");
        }
        for path in [
            "/api",
            "/api/",
            "/api/executions",
            "/API/x",
            "/apix",
            "/ws",
            "/ws/",
            "/metrics",
            "/readyz",
            "/%61pi/executions",
            "/x/%2e%2e/api",
            "api/executions",
            "*",
            "",
            "/\\api",
        ] {
            assert!(!is_open(path), "{path}");
        }
    }
}
