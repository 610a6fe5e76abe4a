//! A forge that pull requests can be opened on.

use std::time::Duration;

use crate::dialect::{Dialect, Kind};
use crate::error::ForgeError;
use crate::pull_request::{NewPullRequest, Opened, PullRequest, PullRequestState};
use crate::remote::Remote;
use crate::wire::Wire;

/// How long one waits for a forge, and how often one asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// For one answer.
    pub answer: Duration,
    /// How often something is asked for, if the forge has a problem that may pass.
    pub tries: u32,
    /// Between two of them; it doubles each time.
    pub between: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self { answer: Duration::from_secs(30), tries: 4, between: Duration::from_secs(1) }
    }
}

/// Whose door it is, and the key.
#[derive(Clone)]
pub struct Access {
    /// Which API is spoken.
    pub kind: Kind,
    /// The API's address; [`Kind::api`] knows the usual one.
    pub api: String,
    /// Who asks.
    pub token: Option<String>,
    /// How long one waits.
    pub retry_policy: RetryPolicy,
}

impl Access {
    /// The forge for people.
    #[must_use]
    pub fn forge(&self) -> String {
        let host = self.api.split_once("://").map_or(self.api.as_str(), |(_, rest)| rest);
        let host = host.split('/').next().unwrap_or(host);
        format!("{} ({host})", self.kind)
    }
}

/// A repository on a forge.
pub struct Forge {
    wire: Wire,
    dialect: Box<dyn Dialect>,
    retry_policy: RetryPolicy,
}

impl Forge {
    /// A repository on a forge. Nothing is sent yet.
    ///
    /// # Errors
    /// [`ForgeError::NoToken`], [`ForgeError::Settings`].
    pub fn new(access: &Access, remote: &Remote) -> Result<Self, ForgeError> {
        let wire = Wire::new(access)?;
        Ok(Self { wire, dialect: access.kind.dialect(remote), retry_policy: access.retry_policy })
    }

    /// Looks whether the forge lets us in and shows us the repository. It is what can be known of a token before it is
    /// needed: whether it may open pull requests, nobody tells.
    ///
    /// # Errors
    /// [`ForgeError`].
    pub async fn check(&self) -> Result<(), ForgeError> {
        let look = || self.wire.read::<serde_json::Value>(self.dialect.root());
        self.patiently(look).await.map(drop)
    }

    /// The pull request of a branch that carries the request's mark, and `true`; else one that is open for the same
    /// branches.
    ///
    /// # Errors
    /// [`ForgeError`].
    pub async fn find(
        &self,
        wanted: &NewPullRequest,
    ) -> Result<Option<(PullRequest, bool)>, ForgeError> {
        let found = self.dialect.of_branch(&self.wire, &wanted.head).await?;
        let marked = found.iter().find(|one| wanted.mark.is_in(&one.body));
        let open = found.iter().find(|one| {
            one.pull_request.state == PullRequestState::Open && one.base == wanted.base
        });
        Ok(marked.or(open).map(|one| (one.pull_request.clone(), marked.is_some())))
    }

    /// Opens a pull request, once: if it has been opened before, by whoever, that is the answer.
    ///
    /// # Errors
    /// [`ForgeError`]. After one that may pass it is not known whether there is one; calling again tells.
    pub async fn open(&self, wanted: &NewPullRequest) -> Result<Opened, ForgeError> {
        self.patiently(|| self.open_or_find(wanted)).await
    }

    /// Asks again if that may help, a few times, and longer and longer apart.
    async fn patiently<T, F: Future<Output = Result<T, ForgeError>>>(
        &self,
        attempt: impl Fn() -> F,
    ) -> Result<T, ForgeError> {
        let (mut pause, mut left) = (self.retry_policy.between, self.retry_policy.tries);
        loop {
            left = left.saturating_sub(1);
            let error = match attempt().await {
                Err(error) if left > 0 && error.is_passing() => error,
                ended => return ended,
            };
            tokio::time::sleep(error.pause().unwrap_or(pause)).await;
            pause = pause.saturating_mul(2);
        }
    }

    async fn open_or_find(&self, wanted: &NewPullRequest) -> Result<Opened, ForgeError> {
        let (pull_request, is_own, existed) = match self.find(wanted).await? {
            Some((there, is_own)) => (there, is_own, true),
            None => match self.dialect.open(&self.wire, wanted).await {
                Ok(new) => (new, true, false),
                // Somebody was faster, or an earlier request arrived after all.
                Err(refused @ ForgeError::Invalid { .. }) => match self.find(wanted).await? {
                    Some((there, is_own)) => (there, is_own, true),
                    None => return Err(refused),
                },
                Err(error) => return Err(error),
            },
        };
        let notices = match pull_request.state {
            PullRequestState::Open => self.dialect.adorn(&self.wire, &pull_request, wanted).await?,
            PullRequestState::Closed => Vec::new(),
        };
        Ok(Opened { pull_request, existed, is_own, notices })
    }
}
