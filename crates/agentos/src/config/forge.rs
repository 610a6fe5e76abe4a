//! `[forge]`: where pull requests are opened, if that is none of the forges that everybody knows.

use agentos_engine::git::ForgeKind;
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// `[forge]` in the end. What is empty was not said.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Forge {
    /// The host that the rest is about.
    pub(crate) host: Setting<String>,
    /// `github`, `gitlab` or `forgejo`.
    pub(crate) kind: Setting<WrittenKind>,
    /// Where its API is.
    pub(crate) api_url: Setting<String>,
    /// The variable that its token is in.
    pub(crate) token_env: Setting<String>,
}

impl Forge {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            Row::of("forge.api_url", &self.api_url),
            Row::of("forge.host", &self.host),
            Row::of("forge.kind", &self.kind),
            Row::of("forge.token_env", &self.token_env),
        ]
    }
}

/// A kind of forge, if somebody has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct WrittenKind(pub(crate) Option<ForgeKind>);

impl TryFrom<String> for WrittenKind {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let found = ForgeKind::ALL.into_iter().find(|kind| kind.id() == text);
        found.map(|kind| Self(Some(kind))).ok_or("must be `github`, `gitlab` or `forgejo`")
    }
}

impl From<WrittenKind> for toml::Value {
    fn from(kind: WrittenKind) -> Self {
        kind.0.map_or("", ForgeKind::id).into()
    }
}

/// A host, without anything around it.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Host(String);

impl TryFrom<String> for Host {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
        let is_host = !text.is_empty() && text.chars().all(is_plain);
        if is_host { Ok(Self(text)) } else { Err("must be a host, such as `code.example.org`") }
    }
}

/// An address of an API.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Address(String);

impl TryFrom<String> for Address {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const MUST: &str =
            "must be an address such as `https://code.example.org/api/v1`, without a user";
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let rest = rest.ok_or(MUST)?;
        let is_odd = rest.is_empty()
            || rest.starts_with('/')
            || rest.contains(|letter: char| letter.is_whitespace() || "@?#".contains(letter));
        if is_odd { Err(MUST) } else { Ok(Self(text)) }
    }
}

/// The name of a variable.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
struct Variable(String);

impl TryFrom<String> for Variable {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let is_name = text.starts_with(|letter: char| !letter.is_ascii_digit())
            && text.chars().all(is_letter);
        if is_name { Ok(Self(text)) } else { Err("must be the name of a variable, not a token") }
    }
}

/// `[forge]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    host: Option<Spanned<Host>>,
    kind: Option<Spanned<WrittenKind>>,
    api_url: Option<Spanned<Address>>,
    token_env: Option<Spanned<Variable>>,
}

/// `[forge]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    host: Option<Setting<String>>,
    kind: Option<Setting<WrittenKind>>,
    api_url: Option<Setting<String>>,
    token_env: Option<Setting<String>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        Self {
            host: written.host.map(|host| file.setting(host, |host| host.0)),
            kind: written.kind.map(|kind| file.setting(kind, |kind| kind)),
            api_url: written.api_url.map(|url| file.setting(url, |url| url.0)),
            token_env: written.token_env.map(|name| file.setting(name, |name| name.0)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            host: self.host.or(below.host),
            kind: self.kind.or(below.kind),
            api_url: self.api_url.or(below.api_url),
            token_env: self.token_env.or(below.token_env),
        }
    }

    pub(super) fn or_default(self) -> Forge {
        let nothing = || Setting::default(String::new());
        Forge {
            host: self.host.unwrap_or_else(nothing),
            kind: self.kind.unwrap_or(Setting::default(WrittenKind::default())),
            api_url: self.api_url.unwrap_or_else(nothing),
            token_env: self.token_env.unwrap_or_else(nothing),
        }
    }
}
