//! Builds the dashboard that the server carries, where Node is there to do it.
//!
//! The program builds without it: then the server says that the dashboard is missing, and everything else works. What was
//! built from the same sources is not built again, so this costs one short process; `AGENTOS_SKIP_UI=1` leaves even that out.

use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What the dashboard is made of, and what it is built to.
const PARTS: [&str; 9] = [
    "src",
    "public",
    "index.html",
    "package.json",
    "package-lock.json",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
    "dist",
];

fn main() {
    println!("cargo::rerun-if-env-changed=AGENTOS_SKIP_UI");
    let ui = Path::new("../../ui");
    if ui.exists() {
        // Cargo watches only what is there: a dashboard that is made later would not get into the next build. Should
        // it not be possible to make the folder, this is all that is missed.
        let _made = fs::create_dir_all(ui.join("dist"));
    }
    for part in PARTS.map(|part| ui.join(part)).iter().filter(|part| part.exists()) {
        println!("cargo::rerun-if-changed={}", part.display());
    }
    if env::var_os("AGENTOS_SKIP_UI").is_some_and(|value| value != "0") || !ui.exists() {
        return;
    }
    if let Err(reason) = build(ui) {
        println!(
            "cargo::warning=the dashboard is not built: {reason}; `cargo xtask ui` tells more"
        );
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a build script runs in the foreground of a build; no run depends on it"
)]
fn build(ui: &Path) -> Result<(), String> {
    let output = Command::new("node").arg("build.mjs").current_dir(ui).output();
    let output = output.map_err(|error| format!("Node can't be started ({error})"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it failed").to_owned())
}
