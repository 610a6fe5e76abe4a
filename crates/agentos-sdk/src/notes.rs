//! What `ctx` writes down at once, without an answer: state, comments, log lines.

use agentos_core::entry::CommentOn;
use agentos_core::failure::Failure;
use agentos_core::turn::LogLevel;
use agentos_core::value::Value;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ctx::{Ctx, named};
use crate::json;

impl Ctx {
    /// Writes to the run's state.
    ///
    /// # Errors
    /// The value can't be written as JSON or is too large, or this part of the run is over.
    pub fn set(&self, key: impl AsRef<str>, value: impl Serialize) -> Result<(), Failure> {
        let key = named(key.as_ref())?;
        let value = json::encode("the value", &value)?;
        self.enter(|stage| stage.door.set(self.scope, key, Some(value)))?
    }

    /// Reads the run's state, as the code executed so far has written it.
    ///
    /// # Errors
    /// What is there is of another type.
    pub fn get<T: DeserializeOwned>(&self, key: impl AsRef<str>) -> Result<Option<T>, Failure> {
        let key = named(key.as_ref())?;
        let value = self.enter(|stage| stage.door.get(&key).cloned())?;
        let what = || format!("the state `{key}`");
        value.map(|value| json::decode(what, value)).transpose()
    }

    /// Whether the run's state has this key.
    ///
    /// # Errors
    /// Called outside of the workflow's code.
    pub fn has(&self, key: impl AsRef<str>) -> Result<bool, Failure> {
        let key = named(key.as_ref())?;
        self.enter(|stage| stage.door.get(&key).is_some())
    }

    /// Removes a key from the run's state.
    ///
    /// # Errors
    /// This part of the run is over.
    pub fn delete(&self, key: impl AsRef<str>) -> Result<(), Failure> {
        let key = named(key.as_ref())?;
        self.enter(|stage| stage.door.set(self.scope, key, None))?
    }

    /// Adds a remark on the step to the audit trail. `meta` is whatever else is to be kept with it, or `()`.
    ///
    /// # Errors
    /// The remark is too large, or this part of the run is over.
    pub fn comment(&self, message: impl Into<String>, meta: impl Serialize) -> Result<(), Failure> {
        self.remark(CommentOn::Step, message.into(), &meta)
    }

    /// Adds a remark on the run to the audit trail.
    ///
    /// # Errors
    /// As [`Ctx::comment`].
    pub fn comment_execution(
        &self,
        message: impl Into<String>,
        meta: impl Serialize,
    ) -> Result<(), Failure> {
        self.remark(CommentOn::Run, message.into(), &meta)
    }

    fn remark(&self, on: CommentOn, message: String, meta: &impl Serialize) -> Result<(), Failure> {
        let meta: Value = json::encode("what belongs to the comment", meta)?;
        self.enter(|stage| stage.door.comment(self.scope, on, message, meta))?
    }

    /// The run's log files.
    #[must_use]
    pub const fn log(&self) -> Log<'_> {
        Log(self)
    }
}

/// Writes lines to the run's log files. Each is written once, however often the run is executed again.
///
/// Lines from outside of the workflow's code, such as from an effect, are not kept.
#[derive(Debug, Clone, Copy)]
pub struct Log<'a>(&'a Ctx);

impl Log<'_> {
    /// Every detail.
    pub fn trace(&self, message: impl Into<String>) {
        self.line(LogLevel::Trace, message.into());
    }

    /// For whoever looks for a fault.
    pub fn debug(&self, message: impl Into<String>) {
        self.line(LogLevel::Debug, message.into());
    }

    /// Worth knowing.
    pub fn info(&self, message: impl Into<String>) {
        self.line(LogLevel::Info, message.into());
    }

    /// Worth a look.
    pub fn warn(&self, message: impl Into<String>) {
        self.line(LogLevel::Warn, message.into());
    }

    /// Something went wrong.
    pub fn error(&self, message: impl Into<String>) {
        self.line(LogLevel::Error, message.into());
    }

    /// Nothing works any more.
    pub fn fatal(&self, message: impl Into<String>) {
        self.line(LogLevel::Fatal, message.into());
    }

    fn line(&self, level: LogLevel, message: String) {
        let _ = self.0.enter(|stage| stage.door.log(self.0.scope, level, message));
    }
}
