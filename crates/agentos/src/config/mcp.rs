//! `[mcp]`: what coding agents may do over the Model Context Protocol.
//!
//! A repository's configuration may be anybody's, so what only a person may decide can't be allowed here.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};
use crate::mcp::Permission;

/// `[mcp]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Mcp {
    /// What agents may do beside reading and commenting.
    pub(crate) allow: Setting<Vec<Permission>>,
}

impl Mcp {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![Row::of("mcp.allow", &self.allow)]
    }
}

/// `[mcp]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    allow: Option<Spanned<Vec<Allowed>>>,
}

/// A permission that a file may give.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Allowed(Permission);

impl TryFrom<String> for Allowed {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_str() {
            "run" => Ok(Self(Permission::Run)),
            "signal" => Ok(Self(Permission::Signal)),
            "approve" => {
                Err("`approve` can't be allowed in a file; a person starts the server with \
                              `agentos mcp --allow approve`"
                    .to_owned())
            }
            other => Err(format!("`{other}` is not possible; there is only `run`, `signal`")),
        }
    }
}

/// `[mcp]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    allow: Option<Setting<Vec<Permission>>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        let permissions = |all: Vec<Allowed>| all.into_iter().map(|allowed| allowed.0).collect();
        Self { allow: written.allow.map(|all| file.setting(all, permissions)) }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self { allow: self.allow.or(below.allow) }
    }

    pub(super) fn or_default(self) -> Mcp {
        Mcp { allow: self.allow.unwrap_or(Setting::default(Vec::new())) }
    }
}
