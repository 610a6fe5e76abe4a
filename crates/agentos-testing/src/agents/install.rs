//! How an agent comes into the developer's cache: beside everything, then moved in whole.
//!
//! Tests are many processes, and each may be the first to need an agent. A lock makes one of them install it; a folder
//! under its final name is complete, because it got that name last. No install script is run: what is needed are the
//! native programs, which come as files of the packages.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use super::RealAgent;

/// Why an agent is not there.
#[derive(Debug, Error)]
pub enum InstallError {
    /// There is no folder to install it in.
    #[error("no place for agents: set HOME, XDG_CACHE_HOME or AGENTOS_DEV_CACHE to a folder")]
    NoCache,
    /// The cache can't be written.
    #[error("could not write {path}: {source}")]
    Cache {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// npm is missing.
    #[error(
        "could not start npm: {0}; install Node 20 or later, which these tests need for real agents"
    )]
    NoNpm(std::io::Error),
    /// npm failed.
    #[error("npm could not install {package}; is its registry reachable?\n{said}")]
    Npm {
        /// Package and version.
        package: String,
        /// The end of what it said.
        said: String,
    },
    /// The package has no program for this machine.
    #[error("{package} was installed but brings no {path}; is there one for this system?")]
    NoProgram {
        /// Package and version.
        package: String,
        /// Where the program should be.
        path: PathBuf,
    },
}

impl RealAgent {
    /// The program, installed if it is not there yet.
    pub fn installed(self) -> Result<PathBuf, InstallError> {
        let agents = cache()?.join("agents");
        let name = format!("{}-{}-{}", self.name(), self.version(), platform());
        let folder = agents.join(&name);
        if !folder.is_dir() {
            fs::create_dir_all(&agents).map_err(at(&agents))?;
            let lock = agents.join(format!("{name}.lock"));
            let lock = File::create(&lock)
                .and_then(|file| file.lock().map(|()| file))
                .map_err(at(&lock))?;
            // Somebody else may have been faster.
            if !folder.is_dir() {
                self.install(&agents, &folder)?;
            }
            drop(lock);
        }
        self.program(&folder)
    }

    fn install(self, agents: &Path, folder: &Path) -> Result<(), InstallError> {
        let staging = tempfile::Builder::new().prefix(".installing-").tempdir_in(agents);
        let staging = staging.map_err(at(agents))?;
        self.fetch(staging.path())?;
        self.prune(staging.path());
        self.program(staging.path())?;
        fs::rename(staging.path(), folder).map_err(at(folder))?;
        // Its name is gone already.
        let _moved = staging.keep();
        Ok(())
    }

    /// npm keeps no second copy in its own cache: these are hundreds of megabytes.
    #[expect(
        clippy::disallowed_methods,
        reason = "an install is waited for, and nothing to supervise"
    )]
    fn fetch(self, staging: &Path) -> Result<(), InstallError> {
        let package = format!("{}@{}", self.package(), self.version());
        let cache = staging.join("npm-cache");
        let manifest = staging.join("package.json");
        fs::write(&manifest, "{\"private\": true}\n").map_err(at(&manifest))?;
        let mut npm = Command::new("npm");
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"]);
        npm.args(["--loglevel=error", "--cache"])
            .arg(&cache)
            .arg("--prefix")
            .arg(staging)
            .arg(&package);
        npm.current_dir(staging).stdin(Stdio::null());
        let output = npm.output().map_err(InstallError::NoNpm)?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let skipped = said.chars().count().saturating_sub(2000);
            return Err(InstallError::Npm { package, said: said.chars().skip(skipped).collect() });
        }
        let _unneeded = fs::remove_dir_all(&cache);
        Ok(())
    }

    /// Takes away the large parts that no test can need. Whatever can't be removed only costs room.
    fn prune(self, folder: &Path) {
        if self == Self::Codex {
            let voice = self.vendor(folder).join("codex-resources/voice");
            let _unneeded = fs::remove_dir_all(voice);
        }
    }

    /// The program itself, without wrappers in between where there are any.
    fn program(self, folder: &Path) -> Result<PathBuf, InstallError> {
        let modules = folder.join("node_modules");
        let path = match self {
            Self::Claude => {
                modules.join(format!("@anthropic-ai/claude-code-{}/claude", platform()))
            }
            Self::Codex => self.vendor(folder).join("bin/codex"),
            Self::Gemini => modules.join(".bin/gemini"),
        };
        if path.is_file() {
            Ok(path)
        } else {
            let package = format!("{}@{}", self.package(), self.version());
            Err(InstallError::NoProgram { package, path })
        }
    }

    fn vendor(self, folder: &Path) -> PathBuf {
        let triple = match (std::env::consts::OS, std::env::consts::ARCH) {
            ("macos", arch) => format!("{arch}-apple-darwin"),
            (_, arch) => format!("{arch}-unknown-linux-musl"),
        };
        let package = format!("node_modules/@openai/codex-{}", platform());
        folder.join(package).join("vendor").join(triple)
    }
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> InstallError {
    let path = path.to_owned();
    move |source| InstallError::Cache { path, source }
}

/// As npm packages call this system.
fn platform() -> String {
    let system = if std::env::consts::OS == "macos" { "darwin" } else { std::env::consts::OS };
    let machine = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    format!("{system}-{machine}")
}

/// Where a developer's downloads for AgentOS are kept: outside of every target folder, because they are large and the
/// same for all.
fn cache() -> Result<PathBuf, InstallError> {
    let variable =
        |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("AGENTOS_DEV_CACHE")
        .or_else(|| Some(variable("XDG_CACHE_HOME")?.join("agentos-dev")))
        .or_else(|| Some(variable("HOME")?.join(".cache/agentos-dev")))
        .ok_or(InstallError::NoCache)
}
