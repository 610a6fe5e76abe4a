//! How many runs of a workflow are at work at once, as its author says it.

use serde::{Deserialize, Serialize};

use crate::value::Value;

/// More than this is no limit.
pub const MOST: u32 = 10_000;

/// How many runs of a workflow are at work at once: `2`, or `{ limit: 2, scope: "user" }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct Concurrency {
    /// So many, at least one.
    pub limit: u32,
    /// Which runs are counted together.
    pub scope: Scope,
}

/// Which runs are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Those of one repository, from all of its checkouts.
    #[default]
    Repo,
    /// All of a user.
    User,
}

/// A config as it is written in full.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    limit: Value,
    #[serde(default)]
    scope: Scope,
}

impl TryFrom<Value> for Concurrency {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let written = match value {
            Value::Object(_) => serde_json::from_value::<Written>(value)
                .map_err(|error| format!("`concurrency`: {error}"))?,
            limit => Written { limit, scope: Scope::Repo },
        };
        // Numbers of a script have a fraction, if only one of zero.
        let whole = written.limit.as_f64().filter(|limit| limit.fract() == 0.0);
        let sane = whole.filter(|limit| (1.0..=f64::from(MOST)).contains(limit));
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is whole and within bounds"
        )]
        let limit = sane.map(|limit| limit as u32);
        let limit = limit.ok_or_else(|| {
            format!(
                "`concurrency` is {}; it must be a whole number from 1 to {MOST}",
                written.limit
            )
        })?;
        Ok(Self { limit, scope: written.scope })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_number_counts_for_the_repository_and_an_object_says_more() {
        let repo = Concurrency { limit: 2, scope: Scope::Repo };
        assert_eq!(Concurrency::try_from(json!(2)), Ok(repo));
        assert_eq!(Concurrency::try_from(json!(2.0)), Ok(repo));
        assert_eq!(Concurrency::try_from(json!({ "limit": 2 })), Ok(repo));
        let user = Concurrency { limit: 2, scope: Scope::User };
        assert_eq!(Concurrency::try_from(json!({ "limit": 2, "scope": "user" })), Ok(user));
        let again = serde_json::to_value(user).expect("it can be written");
        assert_eq!(serde_json::from_value::<Concurrency>(again).ok(), Some(user));
    }

    #[test]
    fn what_is_no_limit_is_refused_with_what_would_be() {
        for wrong in [json!(0), json!(-1), json!(1.5), json!(10_001), json!("2"), json!(null)] {
            let said = Concurrency::try_from(wrong).expect_err("it is refused");
            assert!(said.contains("a whole number from 1 to 10000"), "{said}");
        }
        let said = Concurrency::try_from(json!({ "limit": 1, "scope": "world" }));
        assert!(said.expect_err("it is refused").contains("`repo` or `user`"));
        let said = Concurrency::try_from(json!({ "limit": 1, "key": "x" }));
        assert!(said.expect_err("it is refused").contains("unknown field `key`"));
    }
}
