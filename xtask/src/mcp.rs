//! `cargo xtask mcp`: the real client of the Model Context Protocol that tests of `agentos mcp` need: the protocol's own
//! Python package. Tests find it by `agentos_testing::mcp`.

use anyhow::Result;

use crate::python::Package;

/// The version that the tests know; `agentos_testing::mcp` says the same.
const MCP: Package =
    Package { name: "mcp", version: "2.3.0", purpose: "the tests of `agentos mcp`" };

/// Installs the client, unless that was done before.
pub(crate) fn ensure_installed() -> Result<()> {
    MCP.ensure_installed()
}
