//! Whether a pull request can be opened, known before anybody works for it.
//!
//! It is looked at in the order in which `createPr` would stumble: the template, the remote and the token, the base, and
//! last the forge, which is asked for the repository with that token. Nothing is changed anywhere.

use std::path::PathBuf;
use std::time::Duration;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use agentos_forge::Forge;
use agentos_process::secret::Secrets;
use agentos_workspace::version_control::bounds::EXCHANGE;
use agentos_workspace::version_control::{BaseRequest, Target, VersionControl, without_password};
use serde::Deserialize;
use serde_json::json;

use super::door::{Door, door};
use super::open::failure;
use super::propose::Circumstances;
use super::template::Template;
use super::visit::Trouble;

/// A pull request that somebody will want.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Check {
    #[serde(default)]
    remote: Option<String>,
    /// The branch that it is for; the remote's main one if nothing is said.
    #[serde(default)]
    base: Option<String>,
    /// For each part of it.
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// Where it would go, as far as git can tell.
pub(super) struct Prospect {
    target: Target,
    door: Door,
    timeout: Duration,
}

/// Looks at everything that is git's.
pub(super) fn look(
    check: &Check,
    repository: &dyn VersionControl,
    around: &Circumstances<'_>,
) -> Result<Prospect, Trouble> {
    let timeout = check.timeout_ms.map_or(EXCHANGE, Duration::from_millis);
    Template::load(None, around.template.map(PathBuf::as_path), &around.project)?;
    let remote = repository.remote(check.remote.as_deref())?;
    let door = door(around.forge, &remote, around.environment)?;
    let request =
        BaseRequest { remote: Some(remote.name), base: check.base.clone(), head: None, timeout };
    let target = repository.find_base(&request)?;
    Ok(Prospect { target, door, timeout })
}

impl Prospect {
    /// Asks the forge, and tells where a pull request would go.
    pub(super) async fn answer(&self) -> Result<Value, Failure> {
        let (forge, note) = match &self.door {
            Door::Forge(forge) => {
                self.ask(&forge.0, &forge.1).await?;
                (Some(forge.0.kind.id()), None)
            }
            Door::None(why) => {
                let note = "no pull request is opened, the branch is only pushed";
                (None, Some(format!("{note}: {why}")))
            }
        };
        let Target { remote, base } = &self.target;
        Ok(json!({
            "remote": remote.name,
            "url": without_password(&remote.url),
            "base": base,
            "forge": forge,
            "note": note,
        }))
    }

    async fn ask(
        &self,
        access: &agentos_forge::Access,
        repository: &agentos_forge::Remote,
    ) -> Result<(), Failure> {
        let secrets = Secrets::of([], access.token.as_deref());
        let forge = Forge::new(access, repository).map_err(|error| failure(&error, &secrets))?;
        let asked = tokio::time::timeout(self.timeout, forge.check()).await.map_err(|_| {
            let after = self.timeout.as_secs_f32();
            let message = format!("{} did not answer within {after} s", access.forge());
            Failure::new(FailureKind::Timeout, message)
        })?;
        asked.map_err(|error| failure(&error, &secrets))
    }
}
