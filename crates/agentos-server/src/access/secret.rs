//! The text of a token: `agentos_{id}_{secret}`. The id finds it, the secret proves it, and only the secret's hash is kept.

use std::io;

use agentos_store::registry::TokenHash;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

const PREFIX: &str = "agentos_";
const ID_DIGITS: usize = 8;
const SECRET_BYTES: usize = 32;
/// The secret in base64.
const SECRET_LETTERS: usize = 43;

/// A token as its holder has it. It is never shown by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    id: String,
    secret: String,
}

impl Secret {
    /// A new one.
    ///
    /// # Errors
    /// The system has no random numbers to give.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0_u8; ID_DIGITS / 2 + SECRET_BYTES];
        let mut filled = 0;
        while filled < bytes.len() {
            filled += getrandom(&mut bytes[filled..], GetRandomFlags::empty())?;
        }
        let (id, secret) = bytes.split_at(ID_DIGITS / 2);
        let id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { id, secret: URL_SAFE_NO_PAD.encode(secret) })
    }

    /// Reads a token. None if it can't be one, which costs nothing to find out.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        let is_id = id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let is_secret = secret.len() == SECRET_LETTERS && secret.bytes().all(is_plain);
        (is_id && is_secret).then(|| Self { id: id.to_owned(), secret: secret.to_owned() })
    }

    /// The public part.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// All of it, to be shown once.
    #[must_use]
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}_{}", self.id, self.secret)
    }

    /// What is kept of it. The secret is random and long, so there is nothing to be guessed slowly.
    #[must_use]
    pub fn hash(&self) -> TokenHash {
        Sha256::digest(self.reveal()).into()
    }

    /// Whether it is the one whose hash was kept. Takes equally long for every answer.
    #[must_use]
    pub fn proves(&self, hash: &TokenHash) -> bool {
        self.hash().ct_eq(hash).into()
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{PREFIX}{}_…", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_back_and_proves_only_its_own_hash() {
        let (one, other) = (Secret::random().unwrap(), Secret::random().unwrap());
        assert_eq!(Secret::parse(&one.reveal()), Some(one.clone()));
        assert!(one.proves(&one.hash()) && !other.proves(&one.hash()));
        assert!(!format!("{one:?}").contains(&one.secret));
    }

    #[test]
    fn what_can_not_be_a_token_is_none() {
        let text = Secret::random().unwrap().reveal();
        let wrong = [
            String::new(),
            "agentos_".to_owned(),
            text.to_uppercase(),
            format!("{text}x"),
            text[1..].to_owned(),
            text.replacen('_', "__", 1),
            format!("agentos_0123456g_{}", "a".repeat(43)),
            format!("agentos_01234567_{}'", "a".repeat(42)),
        ];
        for wrong in wrong {
            assert_eq!(Secret::parse(&wrong), None, "{wrong}");
        }
    }
}
