//! Packages from npm, for tests that want the real thing. They are installed once, beside what is built.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The folder of a package, with its own `node_modules` around it.
#[expect(clippy::disallowed_methods, reason = "a test installs what it needs, once")]
pub(crate) fn package(name: &str, version: &str) -> PathBuf {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("npm-{name}-{version}"));
    let modules = prefix.join("node_modules");
    // Tests are processes of their own; two that install at once would each see what is half there.
    let turn = File::create(prefix.with_extension("lock")).expect("a file");
    turn.lock().expect("a turn");
    if !modules.join(name).join("package.json").is_file() {
        std::fs::create_dir_all(&prefix).expect("a folder");
        let wanted = format!("{name}@{version}");
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&prefix).arg(wanted);
        let output = npm.output().expect("npm is installed");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    modules
}

/// What TypeScript's own compiler says about a folder of workflows.
#[expect(clippy::disallowed_methods, reason = "the compiler is a program of its own")]
pub(crate) fn tsc(workflows: &Path) -> Output {
    let compiler = package("typescript", "5").join("typescript/bin/tsc");
    let mut command = Command::new("node");
    command.arg(compiler).arg("--project").arg(workflows).args(["--pretty", "false"]);
    command.output().expect("node is installed")
}
