//! What users may set, and where each value came from.
//!
//! Flags win over the environment, that over the repository's `.agent/config.toml`, that over the user's
//! `agentos/config.toml`, and that over the defaults. A section is one file of this folder: what may be written
//! (`Written`), what one source says (`Layer`), and what holds in the end. To add one: write the file, and name it in
//! [`Layer`] and [`Config`] below.
//!
//! Nothing ambient is read: the environment and the folders come in as [`Sources`].

mod agents;
mod file;
mod forge;
mod git;
mod keeping;
mod limits;
mod live;
mod log;
mod mcp;
mod mistake;
mod output;
mod prices;
mod retention;
mod roles;
mod run;
mod script;
mod secrets;
mod server;
pub(crate) mod setting;
mod shell;
pub(crate) mod workspace;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::terminal::Environment;
use crate::terminal::paint::ColorChoice;
pub(crate) use agents::Agents;
use file::File;
pub(crate) use forge::Forge;
pub(crate) use git::Git;
pub(crate) use keeping::Age;
pub(crate) use limits::Limits;
pub(crate) use live::LiveConfig;
pub(crate) use log::Log;
pub(crate) use mcp::Mcp;
pub(crate) use mistake::ConfigError;
pub(crate) use output::Output;
pub(crate) use prices::Prices;
pub(crate) use retention::Retention;
pub(crate) use roles::Roles;
pub(crate) use run::Run;
pub(crate) use script::Script;
pub(crate) use secrets::Secrets;
pub(crate) use server::Server;
use setting::Row;
pub(crate) use shell::Shell;
pub(crate) use workspace::Workspace;

/// Where values come from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sources<'a> {
    /// All variables.
    pub(crate) environment: &'a Environment,
    /// The user's home, if there is one.
    pub(crate) home: Option<&'a Path>,
    /// The root of the checkout, if we are in one.
    pub(crate) checkout: Option<&'a Path>,
    /// What the command line said.
    pub(crate) flags: Flags,
}

impl Sources<'_> {
    /// The files that are read, whether or not they are there.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.checkout.map(repository_path).into_iter().chain(user_path(self)).collect()
    }
}

/// What the command line said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Flags {
    /// `--color`
    pub(crate) color: Option<ColorChoice>,
    /// How often `-v` was said.
    pub(crate) verbosity: u8,
    /// How many runs at once.
    pub(crate) concurrency: Option<u32>,
}

/// Everything that is set, with defaults where nobody said anything.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Config {
    /// `[agents.NAME]`
    pub(crate) agents: Agents,
    /// `[forge]`
    pub(crate) forge: Forge,
    /// `[git]`
    pub(crate) git: Git,
    /// `[prices.MODEL]`
    pub(crate) prices: Prices,
    /// `[retention]`
    pub(crate) retention: Retention,
    /// `[limits]`
    pub(crate) limits: Limits,
    /// `[roles]`
    pub(crate) roles: Roles,
    /// `[run]`
    pub(crate) run: Run,
    /// `[output]`
    pub(crate) output: Output,
    /// `[log]`
    pub(crate) log: Log,
    /// `[mcp]`
    pub(crate) mcp: Mcp,
    /// `[shell]`
    pub(crate) shell: Shell,
    /// `[secrets]`
    pub(crate) secrets: Secrets,
    /// `[server]`
    pub(crate) server: Server,
    /// `[script]`
    pub(crate) script: Script,
    /// `[workspace]`
    pub(crate) workspace: Workspace,
}

/// What one source says.
#[derive(Debug, Default)]
struct Layer {
    agents: agents::Layer,
    forge: forge::Layer,
    git: git::Layer,
    prices: prices::Layer,
    retention: retention::Layer,
    limits: limits::Layer,
    roles: roles::Layer,
    run: run::Layer,
    output: output::Layer,
    log: log::Layer,
    mcp: mcp::Layer,
    shell: shell::Layer,
    secrets: secrets::Layer,
    server: server::Layer,
    script: script::Layer,
    workspace: workspace::Layer,
}

impl Config {
    /// Reads the files and puts all sources together.
    ///
    /// # Errors
    /// [`ConfigError`] if a file can't be read, or anything in a source is wrong.
    pub(crate) fn load(sources: &Sources<'_>) -> Result<Self, ConfigError> {
        let flags = Layer::of_flags(sources.flags)?;
        let environment = Layer::of_environment(sources.environment)?;
        let repository = sources.checkout.map(repository_path).map(File::load_repository);
        let user = user_path(sources).map(File::load_user);
        let mut effective = flags.over(environment);
        for file in [repository, user].into_iter().flatten() {
            if let Some(file) = file? {
                effective = effective.over(Layer::of_file(&file)?);
            }
        }
        Ok(effective.or_default())
    }

    /// Every key with its value and where that came from, by key.
    pub(crate) fn rows(&self) -> Vec<Row> {
        let mut rows = [
            self.agents.rows(),
            self.forge.rows(),
            self.git.rows(),
            self.limits.rows(),
            self.log.rows(),
            self.mcp.rows(),
            self.output.rows(),
            self.prices.rows(),
            self.retention.rows(),
            self.roles.rows(),
            self.run.rows(),
            self.script.rows(),
            self.secrets.rows(),
            self.server.rows(),
            self.shell.rows(),
            self.workspace.rows(),
        ]
        .concat();
        rows.sort_by_key(|row| row.key);
        rows
    }
}

/// Where the user's file is, if the user has a place for it. Relative paths there mean nothing and are passed over.
pub(crate) fn user_path(sources: &Sources<'_>) -> Option<PathBuf> {
    let said = sources.environment.get(OsStr::new("XDG_CONFIG_HOME")).map(PathBuf::from);
    let folder = said.filter(|path| path.is_absolute());
    let folder = folder.or_else(|| Some(sources.home?.join(".config")))?;
    Some(folder.join("agentos/config.toml"))
}

/// Where the file of a checkout is.
pub(crate) fn repository_path(checkout: &Path) -> PathBuf {
    checkout.join(".agent/config.toml")
}

impl Layer {
    fn of_flags(flags: Flags) -> Result<Self, ConfigError> {
        Ok(Self {
            run: run::Layer::of_flags(flags)?,
            output: output::Layer::of_flags(flags),
            log: log::Layer::of_flags(flags),
            ..Self::default()
        })
    }

    fn of_environment(environment: &Environment) -> Result<Self, ConfigError> {
        Ok(Self {
            limits: limits::Layer::of_environment(environment)?,
            run: run::Layer::of_environment(environment)?,
            output: output::Layer::of_environment(environment)?,
            log: log::Layer::of_environment(environment)?,
            workspace: workspace::Layer::of_environment(environment)?,
            ..Self::default()
        })
    }

    fn of_file(file: &File) -> Result<Self, ConfigError> {
        let written: Written = file.parse()?;
        Ok(Self {
            agents: agents::Layer::of_file(written.agents, file),
            forge: forge::Layer::of_file(written.forge, file),
            git: git::Layer::of_file(written.git, file),
            prices: prices::Layer::of_file(written.prices, file),
            retention: retention::Layer::of_file(written.retention, file),
            limits: limits::Layer::of_file(written.limits, file)?,
            roles: roles::Layer::of_file(written.roles, file),
            run: run::Layer::of_file(written.run, file),
            output: output::Layer::of_file(written.output, file),
            log: log::Layer::of_file(written.log, file),
            mcp: mcp::Layer::of_file(written.mcp, file),
            shell: shell::Layer::of_file(written.shell, file),
            secrets: secrets::Layer::of_file(written.secrets, file),
            server: server::Layer::of_file(written.server, file)?,
            script: script::Layer::of_file(written.script, file),
            workspace: workspace::Layer::of_file(written.workspace, file),
        })
    }

    /// What this source does not say, the one below it may.
    fn over(self, below: Self) -> Self {
        Self {
            agents: self.agents.over(below.agents),
            forge: self.forge.over(below.forge),
            git: self.git.over(below.git),
            prices: self.prices.over(below.prices),
            retention: self.retention.over(below.retention),
            limits: self.limits.over(below.limits),
            roles: self.roles.over(below.roles),
            run: self.run.over(below.run),
            output: self.output.over(below.output),
            log: self.log.over(below.log),
            mcp: self.mcp.over(below.mcp),
            shell: self.shell.over(below.shell),
            secrets: self.secrets.over(below.secrets),
            server: self.server.over(below.server),
            script: self.script.over(below.script),
            workspace: self.workspace.over(below.workspace),
        }
    }

    fn or_default(self) -> Config {
        Config {
            agents: self.agents.or_default(),
            forge: self.forge.or_default(),
            git: self.git.or_default(),
            prices: self.prices.or_default(),
            retention: self.retention.or_default(),
            limits: self.limits.or_default(),
            roles: self.roles.or_default(),
            run: self.run.or_default(),
            output: self.output.or_default(),
            log: self.log.or_default(),
            mcp: self.mcp.or_default(),
            shell: self.shell.or_default(),
            secrets: self.secrets.or_default(),
            server: self.server.or_default(),
            script: self.script.or_default(),
            workspace: self.workspace.or_default(),
        }
    }
}

/// A file as it is written.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
struct Written {
    agents: Option<toml::Spanned<agents::Written>>,
    forge: forge::Written,
    git: git::Written,
    prices: Option<toml::Spanned<prices::Written>>,
    retention: retention::Written,
    limits: limits::Written,
    roles: Option<toml::Spanned<roles::Written>>,
    run: run::Written,
    output: output::Written,
    log: log::Written,
    mcp: mcp::Written,
    shell: shell::Written,
    secrets: secrets::Written,
    server: Option<toml::Spanned<server::Written>>,
    script: script::Written,
    workspace: workspace::Written,
}

#[cfg(test)]
mod tests;
