//! Whether a request was made by a page of ours.
//!
//! A browser says which page made a request. What another page makes is refused, whatever it asks for, so that no page can
//! act in the user's name, neither by a form nor by a WebSocket, to which the rules of browsers do not apply. One thing is
//! not another page's doing: a person who follows a link to the dashboard.

use axum::http::header::ORIGIN;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method};

use super::host::HostName;

/// The page that a request comes from: `scheme://name:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOrigin {
    is_secure: bool,
    host: HostName,
}

impl PageOrigin {
    /// Reads one. `null` is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, host) = text.split_once("://")?;
        let is_secure = match scheme {
            "http" => false,
            "https" => true,
            _ => return None,
        };
        Some(Self { is_secure, host: HostName::parse(host)?.without_default_port(scheme) })
    }

    /// Whether it is a page of this host. It may be encrypted by somebody in front of us.
    fn is_of(&self, host: &HostName) -> bool {
        let scheme = if self.is_secure { "https" } else { "http" };
        self.host == host.clone().without_default_port(scheme)
    }
}

/// Whether the request was made by a page of the host that it is for, by one of those pages, or by no page at all.
pub(super) fn is_ours(request: &Parts, host: &HostName, others: &[PageOrigin]) -> bool {
    let mut said = request.headers.get_all(ORIGIN).iter();
    match (said.next(), said.next()) {
        (None, _) => !is_made_elsewhere(&request.headers) || is_followed_link(request),
        (Some(origin), None) => {
            let origin = origin.to_str().ok().and_then(PageOrigin::parse);
            let is_other = |origin: &PageOrigin| others.contains(origin);
            let is_own =
                |origin: &PageOrigin| origin.is_of(host) && !is_made_elsewhere(&request.headers);
            origin.is_some_and(|origin| is_own(&origin) || is_other(&origin))
        }
        (Some(_), Some(_)) => false,
    }
}

/// Whether the browser says that another site's page made the request. One on another port is another page, too.
fn is_made_elsewhere(headers: &HeaderMap) -> bool {
    let mut said = headers.get_all("sec-fetch-site").iter();
    said.any(|site| site != "same-origin" && site != "none")
}

/// Whether a person followed a link to a page of ours. What is seen then is seen by the person, not by the other page.
fn is_followed_link(request: &Parts) -> bool {
    let says =
        |name: &str, value: &str| request.headers.get(name).is_some_and(|said| said == value);
    request.method == Method::GET
        && says("sec-fetch-mode", "navigate")
        && says("sec-fetch-dest", "document")
        && super::is_open(request.uri.path())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn asks(method: &str, path: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = Request::builder().method(method).uri(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        let host = HostName::parse("localhost:3456").unwrap();
        is_ours(&parts, &host, &[PageOrigin::parse("http://localhost:5173").unwrap()])
    }

    #[test]
    fn only_a_page_of_the_same_host_and_port_is_ours() {
        let from = |origin| asks("POST", "/api/x", &[("origin", origin)]);
        assert!(from("http://localhost:3456") && from("http://localhost:5173"));
        for origin in [
            "null",
            "",
            "http://localhost",
            "http://localhost:8080",
            "http://127.0.0.1:3456",
            "http://evil.example",
            "http://localhost:3456.evil.example",
            "http://localhost:3456/",
            "http://x@localhost:3456",
            "chrome-extension://localhost:3456",
            "file://localhost:3456",
        ] {
            assert!(!from(origin), "{origin}");
        }
        let both = [("origin", "http://localhost:3456"), ("origin", "http://evil.example")];
        assert!(!asks("POST", "/api/x", &both));
        let liar = [("origin", "http://localhost:3456"), ("sec-fetch-site", "cross-site")];
        assert!(!asks("POST", "/api/x", &liar));
    }

    #[test]
    fn what_another_site_embeds_is_refused_and_a_followed_link_is_not() {
        assert!(asks("GET", "/api/x", &[]));
        assert!(asks("GET", "/api/x", &[("sec-fetch-site", "same-origin")]));
        assert!(asks("GET", "/", &[("sec-fetch-site", "none")]));
        for site in ["cross-site", "same-site", "whatever"] {
            assert!(!asks("GET", "/api/x", &[("sec-fetch-site", site)]), "{site}");
            let link = [
                ("sec-fetch-site", site),
                ("sec-fetch-mode", "navigate"),
                ("sec-fetch-dest", "document"),
            ];
            assert!(asks("GET", "/runs/x", &link), "{site}");
            assert!(!asks("GET", "/api/x", &link) && !asks("POST", "/", &link), "{site}");
            let frame = [link[0], link[1], ("sec-fetch-dest", "iframe")];
            assert!(!asks("GET", "/", &frame), "{site}");
        }
    }
}
