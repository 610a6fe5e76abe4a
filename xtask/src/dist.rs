//! `cargo xtask dist`: the binary that users get, in `target/dist`.
//!
//! It is optimised over crates (the profile `dist`) and stripped; its symbols are in `agentos.debug` beside it, where debuggers and
//! Rust's own backtraces find them through the binary's debug link.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::shell::{CommandLine, say, target};
use crate::ui;

/// Builds the binary and separates its symbols.
pub(crate) fn run() -> Result<()> {
    ui::build()?;
    CommandLine::cargo(["build", "--profile", "dist", "--locked"])
        .args(["-p", "agentos", "--bin", "agentos"])
        .run()?;
    let folder = target().join("dist");
    let (binary, symbols) = (folder.join("agentos"), folder.join("agentos.debug"));
    separate_symbols(&binary, &symbols)?;
    for file in [&binary, &symbols] {
        let bytes = fs::metadata(file).with_context(|| format!("no {}", file.display()))?.len();
        say(format!("{:>6.1} MB  {}", bytes as f64 / 1e6, file.display()));
    }
    Ok(())
}

/// Moves the symbols of a binary into a file of their own. A binary that has none left, because cargo did not build it again, is
/// left alone with the file it has.
fn separate_symbols(binary: &Path, symbols: &Path) -> Result<()> {
    let (binary, symbols) = (binary.to_string_lossy(), symbols.to_string_lossy());
    let missing =
        "objcopy and objdump are part of binutils: install it with your system's packages";
    let objcopy =
        |args: &[&str]| CommandLine::new("objcopy", args.iter().copied()).run().context(missing);
    let objdump = CommandLine::new("objdump", ["--section-headers", &*binary]);
    let sections = objdump.output().context(missing)?;
    if !sections.contains(".debug_line") {
        return Ok(());
    }
    objcopy(&["--only-keep-debug", &*binary, &*symbols])?;
    objcopy(&["--strip-all", &format!("--add-gnu-debuglink={symbols}"), &*binary])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_beside_a_binary_that_still_runs() {
        let folder = std::env::temp_dir().join(format!("xtask-dist-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let (source, binary) = (folder.join("it.rs"), folder.join("it"));
        let symbols = folder.join("it.debug");
        fs::write(&source, "fn main() { println!(\"runs\"); }").unwrap();
        let [source, output] = [&source, &binary].map(|path| path.to_string_lossy().into_owned());
        CommandLine::new("rustc", ["-g", "-o", &output, &source]).run().unwrap();
        let before = fs::metadata(&binary).unwrap().len();
        separate_symbols(&binary, &symbols).unwrap();
        // A second time there is nothing to separate, and the symbols stay.
        separate_symbols(&binary, &symbols).unwrap();
        let (after, kept) = (fs::metadata(&binary).unwrap().len(), fs::metadata(&symbols).unwrap());
        let said = CommandLine::new(&output, [""; 0]).output();
        fs::remove_dir_all(&folder).unwrap();
        assert!(after < before / 2 && kept.len() > after, "{before}, {after}, {}", kept.len());
        assert_eq!(said.unwrap(), "runs");
    }
}
