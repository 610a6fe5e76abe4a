//! `cargo xtask schemathesis`: whoever makes requests up from the server's own description, for the tests of `agentos serve`.
//! Tests find it by `agentos_testing::schemathesis`.

use anyhow::Result;

use crate::python::Package;

/// The version that the tests know; `agentos_testing::schemathesis` says the same.
const SCHEMATHESIS: Package =
    Package { name: "schemathesis", version: "4.32.5", purpose: "the tests of `agentos serve`" };

/// Installs it, unless that was done before.
pub(crate) fn ensure_installed() -> Result<()> {
    SCHEMATHESIS.ensure_installed()
}
