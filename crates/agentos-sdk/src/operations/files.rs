//! The files of the workspace.

use std::panic::Location;

use agentos_core::operation::OperationKind;
use agentos_core::value::Value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer};
use serde_json::json;

use super::asks_when_awaited;
use crate::answer::Answer;
use crate::ctx::{Ctx, perform};

impl Ctx {
    /// The files of the workspace, by paths relative to it. No path leads out of it, not even by a symbolic link; the
    /// files that the run was started with can be read by their absolute paths.
    #[must_use]
    pub const fn files(&self) -> Files<'_> {
        Files { ctx: self }
    }
}

/// The files of the workspace.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    ctx: &'a Ctx,
}

/// What a file holds, whatever that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Written {
            base64: String,
        }
        let written = Written::deserialize(from)?;
        STANDARD.decode(written.base64).map(Self).map_err(serde::de::Error::custom)
    }
}

impl<'a> Files<'a> {
    /// The text that a file holds. Up to 2 MB; keep larger ones as artifacts. Asked for at this call.
    #[track_caller]
    pub fn read(&self, path: impl Into<String>) -> Answer<String> {
        self.ask("read", json!({ "path": path.into() }))
    }

    /// What a file holds, whatever it is. Up to 2 MB. Asked for at this call.
    #[track_caller]
    pub fn read_bytes(&self, path: impl Into<String>) -> Answer<Bytes> {
        self.ask("read", json!({ "path": path.into(), "encoding": "bytes" }))
    }

    /// Writes a file, as a whole: whoever reads it sees the old one or the new one. Folders that are missing are made.
    #[track_caller]
    pub fn write(&self, path: impl Into<String>, content: impl AsRef<[u8]>) -> WriteFile<'a> {
        let mut order = json!({ "path": path.into() });
        match std::str::from_utf8(content.as_ref()) {
            Ok(text) => order["content"] = json!(text),
            Err(_) => order["base64"] = json!(STANDARD.encode(content)),
        }
        WriteFile { ctx: self.ctx, order, from: Location::caller() }
    }

    /// Whether there is anything at a path. Asked for at this call.
    #[track_caller]
    pub fn exists(&self, path: impl Into<String>) -> Answer<bool> {
        self.ask("exists", json!({ "path": path.into() }))
    }

    /// Deletes a file, or a folder. Says whether there was anything; what was gone already is no failure.
    #[track_caller]
    pub fn delete(&self, path: impl Into<String>) -> DeleteFile<'a> {
        let order = json!({ "path": path.into() });
        DeleteFile { ctx: self.ctx, order, from: Location::caller() }
    }

    /// What is in a folder (folders end in `/`), or whatever matches a pattern (`src/**/*.rs`): paths relative to the
    /// workspace, sorted. Asked for at this call.
    #[track_caller]
    pub fn list(&self, pattern: impl Into<String>) -> Answer<Vec<String>> {
        self.ask("list", json!({ "path": pattern.into() }))
    }

    /// Copies a file of the workspace, or one that the run was started with.
    #[track_caller]
    pub fn copy(&self, from: impl Into<String>, to: impl Into<String>) -> CopyFile<'a> {
        let order = json!({ "from": from.into(), "to": to.into() });
        CopyFile { ctx: self.ctx, order, from: Location::caller() }
    }

    #[track_caller]
    fn ask<T>(&self, method: &str, order: Value) -> Answer<T> {
        self.ctx.ask(perform(OperationKind::Files, method, order), Location::caller())
    }
}

/// A file that is about to be written.
#[derive(Debug)]
#[must_use = "a file is written when it is awaited or started"]
pub struct WriteFile<'a> {
    ctx: &'a Ctx,
    order: Value,
    from: &'static Location<'static>,
}

impl WriteFile<'_> {
    /// Makes it a program.
    pub fn executable(mut self) -> Self {
        self.order["executable"] = json!(true);
        self
    }

    /// Its permissions; otherwise those of the file that was there, or those that new files have.
    pub fn mode(mut self, mode: u32) -> Self {
        self.order["mode"] = json!(mode);
        self
    }

    /// Fails if its folder is not there.
    pub fn in_existing_folder(mut self) -> Self {
        self.order["create_dirs"] = json!(false);
        self
    }

    /// Writes it, without waiting.
    pub fn start(self) -> Answer<()> {
        self.ctx.ask(perform(OperationKind::Files, "write", self.order), self.from)
    }
}

asks_when_awaited!(WriteFile<'_> => ());

/// A file or folder that is about to be deleted.
#[derive(Debug)]
#[must_use = "a file is deleted when it is awaited or started"]
pub struct DeleteFile<'a> {
    ctx: &'a Ctx,
    order: Value,
    from: &'static Location<'static>,
}

impl DeleteFile<'_> {
    /// With everything in it.
    pub fn recursive(mut self) -> Self {
        self.order["recursive"] = json!(true);
        self
    }

    /// Deletes it, without waiting.
    pub fn start(self) -> Answer<bool> {
        self.ctx.ask(perform(OperationKind::Files, "delete", self.order), self.from)
    }
}

asks_when_awaited!(DeleteFile<'_> => bool);

/// A file that is about to be copied.
#[derive(Debug)]
#[must_use = "a file is copied when it is awaited or started"]
pub struct CopyFile<'a> {
    ctx: &'a Ctx,
    order: Value,
    from: &'static Location<'static>,
}

impl CopyFile<'_> {
    /// Fails if the folder that it is copied into is not there.
    pub fn in_existing_folder(mut self) -> Self {
        self.order["create_dirs"] = json!(false);
        self
    }

    /// Copies it, without waiting.
    pub fn start(self) -> Answer<()> {
        self.ctx.ask(perform(OperationKind::Files, "copy", self.order), self.from)
    }
}

asks_when_awaited!(CopyFile<'_> => ());
