//! Remarks that AgentOS itself makes on a run.

use agentos_core::id::RunId;
use agentos_core::time::Timestamp;
use agentos_store::records::NewComment;
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// A remark on a run. Its id follows from the run and from what it is about: made again, it is the same.
pub(crate) fn remark(run: RunId, about: &str, (message, at): (String, Timestamp)) -> NewComment {
    let digest = Sha256::digest(format!("{run} {about}"));
    let mut id = [0; 16];
    id.copy_from_slice(&digest[..16]);
    let (id, author) = (Uuid::from_bytes(id), "agentos".to_owned());
    NewComment { id, run, step: None, message, metadata: None, author, at }
}
