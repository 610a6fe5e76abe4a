//! What a workflow asked for becomes a call, and its result an answer.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::path::OperationId;
use agentos_core::value::Value;
use agentos_workspace::contained::{Contained, ContainedError, Writing};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// A call of `ctx.files`.
#[derive(Debug)]
pub(super) enum Request {
    Read(Read),
    Write(Write, Vec<u8>),
    Exists(Named),
    Delete(Delete),
    List(Named),
    Copy(Copy),
}

#[derive(Debug, Deserialize)]
pub(super) struct Read {
    path: String,
    #[serde(default)]
    encoding: Encoding,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    #[default]
    Utf8,
    Bytes,
}

#[derive(Debug, Deserialize)]
pub(super) struct Write {
    path: String,
    content: Option<String>,
    /// Instead of a text.
    base64: Option<String>,
    #[serde(default = "yes")]
    create_dirs: bool,
    mode: Option<u32>,
    #[serde(default)]
    executable: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Named {
    path: String,
}

#[derive(Debug, Deserialize)]
pub(super) struct Delete {
    path: String,
    #[serde(default)]
    recursive: bool,
}

#[derive(Debug, Deserialize)]
pub(super) struct Copy {
    from: String,
    to: String,
    #[serde(default = "yes")]
    create_dirs: bool,
}

/// Everything that a mode can allow.
const PERMISSIONS: u32 = 0o777;

const fn yes() -> bool {
    true
}

impl Request {
    /// The name of the operation says which call it is.
    pub(super) fn parse(operation: &OperationId, args: Value) -> Result<Self, Failure> {
        let name = operation.name();
        let method = name.as_ref().map_or("", |name| name.as_str());
        Ok(match method {
            "read" => Self::Read(arguments(method, args)?),
            "write" => {
                let mut write: Write = arguments(method, args)?;
                write.check_mode()?;
                let content = write.take_content()?;
                Self::Write(write, content)
            }
            "exists" => Self::Exists(arguments(method, args)?),
            "delete" => Self::Delete(arguments(method, args)?),
            "list" => Self::List(arguments(method, args)?),
            "copy" => Self::Copy(arguments(method, args)?),
            _ => return Err(refused(format!("ctx.files has no `{method}`"))),
        })
    }

    pub(super) fn perform(
        &self,
        files: &Contained,
        mark: u64,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Value, ContainedError> {
        if is_stopped() {
            return Err(ContainedError::Stopped);
        }
        Ok(match self {
            Self::Read(Read { path, encoding: Encoding::Utf8 }) => json!(files.read_text(path)?),
            Self::Read(Read { path, encoding: Encoding::Bytes }) => {
                json!({ "base64": STANDARD.encode(files.read(path)?) })
            }
            Self::Write(write, content) => {
                files.write(&write.path, content, &write.how(mark))?;
                Value::Null
            }
            Self::Exists(Named { path }) => json!(files.exists(path)?),
            Self::Delete(Delete { path, recursive }) => json!(files.remove(path, *recursive)?),
            Self::List(Named { path }) => json!(files.list(path)?),
            Self::Copy(Copy { from, to, create_dirs }) => {
                let how = Writing { create_dirs: *create_dirs, mark, ..Writing::default() };
                files.copy(from, to, &how, is_stopped)?;
                Value::Null
            }
        })
    }
}

impl Write {
    /// Whatever is more than permissions is not given quietly less.
    fn check_mode(&self) -> Result<(), Failure> {
        match self.mode.filter(|mode| *mode > PERMISSIONS) {
            None => Ok(()),
            Some(mode) => Err(refused(format!(
                "ctx.files.write: the mode {mode:#o} is more than permissions; take one from 0 to {PERMISSIONS:#o}"
            ))),
        }
    }

    /// The content is needed once, and may be large.
    fn take_content(&mut self) -> Result<Vec<u8>, Failure> {
        match (self.content.take(), self.base64.take()) {
            (Some(text), None) => Ok(text.into_bytes()),
            (None, Some(text)) => STANDARD.decode(text).map_err(|error| {
                refused(format!("ctx.files.write: the content is not base64: {error}"))
            }),
            _ => Err(refused("ctx.files.write needs one content".to_owned())),
        }
    }

    const fn how(&self, mark: u64) -> Writing {
        let Self { create_dirs, mode, executable, .. } = *self;
        Writing { create_dirs, mode, executable, mark }
    }
}

fn arguments<T: DeserializeOwned>(method: &str, args: Value) -> Result<T, Failure> {
    serde_json::from_value(args)
        .map_err(|error| refused(format!("this is no call of ctx.files.{method}: {error}")))
}

fn refused(message: String) -> Failure {
    Failure::new(FailureKind::NonRetryable, message)
}
