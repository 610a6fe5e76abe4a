//! Whose repository a remote is: the host and the path on it.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use crate::dialect::Kind;

/// A repository on a forge, as a git remote names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    host: String,
    owner: String,
    name: String,
}

/// A remote that names no repository on a forge.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "`{0}` names no repository on a forge: expected something like https://host/owner/repository"
)]
pub struct RemoteError(String);

impl Remote {
    /// Its host, without a user or a port.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Whose it is: a user or an organisation, and on GitLab perhaps groups inside of it.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// What it is called.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether its host is one of the forges that everybody knows. What another host is can only be guessed, and a token
    /// is not sent to where a guess leads.
    #[must_use]
    pub fn is_public(&self) -> bool {
        Kind::is_public_host(&self.host)
    }

    /// The forge that a host is, or by its name seems to be.
    #[must_use]
    pub fn kind(&self) -> Option<Kind> {
        Kind::of_host(&self.host)
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}/{}", self.host, self.owner, self.name)
    }
}

impl FromStr for Remote {
    type Err = RemoteError;

    fn from_str(address: &str) -> Result<Self, RemoteError> {
        parse(address).ok_or_else(|| RemoteError(without_user(address)))
    }
}

fn parse(address: &str) -> Option<Remote> {
    let (authority, path) = match address.split_once("://") {
        Some((scheme, rest)) => {
            let known = ["https", "http", "ssh", "git", "git+ssh"];
            known.contains(&scheme.to_ascii_lowercase().as_str()).then_some(())?;
            rest.split_once('/')?
        }
        // `git@host:owner/name`; a colon after a slash is part of a path on this machine.
        None => address.split_once(':').filter(|(host, _)| !host.contains('/'))?,
    };
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let path = path.trim_matches('/');
    let path = path.strip_suffix(".git").unwrap_or(path);
    let (owner, name) = path.rsplit_once('/')?;
    let whole = [host, owner, name].iter().all(|part| !part.is_empty());
    let plain = path.split('/').all(is_plain) && host.chars().all(|c| is_plain_char(c) && c != '_');
    (whole && plain).then(|| Remote {
        host: host.to_ascii_lowercase(),
        owner: owner.to_owned(),
        name: name.to_owned(),
    })
}

/// Parts become parts of an address: nothing may be in them that means something there.
fn is_plain(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".." && part.chars().all(is_plain_char)
}

fn is_plain_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.')
}

/// An address may have a password in it, which nobody should read in a message.
fn without_user(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            format!("{scheme}://{host}{path}")
        }
        None => address.to_owned(),
    }
}
