//! `[server]`: under which names the server answers, whose pages may use it, and how much anybody can cost.
//!
//! A repository's configuration may be anybody's, and the server is the user's, whatever projects it shows. So this section
//! is the user's alone.

use std::time::Duration;

use agentos_server::access::{HostName, PageOrigin};
use agentos_server::listen::Limits;
use serde::Deserialize;
use toml::Spanned;

use super::ConfigError;
use super::file::File;
use super::setting::{Row, Setting};

/// `[server]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Server {
    hosts: Setting<Vec<String>>,
    origins: Setting<Vec<String>>,
    connections: Setting<u32>,
    connections_per_peer: Setting<u32>,
    requests: Setting<u32>,
    body_kb: Setting<u32>,
    header_seconds: Setting<u32>,
    request_seconds: Setting<u32>,
    stop_seconds: Setting<u32>,
}

impl Server {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            Row::of("server.hosts", &self.hosts),
            Row::of("server.origins", &self.origins),
            Row::of("server.connections", &self.connections),
            Row::of("server.connections_per_peer", &self.connections_per_peer),
            Row::of("server.requests", &self.requests),
            Row::of("server.body_kb", &self.body_kb),
            Row::of("server.header_seconds", &self.header_seconds),
            Row::of("server.request_seconds", &self.request_seconds),
            Row::of("server.stop_seconds", &self.stop_seconds),
        ]
    }

    /// Further names under which the server answers.
    pub(crate) fn hosts(&self) -> Vec<HostName> {
        self.hosts.value.iter().filter_map(|host| HostName::parse(host)).collect()
    }

    /// Pages that may use the server beside its own.
    pub(crate) fn origins(&self) -> Vec<PageOrigin> {
        self.origins.value.iter().filter_map(|origin| PageOrigin::parse(origin)).collect()
    }

    /// How much anybody can cost.
    pub(crate) fn limits(&self) -> Limits {
        let seconds = |setting: &Setting<u32>| Duration::from_secs(u64::from(setting.value));
        Limits {
            connections: self.connections.value as usize,
            connections_per_peer: self.connections_per_peer.value as usize,
            requests: self.requests.value as usize,
            body_bytes: u64::from(self.body_kb.value) << 10,
            header_time: seconds(&self.header_seconds),
            request_time: seconds(&self.request_seconds),
            stop_time: seconds(&self.stop_seconds),
            ..Limits::default()
        }
    }
}

/// `[server]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    hosts: Option<Spanned<Vec<Host>>>,
    origins: Option<Spanned<Vec<Page>>>,
    connections: Option<Spanned<Within<4, 100_000>>>,
    connections_per_peer: Option<Spanned<Within<1, 100_000>>>,
    requests: Option<Spanned<Within<1, 10_000>>>,
    body_kb: Option<Spanned<Within<1, 65_536>>>,
    header_seconds: Option<Spanned<Within<1, 600>>>,
    request_seconds: Option<Spanned<Within<1, 3_600>>>,
    stop_seconds: Option<Spanned<Within<0, 600>>>,
}

/// A name with or without a port.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Host(String);

impl TryFrom<String> for Host {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match HostName::parse(&text) {
            Some(_) => Ok(Self(text)),
            None => Err(format!("`{text}` is no host; write `name` or `name:port`")),
        }
    }
}

/// A page's origin.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Page(String);

impl TryFrom<String> for Page {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match PageOrigin::parse(&text) {
            Some(_) => Ok(Self(text)),
            None => Err(format!("`{text}` is no origin; write `http://name:port`")),
        }
    }
}

/// A number with bounds.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "i64")]
struct Within<const LEAST: u32, const MOST: u32>(u32);

impl<const LEAST: u32, const MOST: u32> TryFrom<i64> for Within<LEAST, MOST> {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let sane = u32::try_from(number).ok().filter(|number| (LEAST..=MOST).contains(number));
        sane.map(Self).ok_or_else(|| format!("must be between {LEAST} and {MOST}"))
    }
}

/// `[server]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    hosts: Option<Setting<Vec<String>>>,
    origins: Option<Setting<Vec<String>>>,
    connections: Option<Setting<u32>>,
    connections_per_peer: Option<Setting<u32>>,
    requests: Option<Setting<u32>>,
    body_kb: Option<Setting<u32>>,
    header_seconds: Option<Setting<u32>>,
    request_seconds: Option<Setting<u32>>,
    stop_seconds: Option<Setting<u32>>,
}

impl Layer {
    pub(super) fn of_file(
        written: Option<Spanned<Written>>,
        file: &File,
    ) -> Result<Self, ConfigError> {
        let Some(written) = written else { return Ok(Self::default()) };
        if file.is_repositorys() {
            let what = "`[server]` can't be set by a repository; set it in your own configuration";
            return Err(file.mistake(written.span().start, what));
        }
        let written = written.into_inner();
        Ok(Self {
            hosts: written
                .hosts
                .map(|all| file.setting(all, |all| all.into_iter().map(|host| host.0).collect())),
            origins: written
                .origins
                .map(|all| file.setting(all, |all| all.into_iter().map(|page| page.0).collect())),
            connections: number(written.connections, file),
            connections_per_peer: number(written.connections_per_peer, file),
            requests: number(written.requests, file),
            body_kb: number(written.body_kb, file),
            header_seconds: number(written.header_seconds, file),
            request_seconds: number(written.request_seconds, file),
            stop_seconds: number(written.stop_seconds, file),
        })
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            hosts: self.hosts.or(below.hosts),
            origins: self.origins.or(below.origins),
            connections: self.connections.or(below.connections),
            connections_per_peer: self.connections_per_peer.or(below.connections_per_peer),
            requests: self.requests.or(below.requests),
            body_kb: self.body_kb.or(below.body_kb),
            header_seconds: self.header_seconds.or(below.header_seconds),
            request_seconds: self.request_seconds.or(below.request_seconds),
            stop_seconds: self.stop_seconds.or(below.stop_seconds),
        }
    }

    pub(super) fn or_default(self) -> Server {
        let limits = Limits::default();
        let or = |setting: Option<Setting<u32>>, number: u64| {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            setting.unwrap_or_else(|| Setting::default(number))
        };
        Server {
            hosts: self.hosts.unwrap_or_else(|| Setting::default(Vec::new())),
            origins: self.origins.unwrap_or_else(|| Setting::default(Vec::new())),
            connections: or(self.connections, limits.connections as u64),
            connections_per_peer: or(self.connections_per_peer, limits.connections_per_peer as u64),
            requests: or(self.requests, limits.requests as u64),
            body_kb: or(self.body_kb, limits.body_bytes >> 10),
            header_seconds: or(self.header_seconds, limits.header_time.as_secs()),
            request_seconds: or(self.request_seconds, limits.request_time.as_secs()),
            stop_seconds: or(self.stop_seconds, limits.stop_time.as_secs()),
        }
    }
}

fn number<const LEAST: u32, const MOST: u32>(
    written: Option<Spanned<Within<LEAST, MOST>>>,
    file: &File,
) -> Option<Setting<u32>> {
    written.map(|number| file.setting(number, |number| number.0))
}
