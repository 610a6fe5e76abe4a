//! Why a request was not let in, and what its sender can do about it.

use agentos_store::registry::Scope;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use thiserror::Error;

use crate::problem::{Problem, ProblemKind};

/// How somebody gets a token.
const HOW: &str = "on the machine of the server, `agentos token create --name NAME --scope read` makes a token; send it as \
    `Authorization: Bearer TOKEN`";

/// Why a request was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Denied {
    /// It does not say for whom it is.
    #[error("the request does not say for which host it is, or says it twice")]
    UnclearHost,
    /// It is for somebody else.
    #[error("this server does not answer under that name")]
    ForeignHost,
    /// A page of somebody else made it.
    #[error("the request was made by a page of another site")]
    ForeignPage,
    /// Nobody is allowed to be anonymous here.
    #[error("who asks is not known, so a token is required")]
    NoToken,
    /// What was shown is no token, or not any more.
    #[error("the token is not valid: it is wrong, has expired, or was revoked")]
    WrongToken,
    /// The token is not good for this.
    #[error("this takes the scope `{}`, and the token has `{}`", needed.as_str(), granted.as_str())]
    Scope {
        /// What it takes.
        needed: Scope,
        /// What the token has.
        granted: Scope,
    },
    /// A run may not decide about itself.
    #[error("a process that a run has started can't do this")]
    OfARun,
    /// Somebody may be a run.
    #[error("nobody can tell which process asks, so it can't decide this")]
    UnknownProcess,
    /// The registry can't be read.
    #[error("tokens can't be checked at the moment")]
    NoRegistry,
    /// The body is too large.
    #[error("the body is larger than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// It is under way for too long.
    #[error("the request took too long")]
    TooSlow,
    /// Too many are under way.
    #[error("too many requests are under way")]
    Busy,
}

impl Denied {
    const fn kind(self) -> ProblemKind {
        match self {
            Self::UnclearHost => ProblemKind::UnclearHost,
            Self::ForeignHost => ProblemKind::ForeignHost,
            Self::ForeignPage => ProblemKind::ForeignPage,
            Self::NoToken => ProblemKind::TokenNeeded,
            Self::WrongToken => ProblemKind::TokenInvalid,
            Self::Scope { .. } => ProblemKind::ScopeTooSmall,
            Self::OfARun => ProblemKind::AskedByRun,
            Self::UnknownProcess => ProblemKind::UnknownProcess,
            Self::NoRegistry => ProblemKind::TokensUnchecked,
            Self::TooLarge { .. } => ProblemKind::BodyTooLarge,
            Self::TooSlow => ProblemKind::TooSlow,
            Self::Busy => ProblemKind::Busy,
        }
    }

    fn hint(self) -> Option<&'static str> {
        match self {
            Self::ForeignHost => Some(
                "use the address that `agentos serve` prints, or add the name to `[server] hosts` in your configuration",
            ),
            Self::ForeignPage => Some(
                "use the dashboard of this server, or add the page to `[server] origins` in your configuration",
            ),
            Self::NoToken | Self::WrongToken => Some(HOW),
            Self::Scope { .. } => Some("`agentos token create` makes one with another `--scope`"),
            Self::OfARun => Some("ask the person who started the run"),
            Self::UnknownProcess => Some("use `agentos` in a terminal, or send a token"),
            Self::NoRegistry => Some("the log of the server says why"),
            Self::Busy => Some("try again in a moment"),
            Self::TooLarge { .. } => Some(
                "an `input` may have 4 MB; write larger data into a file of the project and give its path",
            ),
            Self::UnclearHost | Self::TooSlow => None,
        }
    }
}

impl From<Denied> for Problem {
    fn from(denied: Denied) -> Self {
        let problem = Self::new(denied.kind(), denied.to_string());
        match denied.hint() {
            Some(hint) => problem.hint(hint),
            None => problem,
        }
    }
}

impl IntoResponse for Denied {
    fn into_response(self) -> Response {
        let mut response = Problem::from(self).into_response();
        let headers = response.headers_mut();
        match self {
            Self::WrongToken => {
                let how =
                    HeaderValue::from_static("Bearer realm=\"agentos\", error=\"invalid_token\"");
                headers.insert(header::WWW_AUTHENTICATE, how);
            }
            Self::Busy | Self::NoRegistry => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
            }
            // What is left of the request is not read.
            Self::TooLarge { .. } | Self::TooSlow | Self::UnclearHost => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}
