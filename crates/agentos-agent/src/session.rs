//! Names of sessions, chosen before the agent is started: whoever comes after a crash can name the session, whether or not
//! anybody heard of it.

use sha2::{Digest as _, Sha256};
use uuid::{Builder, Uuid};

/// The id of the session that a try of an operation begins: always the same, and different for every other.
#[must_use]
pub fn id(run: &str, operation: &str, r#try: &str) -> Uuid {
    let mut hash = Sha256::new();
    for part in [run, operation, r#try] {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    // Agents want it to look like one that was drawn by chance.
    Builder::from_random_bytes(bytes).into_uuid()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_try_has_the_same_session_and_no_other_does() {
        assert_eq!(id("run", "op", "1"), id("run", "op", "1"));
        assert_ne!(id("run", "op", "1"), id("run", "op", "2"));
        assert_ne!(id("run", "op1", ""), id("run", "op", "1"));
        assert_eq!(id("a", "b", "c").get_version_num(), 4);
    }
}
