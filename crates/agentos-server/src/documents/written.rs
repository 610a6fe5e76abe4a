//! Documents as they leave.

use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::problem::Problem;

/// How much room a document has at first, in bytes: a run with twenty steps needs a little less.
const ROOM: usize = 16 << 10;

/// A document that may be long. It is written into one piece of memory, which has room for most of them; `axum::Json` begins
/// with 128 bytes and looks for more with every word.
pub(crate) struct Written<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Written<T> {
    fn into_response(self) -> Response {
        let mut text = Vec::with_capacity(ROOM);
        match serde_json::to_writer(&mut text, &self.0) {
            Ok(()) => {
                let kind = HeaderValue::from_static("application/json");
                ([(header::CONTENT_TYPE, kind)], text).into_response()
            }
            Err(error) => {
                Problem::internal(format!("a document can't be written: {error}")).into_response()
            }
        }
    }
}
