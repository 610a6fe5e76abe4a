//! Python packages that tests need, each in an environment of its own, installed once.
//!
//! They are in the user's cache, outside of every target folder; `agentos_testing` knows where.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::shell::{CommandLine, say};

/// A package of one version.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// What needs it.
    pub(crate) purpose: &'static str,
}

impl Package {
    /// Installs it, unless that was done before.
    pub(crate) fn ensure_installed(&self) -> Result<()> {
        let folder = self.folder()?;
        if self.is_in(&folder) {
            return Ok(());
        }
        let Self { name, version, purpose } = self;
        say(format!("installing the Python package {name} {version} once, for {purpose}"));
        // Whoever is killed half way leaves nothing under the final name.
        let staging = folder.with_extension(format!("{}.new", std::process::id()));
        self.install(&staging).inspect_err(|_| drop(fs::remove_dir_all(&staging)))?;
        let _damaged = fs::remove_dir_all(&folder);
        let moved = fs::rename(&staging, &folder);
        ensure!(
            moved.is_ok() || self.is_in(&folder),
            "{} could not be moved to {}",
            staging.display(),
            folder.display()
        );
        // Somebody else may have been faster.
        let _left = fs::remove_dir_all(&staging);
        Ok(())
    }

    fn install(&self, staging: &Path) -> Result<()> {
        let Self { name, version, .. } = self;
        CommandLine::new("python3", ["-m", "venv"])
            .args([staging.to_string_lossy()])
            .run()
            .context("the tests need Python 3 with its module `venv` (Debian: python3-venv)")?;
        let python = staging.join("bin/python").to_string_lossy().into_owned();
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        CommandLine::new(&python, pip).args([format!("{name}=={version}")]).run()?;
        ensure!(self.is_in(staging), "{name} {version} was installed and can't be used");
        Ok(())
    }

    fn is_in(&self, folder: &Path) -> bool {
        let name = self.name;
        let ask = format!("import importlib.metadata as m, {name}; print(m.version('{name}'))");
        let python = folder.join("bin/python");
        let told = CommandLine::new(&python.to_string_lossy(), ["-c", &ask]).output();
        told.is_ok_and(|told| told == self.version)
    }

    fn folder(&self) -> Result<PathBuf> {
        let named = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = named.filter(|path| path.is_absolute()).or_else(home);
        let cache = cache.context("there is no place for Python packages: HOME is not set")?;
        let folder = cache.join("agentos-dev");
        fs::create_dir_all(&folder)
            .with_context(|| format!("{} can't be made", folder.display()))?;
        Ok(folder.join(format!("{}-{}", self.name, self.version)))
    }
}
