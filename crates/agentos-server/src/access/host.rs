//! Under which names the server answers.
//!
//! A page of somebody else's may have its own name point to this machine. Its requests then come from the user's own
//! browser, with the page's name as the host. So the server answers only to names that are its own.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::HOST;
use axum::http::request::Parts;
use axum::http::uri::Authority;

/// A name with a port, if it has one. Names are compared without regard to case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostName {
    name: String,
    port: Option<u16>,
}

impl HostName {
    /// Reads `name`, `name:port`, `1.2.3.4:port` or `[::1]:port`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok()?;
        let name = authority.host().to_ascii_lowercase();
        let rest = text.get(name.len()..)?;
        let port = match rest.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            Some(_) => return None,
            // A user before the name, for example.
            None if !rest.is_empty() || name.is_empty() => return None,
            None => None,
        };
        Some(Self { name, port })
    }

    /// Without a port that goes without saying in addresses of this scheme.
    pub(super) fn without_default_port(mut self, scheme: &str) -> Self {
        let usual = if scheme == "https" { 443 } else { 80 };
        self.port = self.port.filter(|port| *port != usual);
        self
    }

    fn address(&self) -> Option<IpAddr> {
        let bare = self.name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        bare.unwrap_or(&self.name).parse().ok()
    }
}

/// The names of the server.
#[derive(Debug, Clone, Default)]
pub(super) struct Hosts {
    named: Vec<HostName>,
}

impl Hosts {
    pub(super) fn new(named: Vec<HostName>) -> Self {
        Self { named }
    }

    /// Whether a request to this name, which came in at that address, is meant for us. The Unix socket has no address.
    fn accept(&self, host: &HostName, local: Option<SocketAddr>) -> bool {
        let is_named = self.named.iter().any(|named| {
            named.name == host.name && (named.port.is_none() || named.port == host.port)
        });
        let is_own_port = |local: &SocketAddr| host.port.unwrap_or(80) == local.port();
        let is_own = match local {
            None => host.name == "localhost",
            Some(local) if !is_own_port(&local) => false,
            Some(local) => {
                let ip = local.ip().to_canonical();
                // A name can be made to point here; a number can't.
                let is_reached = host.address().is_some_and(|address| address.to_canonical() == ip);
                let is_loopback = ip.is_loopback()
                    && (host.name == "localhost"
                        || matches!(host.name.as_str(), "127.0.0.1" | "[::1]"));
                is_reached || is_loopback
            }
        };
        is_named || is_own
    }

    /// The name that a request is for, if it is one of ours.
    pub(super) fn check(
        &self,
        request: &Parts,
        local: Option<SocketAddr>,
    ) -> Result<HostName, HostError> {
        let mut said = request.headers.get_all(HOST).iter();
        let host = match (said.next(), said.next()) {
            (Some(host), None) => host.to_str().map_err(|_| HostError::Unclear)?,
            _ => return Err(HostError::Unclear),
        };
        let host = HostName::parse(host).ok_or(HostError::Unclear)?;
        // An address in the first line goes before the header; here it has to say the same.
        let also = request.uri.authority().map(|authority| HostName::parse(authority.as_str()));
        if also.is_some_and(|also| also.as_ref() != Some(&host)) {
            return Err(HostError::Unclear);
        }
        if self.accept(&host, local) { Ok(host) } else { Err(HostError::Foreign) }
    }
}

/// Why a request is not for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HostError {
    /// It does not say for whom it is, or says it twice.
    Unclear,
    /// It is for somebody else.
    Foreign,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(named: &[&str], local: Option<&str>, host: &str) -> bool {
        let named = named.iter().map(|name| HostName::parse(name).unwrap()).collect();
        let local = local.map(|address| address.parse().unwrap());
        HostName::parse(host).is_some_and(|host| Hosts::new(named).accept(&host, local))
    }

    #[test]
    fn only_our_own_names_with_our_own_port_are_ours() {
        let ours = |host| accepts(&[], Some("127.0.0.1:3456"), host);
        for host in ["localhost:3456", "LOCALHOST:3456", "127.0.0.1:3456", "[::1]:3456"] {
            assert!(ours(host), "{host}");
        }
        for host in [
            "evil.example:3456",
            "localhost",
            "localhost:80",
            "localhost:3457",
            "localhost.:3456",
            "localhost.evil.example:3456",
            "127.0.0.1.nip.io:3456",
            "127.1:3456",
            "2130706433:3456",
            "0.0.0.0:3456",
            "user@localhost:3456",
            "localhost:3456:3456",
            "localhost:",
            "localhost:+3456",
            "[::ffff:10.0.0.1]:3456",
            "",
            ":3456",
        ] {
            assert!(!ours(host), "{host}");
        }
    }

    #[test]
    fn a_port_that_goes_without_saying_may_be_left_out() {
        assert!(accepts(&[], Some("127.0.0.1:80"), "localhost"));
        assert!(!accepts(&[], Some("127.0.0.1:8080"), "localhost"));
    }

    #[test]
    fn elsewhere_it_is_the_number_that_was_reached_or_a_name_that_was_set() {
        let local = Some("10.0.0.5:3456");
        assert!(accepts(&[], local, "10.0.0.5:3456"));
        assert!(accepts(&[], Some("[::ffff:10.0.0.5]:3456"), "10.0.0.5:3456"));
        assert!(!accepts(&[], local, "localhost:3456"), "it did not come in there");
        assert!(!accepts(&[], local, "box.example:3456"));
        assert!(accepts(&["box.example"], local, "box.example"));
        assert!(accepts(&["box.example"], local, "Box.Example:443"));
        assert!(!accepts(&["box.example:443"], local, "box.example:3456"));
        assert!(accepts(&[], None, "localhost") && !accepts(&[], None, "evil.example"));
    }
}
