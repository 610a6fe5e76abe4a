//! What a workflow wants kept.

use std::path::Path;

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::value::Value;
use serde::Deserialize;

/// What is kept.
#[derive(Debug)]
pub(super) enum Given {
    Content(String),
    /// A file, a folder or a pattern.
    File(String),
}

/// What is kept, and what was said of it.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) given: Given,
    mime_type: Option<String>,
}

impl Request {
    pub(super) fn parse(args: Value) -> Result<Self, Failure> {
        #[derive(Deserialize)]
        struct Asked {
            content: Option<String>,
            file: Option<String>,
            mime_type: Option<String>,
        }
        let refused = |message: String| Failure::new(FailureKind::NonRetryable, message);
        let asked: Asked = serde_json::from_value(args)
            .map_err(|error| refused(format!("this is no artifact: {error}")))?;
        let given = match (asked.content, asked.file) {
            (Some(content), None) => Given::Content(content),
            (None, Some(file)) => Given::File(file),
            _ => return Err(refused("an artifact is either a content or a file".to_owned())),
        };
        Ok(Self { given, mime_type: asked.mime_type })
    }

    /// The media type of a file: what was said, or what its name says.
    pub(super) fn mime_type(&self, path: &str) -> String {
        self.mime_type.clone().unwrap_or_else(|| {
            let guessed = mime_guess::from_path(Path::new(path)).first_raw();
            let plain = match self.given {
                Given::Content(_) => "text/plain",
                Given::File(_) => "application/octet-stream",
            };
            guessed.unwrap_or(plain).to_owned()
        })
    }
}
