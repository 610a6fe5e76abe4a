//! Tokens: who may use the server from elsewhere, for what, and until when.
//!
//! A token has a public part, its id, and a secret, of which only the hash is here. It is looked up by the id, so that how
//! long that takes says nothing about the secret; the caller compares the hashes. A token that is revoked is gone.

use agentos_core::time::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, TransactionBehavior, params};
use thiserror::Error;

use super::{FRESH_MS, Registry, RegistryError, open};

/// Most tokens of one user.
pub const TOKENS: u32 = 1_000;

/// The version that has the table.
const SINCE: u32 = 2;

const COLUMNS: &str = "id, name, scope, created_at, expires_at, used_at";

/// What its holder may do. Each includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Look at everything.
    Read,
    /// Start runs, and decide about them.
    Run,
    /// Say which projects are served, delete, clean and restore.
    Admin,
}

impl Scope {
    /// All of them, the smallest first.
    pub const ALL: [Self; 3] = [Self::Read, Self::Run, Self::Admin];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Run => "run",
            Self::Admin => "admin",
        }
    }

    /// The one that is written so.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == text)
    }
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownToken {
    /// The public part of its text.
    pub id: String,
    /// What its owner calls it; no two have the same name.
    pub name: String,
    /// What its holder may do.
    pub scope: Scope,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it is worth nothing.
    pub expires_at: Option<Timestamp>,
    /// When it was used, to the hour.
    pub used_at: Option<Timestamp>,
}

impl KnownToken {
    /// Whether it is worth nothing any more.
    #[must_use]
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end <= now)
    }
}

/// The hash of a token's secret.
pub type TokenHash = [u8; 32];

/// Why a token was not added.
#[derive(Debug, Error)]
pub enum AddTokenError {
    /// There is one of this name, or with this id.
    #[error("there is a token {name} already; revoke it first, or choose another name")]
    Taken {
        /// The name.
        name: String,
    },
    /// There are as many as there may be.
    #[error("there are {TOKENS} tokens already; revoke one first")]
    TooMany,
    /// The registry can't be used.
    #[error(transparent)]
    Registry(#[from] RegistryError),
}

impl Registry {
    /// Adds a token. Those that had expired at its creation make room for it.
    ///
    /// # Errors
    /// [`AddTokenError`]
    pub fn add_token(&self, token: &KnownToken, hash: &TokenHash) -> Result<(), AddTokenError> {
        let mut connection = open::writing(&self.path)?;
        add(&mut connection, token, hash)
            .map_err(|error| AddTokenError::from(open::refused(&self.path, &error)))?
    }

    /// Every token, in the order in which they were made.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn tokens(&self) -> Result<Vec<KnownToken>, RegistryError> {
        self.read(SINCE, |connection| {
            let mut asked = connection
                .prepare(&format!("SELECT {COLUMNS} FROM tokens ORDER BY created_at, id"))?;
            let found = asked.query_map((), token_of)?;
            found.collect()
        })
    }

    /// The token with this id, and the hash of its secret.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn token(&self, id: &str) -> Result<Option<(KnownToken, TokenHash)>, RegistryError> {
        self.read(SINCE, |connection| {
            connection
                .query_row(
                    &format!("SELECT {COLUMNS}, hash FROM tokens WHERE id = ?1"),
                    [id],
                    |row| Ok((token_of(row)?, row.get(6)?)),
                )
                .optional()
        })
    }

    /// Notes that a token was used; at most once in an hour does that write anything.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn note_token_used(&self, token: &KnownToken, now: Timestamp) -> Result<(), RegistryError> {
        if token.used_at.is_some_and(|used| used.0 > now.0.saturating_sub(FRESH_MS)) {
            return Ok(());
        }
        let connection = open::writing(&self.path)?;
        connection
            .execute("UPDATE tokens SET used_at = ?2 WHERE id = ?1", params![token.id, now.0])
            .map(|_| ())
            .map_err(|error| open::refused(&self.path, &error))
    }

    /// Takes a token back, by its id or name. Returns it if there was one.
    ///
    /// # Errors
    /// [`RegistryError`]
    pub fn revoke_token(&self, id_or_name: &str) -> Result<Option<KnownToken>, RegistryError> {
        let Some(_known) = open::reading(&self.path, SINCE)? else { return Ok(None) };
        let connection = open::writing(&self.path)?;
        // The id goes first: a name may look like the id of another.
        let sql = format!(
            "DELETE FROM tokens WHERE id = \
                 (SELECT id FROM tokens WHERE id = ?1 OR name = ?1 ORDER BY id = ?1 DESC LIMIT 1) \
             RETURNING {COLUMNS}"
        );
        connection
            .query_row(&sql, [id_or_name], token_of)
            .optional()
            .map_err(|error| open::refused(&self.path, &error))
    }
}

/// The outer failure is the database's.
fn add(
    connection: &mut Connection,
    token: &KnownToken,
    hash: &TokenHash,
) -> rusqlite::Result<Result<(), AddTokenError>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    transaction.execute("DELETE FROM tokens WHERE expires_at <= ?1", [token.created_at.0])?;
    let (count, is_taken): (u32, bool) = transaction.query_row(
        "SELECT count(*), coalesce(max(id = ?1 OR name = ?2), 0) FROM tokens",
        [&token.id, &token.name],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if is_taken {
        return Ok(Err(AddTokenError::Taken { name: token.name.clone() }));
    }
    if count >= TOKENS {
        return Ok(Err(AddTokenError::TooMany));
    }
    transaction.execute(
        "INSERT INTO tokens (id, name, scope, hash, created_at, expires_at, used_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        params![
            token.id,
            token.name,
            token.scope.as_str(),
            hash,
            token.created_at.0,
            token.expires_at.map(|end| end.0),
            token.used_at.map(|used| used.0)
        ],
    )?;
    transaction.commit()?;
    Ok(Ok(()))
}

fn token_of(row: &Row<'_>) -> rusqlite::Result<KnownToken> {
    let scope: String = row.get(2)?;
    Ok(KnownToken {
        id: row.get(0)?,
        name: row.get(1)?,
        scope: Scope::named(&scope).ok_or_else(|| {
            let unknown = format!("{scope} is no scope");
            rusqlite::Error::FromSqlConversionFailure(
                2,
                rusqlite::types::Type::Text,
                unknown.into(),
            )
        })?,
        created_at: Timestamp(row.get(3)?),
        expires_at: row.get::<_, Option<i64>>(4)?.map(Timestamp),
        used_at: row.get::<_, Option<i64>>(5)?.map(Timestamp),
    })
}
