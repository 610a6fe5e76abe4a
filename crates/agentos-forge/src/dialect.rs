//! What differs between forges.

mod forgejo;
mod github;
mod gitlab;
mod pull;

use std::fmt;
use std::str::FromStr;

use async_trait::async_trait;

use crate::error::ForgeError;
use crate::pull_request::{NewPullRequest, PullRequest};
use crate::remote::Remote;
use crate::wire::Wire;

/// A kind of forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// github.com or GitHub Enterprise.
    GitHub,
    /// gitlab.com or a GitLab of one's own. Its pull requests are called merge requests.
    GitLab,
    /// Forgejo, or Gitea.
    Forgejo,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::GitHub, Self::GitLab, Self::Forgejo];

    /// The kind that a host is known to be.
    pub(crate) fn of_host(host: &str) -> Option<Self> {
        let named = |name: &str| host == name || host.split('.').next() == Some(name);
        match host {
            "github.com" | "ssh.github.com" => Some(Self::GitHub),
            "gitlab.com" | "altssh.gitlab.com" => Some(Self::GitLab),
            "codeberg.org" => Some(Self::Forgejo),
            _ if named("github") => Some(Self::GitHub),
            _ if named("gitlab") => Some(Self::GitLab),
            _ if named("forgejo") || named("gitea") => Some(Self::Forgejo),
            _ => None,
        }
    }

    /// Whether a host is one of the forges that everybody knows.
    pub(crate) fn is_public_host(host: &str) -> bool {
        let hosts =
            ["github.com", "ssh.github.com", "gitlab.com", "altssh.gitlab.com", "codeberg.org"];
        hosts.contains(&host)
    }

    /// Where the API of a host usually is.
    #[must_use]
    pub fn api(self, host: &str) -> String {
        match (self, host) {
            (Self::GitHub, "github.com" | "ssh.github.com") => "https://api.github.com".to_owned(),
            (Self::GitHub, _) => format!("https://{host}/api/v3"),
            (Self::GitLab, "altssh.gitlab.com") => "https://gitlab.com/api/v4".to_owned(),
            (Self::GitLab, _) => format!("https://{host}/api/v4"),
            (Self::Forgejo, _) => format!("https://{host}/api/v1"),
        }
    }

    /// The environment's variables that its token is usually in, for messages.
    pub(crate) const fn variables(self) -> &'static str {
        match self {
            Self::GitHub => "GITHUB_TOKEN or GH_TOKEN, or log in with `gh auth login`",
            Self::GitLab => "GITLAB_TOKEN",
            Self::Forgejo => "FORGEJO_TOKEN",
        }
    }

    /// Its name where programs read it: `github`, `gitlab`, `forgejo`.
    #[must_use]
    pub const fn id(self) -> &'static str {
        match self {
            Self::GitHub => "github",
            Self::GitLab => "gitlab",
            Self::Forgejo => "forgejo",
        }
    }

    /// The environment's variables that its token is looked for in, in this order.
    #[must_use]
    pub const fn token_variables(self) -> &'static [&'static str] {
        match self {
            Self::GitHub => &["GITHUB_TOKEN", "GH_TOKEN"],
            Self::GitLab => &["GITLAB_TOKEN"],
            Self::Forgejo => &["FORGEJO_TOKEN", "GITEA_TOKEN"],
        }
    }

    pub(crate) fn dialect(self, remote: &Remote) -> Box<dyn Dialect> {
        match self {
            Self::GitHub => Box::new(github::GitHub::new(remote)),
            Self::GitLab => Box::new(gitlab::GitLab::new(remote)),
            Self::Forgejo => Box::new(forgejo::Forgejo::new(remote)),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::GitHub => "GitHub",
            Self::GitLab => "GitLab",
            Self::Forgejo => "Forgejo",
        })
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let same = |kind: &Self| kind.to_string().eq_ignore_ascii_case(text);
        Self::ALL.into_iter().find(same).ok_or_else(|| {
            format!("`{text}` is no forge that is known: there are github, gitlab and forgejo")
        })
    }
}

/// A pull request as a forge lists it.
pub(crate) struct Listed {
    pub(crate) pull_request: PullRequest,
    pub(crate) base: String,
    pub(crate) body: String,
}

/// How a forge is spoken to about one repository.
#[async_trait]
pub(crate) trait Dialect: Send + Sync {
    /// The route of the repository itself.
    fn root(&self) -> &str;

    /// The latest pull requests of a branch of this repository, the closed ones too.
    async fn of_branch(&self, wire: &Wire, head: &str) -> Result<Vec<Listed>, ForgeError>;

    /// Opens one.
    async fn open(&self, wire: &Wire, wanted: &NewPullRequest) -> Result<PullRequest, ForgeError>;

    /// Puts labels on it and asks for reviews; may be done again. Answers with what the forge would not do.
    async fn adorn(
        &self,
        wire: &Wire,
        pull_request: &PullRequest,
        wanted: &NewPullRequest,
    ) -> Result<Vec<String>, ForgeError>;
}

/// A label or a reviewer that the forge does not know is no reason to fail: the pull request is there.
pub(crate) fn noticed(
    what: &str,
    done: Result<serde_json::Value, ForgeError>,
) -> Result<Option<String>, ForgeError> {
    match done {
        Ok(_) => Ok(None),
        Err(error) if error.is_passing() => Err(error),
        Err(error) => Ok(Some(format!("{what}: {error}"))),
    }
}
