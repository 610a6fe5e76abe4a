//! What a workflow can ask of the world: one small file for each.
//!
//! To add one: make its [`Request`](agentos_core::operation::Request), hand it to `Ctx::ask` with the caller's place,
//! and say what type the answer has. With options, make it a builder and add it to `asks_when_awaited!`.

mod approve;
mod artifact;
mod effect;
mod files;
pub mod git;
mod invoke;
mod session;
mod shell;
mod sleep;
mod wait;

use std::hash::Hasher;

use siphasher::sip::SipHasher24;

pub use approve::{Approve, Decision};
pub use artifact::{Artifact, ArtifactType};
pub use files::{Bytes, CopyFile, DeleteFile, Files, WriteFile};
pub use git::Git;
pub use session::{PermissionMode, Session, SessionResult};
pub use shell::{Output, Shell};
pub use wait::WaitFor;

/// Makes a builder with a method `start` into something that can be awaited.
macro_rules! asks_when_awaited {
    ($builder:ident<'_$(, $generic:ident)?> => $answer:ty) => {
        impl<$($generic: serde::de::DeserializeOwned)?> IntoFuture for $builder<'_$(, $generic)?> {
            type Output = Result<$answer, agentos_core::failure::Failure>;
            type IntoFuture = crate::answer::Answer<$answer>;

            fn into_future(self) -> Self::IntoFuture {
                self.start()
            }
        }
    };
}
use asks_when_awaited;

/// The name of an operation whose author gave it none: the same text, the same name.
fn hashed(text: &str) -> String {
    let mut hash = SipHasher24::new();
    hash.write(text.as_bytes());
    format!("{:016x}", hash.finish())
}
