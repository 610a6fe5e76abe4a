//! How an agent comes into the developer's cache: beside everything, then moved in whole.
//!
//! Tests are many processes, and each may be the first to need an agent. A lock makes one of them install it; a folder
//! under its final name is complete, because it got that name last. No install script is run: what is needed are the
//! native programs, which come as files of the packages.

use std::ffi::OsStr;
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
        Installer { cache: &cache()?, npm: OsStr::new("npm") }.installed(self)
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

/// Who installs, and where.
struct Installer<'a> {
    cache: &'a Path,
    npm: &'a OsStr,
}

impl Installer<'_> {
    fn installed(&self, agent: RealAgent) -> Result<PathBuf, InstallError> {
        let agents = self.cache.join("agents");
        let name = format!("{agent}-{}-{}", agent.version(), platform());
        let folder = agents.join(&name);
        if !folder.is_dir() {
            fs::create_dir_all(&agents).map_err(at(&agents))?;
            let lock = agents.join(format!("{name}.lock"));
            let lock = File::create(&lock)
                .and_then(|file| file.lock().map(|()| file))
                .map_err(at(&lock))?;
            // Somebody else may have been faster.
            if !folder.is_dir() {
                self.install(agent, &agents, &folder)?;
            }
            drop(lock);
        }
        agent.program(&folder)
    }

    /// Only whoever holds the lock gets here: what an earlier install of this agent has left is nobody's.
    fn install(&self, agent: RealAgent, agents: &Path, folder: &Path) -> Result<(), InstallError> {
        let prefix = format!(".installing-{agent}-{}-", agent.version());
        for entry in fs::read_dir(agents).map_err(at(agents))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                let _gone = fs::remove_dir_all(entry.path());
            }
        }
        let staging = tempfile::Builder::new().prefix(&prefix).tempdir_in(agents);
        let staging = staging.map_err(at(agents))?;
        self.fetch(agent, staging.path())?;
        agent.prune(staging.path());
        agent.program(staging.path())?;
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
    fn fetch(&self, agent: RealAgent, staging: &Path) -> Result<(), InstallError> {
        let package = format!("{}@{}", agent.package(), agent.version());
        let cache = staging.join("npm-cache");
        let manifest = staging.join("package.json");
        fs::write(&manifest, "{\"private\": true}\n").map_err(at(&manifest))?;
        let mut npm = Command::new(self.npm);
        npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"]);
        npm.args(["--loglevel=error", "--cache"]).arg(&cache);
        npm.arg("--prefix").arg(staging).arg(&package);
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use tempfile::TempDir;

    use super::*;

    /// A program in the place of npm.
    fn npm(folder: &TempDir, script: &str) -> PathBuf {
        let path = folder.path().join("npm");
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a file");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).expect("a program");
        path
    }

    #[test]
    fn many_who_need_an_agent_install_it_once() {
        let folder = TempDir::new().expect("a folder");
        let counted = folder.path().join("counted");
        let script = format!(
            "echo installing >> {}; mkdir -p node_modules/.bin; touch node_modules/.bin/gemini",
            counted.display()
        );
        let npm = npm(&folder, &script);
        let agents = folder.path().join("agents");
        let left = agents.join(".installing-gemini-0.61.0-left");
        fs::create_dir_all(&left).expect("a folder");
        let installer = Installer { cache: folder.path(), npm: npm.as_os_str() };
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let installed = || installer.installed(RealAgent::Gemini).expect("it is installed");
                scope.spawn(move || assert!(installed().ends_with("node_modules/.bin/gemini")));
            }
        });
        let counted = fs::read_to_string(counted).expect("it was called");
        assert_eq!(counted, "installing\n");
        assert!(!left.exists(), "what a killed one has left is cleared away");
    }

    #[test]
    fn an_install_that_fails_says_why_and_leaves_nothing() {
        let folder = TempDir::new().expect("a folder");
        let refusal = |npm: &OsStr| {
            let installer = Installer { cache: folder.path(), npm };
            installer.installed(RealAgent::Claude).expect_err("it fails").to_string()
        };
        let missing = refusal(OsStr::new("/there/is/no/npm"));
        assert!(missing.contains("could not start npm"), "{missing}");
        let failing = npm(&folder, "echo 'network unreachable' >&2; exit 1");
        let failing = refusal(failing.as_os_str());
        assert!(failing.contains("is its registry reachable?\nnetwork unreachable"), "{failing}");
        let empty = npm(&folder, "true");
        let empty = refusal(empty.as_os_str());
        assert!(empty.contains("brings no"), "{empty}");
        let entries = fs::read_dir(folder.path().join("agents")).expect("a folder").flatten();
        let folders = entries.filter(|entry| entry.path().is_dir()).count();
        assert_eq!(folders, 0, "nothing that looks installed");
    }
}
