//! A file as an answer: whole, a part of it, or the news that whoever asks has it already.

use std::fs::File;
use std::io::SeekFrom;
use std::ops::Range;
use std::os::unix::fs::MetadataExt as _;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tokio::io::{AsyncReadExt as _, AsyncSeekExt as _};
use tokio_util::io::ReaderStream;

use crate::problem::{Problem, ProblemKind};

/// An open file.
pub(crate) struct FileAnswer {
    pub(crate) file: File,
    /// Its media type.
    pub(crate) kind: HeaderValue,
}

/// Which bytes are asked for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Part(Range<u64>),
    Nothing,
}

impl FileAnswer {
    /// The answer to a request with these headers. What is written to the file meanwhile is left out.
    pub(crate) async fn to(self, headers: &HeaderMap) -> Result<Response, Problem> {
        let failed =
            |error: std::io::Error| Problem::internal(format!("the file can't be read: {error}"));
        let found = self.file.metadata().map_err(failed)?;
        let length = found.len();
        let tag = format!(
            "\"{:x}-{:x}-{:x}.{:x}\"",
            found.ino(),
            length,
            found.mtime(),
            found.mtime_nsec()
        );
        let tag_header =
            HeaderValue::from_str(&tag).map_err(|error| Problem::internal(error.to_string()))?;
        if is_known(headers, &tag) {
            return Ok((StatusCode::NOT_MODIFIED, [(header::ETAG, tag_header)]).into_response());
        }
        let part = match wanted(headers, &tag, length) {
            Wanted::All => None,
            Wanted::Part(part) => Some(part),
            Wanted::Nothing => return Ok(unsatisfiable(length)),
        };
        let Range { start, end } = part.clone().unwrap_or(0..length);
        let mut file = tokio::fs::File::from_std(self.file);
        file.seek(SeekFrom::Start(start)).await.map_err(failed)?;
        let body = Body::from_stream(ReaderStream::with_capacity(file.take(end - start), 64 << 10));
        let mut response = (
            [
                (header::CONTENT_TYPE, self.kind),
                (header::ETAG, tag_header),
                (header::ACCEPT_RANGES, HeaderValue::from_static("bytes")),
                (header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache")),
                (header::CONTENT_LENGTH, (end - start).into()),
            ],
            body,
        )
            .into_response();
        if part.is_some() {
            *response.status_mut() = StatusCode::PARTIAL_CONTENT;
            let range = format!("bytes {start}-{}/{length}", end - 1);
            let range = HeaderValue::from_str(&range)
                .map_err(|error| Problem::internal(error.to_string()))?;
            response.headers_mut().insert(header::CONTENT_RANGE, range);
        }
        Ok(response)
    }
}

fn unsatisfiable(length: u64) -> Response {
    let detail = format!("there are no such bytes: the file has {length}");
    let mut response = Problem::new(ProblemKind::NoSuchBytes, detail).into_response();
    if let Ok(range) = HeaderValue::from_str(&format!("bytes */{length}")) {
        response.headers_mut().insert(header::CONTENT_RANGE, range);
    }
    response
}

/// Whether whoever asks has it already.
pub(crate) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let weak = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok());
    known.is_some_and(|known| {
        known.split(',').any(|known| known.trim() == "*" || weak(known) == weak(tag))
    })
}

/// One range is served; of several, and of what can't be understood, the whole file.
fn wanted(headers: &HeaderMap, tag: &str, length: u64) -> Wanted {
    let range = headers.get(header::RANGE).and_then(|range| range.to_str().ok());
    let is_other = headers.get(header::IF_RANGE).is_some_and(|known| known != tag);
    let Some(range) = range.and_then(|range| range.strip_prefix("bytes=")).filter(|_| !is_other)
    else {
        return Wanted::All;
    };
    let Some((first, last)) = range.trim().split_once('-').filter(|_| !range.contains(',')) else {
        return Wanted::All;
    };
    let (first, last) = (first.trim(), last.trim());
    let number = |text: &str| text.parse::<u64>().ok();
    let part = match (first.is_empty(), last.is_empty()) {
        (false, true) => number(first).map(|first| first..length),
        (false, false) => number(first)
            .zip(number(last))
            .filter(|(first, last)| first <= last)
            .map(|(first, last)| first..last.saturating_add(1).min(length)),
        (true, false) => number(last).map(|last| length.saturating_sub(last)..length),
        (true, true) => None,
    };
    match part {
        None => Wanted::All,
        Some(part) if part.start < part.end => Wanted::Part(part),
        Some(_) => Wanted::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(range: &str) -> Wanted {
        let mut headers = HeaderMap::new();
        headers.insert(header::RANGE, HeaderValue::from_str(range).unwrap());
        wanted(&headers, "\"a\"", 100)
    }

    #[test]
    fn ranges_are_understood_and_nonsense_gets_the_whole_file() {
        for (range, wanted) in [
            ("bytes=0-9", Wanted::Part(0..10)),
            ("bytes=90-", Wanted::Part(90..100)),
            ("bytes=-10", Wanted::Part(90..100)),
            ("bytes=-1000", Wanted::Part(0..100)),
            ("bytes=0-1000", Wanted::Part(0..100)),
            ("bytes=100-", Wanted::Nothing),
            ("bytes=-0", Wanted::Nothing),
            ("bytes=0-18446744073709551615", Wanted::Part(0..100)),
            ("bytes=9-0", Wanted::All),
            ("bytes=0-1,3-4", Wanted::All),
            ("bytes=x-", Wanted::All),
            ("lines=1-2", Wanted::All),
        ] {
            assert_eq!(asked(range), wanted, "{range}");
        }
    }

    #[test]
    fn what_somebody_has_is_compared_weakly() {
        let mut headers = HeaderMap::new();
        headers.insert(header::IF_NONE_MATCH, HeaderValue::from_static("\"x\", W/\"a\""));
        assert!(is_known(&headers, "\"a\"") && is_known(&headers, "W/\"a\""));
        assert!(!is_known(&headers, "\"b\""));
    }
}
