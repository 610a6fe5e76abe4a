//! From a request to its answer: let in or not, within its limits, and told about.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::FutureExt as _;
use http_body_util::Limited;
use hyper::body::{Body as _, Incoming};
use tokio::time::timeout;
use tower::ServiceExt as _;

use super::deadline::DeadlineBody;
use super::limits::{BodyLimit, Limits};
use super::tell::Telling;
use super::turns::Turns;
use crate::access::{Access, Denied, Link};
use crate::problem::Problem;

/// What every request goes through.
pub(super) struct Door {
    pub(super) access: Access,
    router: Router,
    limits: Limits,
    turns: Turns,
}

impl Door {
    pub(super) fn new(router: Router, access: Access, limits: Limits) -> Self {
        let turns = Turns::new(limits.requests, limits.body_bytes);
        Self { access, router, turns, limits }
    }

    /// Answers a request, in any case.
    pub(super) async fn answer(
        &self,
        link: &Arc<Link>,
        mut request: hyper::Request<Incoming>,
    ) -> Response {
        let telling = Telling::begin(link, &mut request);
        let is_chunked = request.headers().contains_key(header::TRANSFER_ENCODING);
        let mut response = match self.let_in(link, request).await {
            Ok(request) => self.within_time(request).await,
            Err(denied) => denied.into_response(),
        };
        if is_chunked {
            // It may have had another length for somebody on the way here: one that was said beside the chunks is gone by
            // now. Nothing that follows on this connection is taken for a request.
            let close = HeaderValue::from_static("close");
            response.headers_mut().insert(header::CONNECTION, close);
        }
        telling.end(response)
    }

    async fn let_in(
        &self,
        link: &Arc<Link>,
        request: hyper::Request<Incoming>,
    ) -> Result<Request, Denied> {
        let limit = self.limits.body_bytes;
        if request.body().size_hint().lower() > limit {
            return Err(Denied::TooLarge { limit });
        }
        let longest = usize::try_from(limit).unwrap_or(usize::MAX);
        let (idle, whole) = (self.limits.body_idle, self.limits.body_time);
        let mut request = request
            .map(|body| Body::new(Limited::new(DeadlineBody::new(whole, idle, body), longest)));
        request.extensions_mut().insert(BodyLimit(limit));
        self.access.admit(link, request).await
    }

    /// The router's answer, unless it does not begin in time.
    async fn within_time(&self, request: Request) -> Response {
        let queue = self.turns.of(&request);
        let answer = async {
            // Nobody closes it.
            let turn = queue.wait().await.map_err(|_| Denied::Busy)?;
            let answer = AssertUnwindSafe(self.router.clone().oneshot(request)).catch_unwind();
            let answer = answer.await;
            drop(turn);
            Ok::<_, Denied>(answer)
        };
        match timeout(self.limits.request_time, answer).await {
            Ok(Ok(Ok(Ok(response)))) => response,
            Ok(Ok(Ok(Err(never)))) => match never {},
            Ok(Ok(Err(_panic))) => {
                Problem::internal("the server made a mistake; its log says more").into_response()
            }
            Ok(Err(denied)) => denied.into_response(),
            Err(_) => Denied::TooSlow.into_response(),
        }
    }
}
