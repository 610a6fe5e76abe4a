//! Tokens that are shown, held against the registry.
//!
//! The registry is asked for every request, so that a token that was taken back is worth nothing at once. What it has let
//! in before, a WebSocket for example, is looked after once in a second.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use agentos_engine::clock::{Clock as _, SystemClock};
use agentos_store::registry::{KnownToken, Registry, RegistryError};

use super::denied::Denied;
use super::link::Link;
use super::secret::Secret;

/// How often open connections are held against the registry.
const LOOK: Duration = Duration::from_secs(1);

/// How long a stream has to say goodbye.
const GOODBYE: Duration = Duration::from_millis(500);

pub(super) struct Tokens {
    registry: Registry,
    /// The connections on which a token was shown.
    held: Mutex<Vec<Weak<Link>>>,
}

impl Tokens {
    pub(super) fn new(registry: Registry) -> Self {
        Self { registry, held: Mutex::default() }
    }

    /// The token with this text, if it is worth anything now.
    pub(super) async fn check(&self, text: &str) -> Result<KnownToken, Denied> {
        let secret = Secret::parse(text).ok_or(Denied::WrongToken)?;
        let registry = self.registry.clone();
        let found = tokio::task::spawn_blocking(move || {
            let now = SystemClock.now();
            let Some((token, hash)) = registry.token(secret.id())? else { return Ok(None) };
            if !secret.proves(&hash) || token.is_expired(now) {
                return Ok(None);
            }
            // Nobody is kept out because it can't be noted that they came.
            if let Err(error) = registry.note_token_used(&token, now) {
                tracing::debug!(%error, "that a token was used is not noted");
            }
            Ok(Some(token))
        });
        match found.await {
            Ok(Ok(Some(token))) => Ok(token),
            Ok(Ok(None)) => Err(Denied::WrongToken),
            Ok(Err(error)) => {
                let error: RegistryError = error;
                tracing::error!(%error, "a token can't be checked");
                Err(Denied::NoRegistry)
            }
            Err(_) => Err(Denied::NoRegistry),
        }
    }

    /// Ends this connection when the token is taken back.
    pub(super) fn hold(&self, link: &Arc<Link>, token: &str) {
        if link.note_token(token) {
            self.held().push(Arc::downgrade(link));
        }
    }

    /// Ends the connections whose token is worth nothing any more, again and again. Never returns.
    pub(super) async fn watch(&self) {
        let mut ticks = tokio::time::interval(LOOK);
        loop {
            ticks.tick().await;
            self.held().retain(|link| link.strong_count() > 0);
            if self.held().is_empty() {
                continue;
            }
            let registry = self.registry.clone();
            let valid = tokio::task::spawn_blocking(move || {
                let now = SystemClock.now();
                let tokens = registry.tokens()?.into_iter();
                let valid = tokens.filter(|token| !token.is_expired(now)).map(|token| token.id);
                Ok::<BTreeSet<String>, RegistryError>(valid.collect())
            });
            match valid.await {
                Ok(Ok(valid)) => self.end_others(&valid),
                Ok(Err(error)) => tracing::warn!(%error, "open connections can't be checked"),
                Err(_) => {}
            }
        }
    }

    fn end_others(&self, valid: &BTreeSet<String>) {
        let held: Vec<Arc<Link>> = self.held().iter().filter_map(Weak::upgrade).collect();
        for link in held.into_iter().filter(|link| link.is_outside_of(valid)) {
            if link.over.is_cancelled() {
                continue;
            }
            tracing::info!(peer = %link.peer, "a token was taken back; its connection is closed");
            link.over.cancel();
            tokio::spawn(async move {
                tokio::time::sleep(GOODBYE).await;
                link.cut.cancel();
            });
        }
    }

    fn held(&self) -> std::sync::MutexGuard<'_, Vec<Weak<Link>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
