//! A call of `ctx.files`: its arguments are the method and what it is given.
//!
//! The method is the name of the operation, so that a log reads as the workflow does.

use agentos_core::failure::{Failure, FailureKind};
use agentos_core::operation::{OperationKind, Request};
use agentos_core::value::Value;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::json;

use super::{fill, perform, read};

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct ReadOptions {
    encoding: Option<Encoding>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    Utf8,
    Bytes,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct WriteOptions {
    create_dirs: Option<bool>,
    mode: Option<u32>,
    executable: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct DeleteOptions {
    recursive: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct CopyOptions {
    create_dirs: Option<bool>,
}

/// What the call asks for.
///
/// # Errors
/// Its arguments are not what they should be.
pub(super) fn request(args: &str) -> Result<Request, Failure> {
    let call = read::<Vec<Value>>("ctx.files", args)?;
    let method = call.first().and_then(Value::as_str).unwrap_or_default().to_owned();
    let order = match method.as_str() {
        "read" => reading(args),
        "write" => writing(args),
        "delete" => deleting(args),
        "copy" => copying(args),
        "list" => {
            let (_, path): (Value, Option<String>) = read("ctx.files.list(path)", args)?;
            Ok(json!({ "path": path.unwrap_or_else(|| ".".to_owned()) }))
        }
        _ => {
            let (_, path): (Value, String) = read("ctx.files.exists(path)", args)?;
            Ok(json!({ "path": path }))
        }
    };
    perform(OperationKind::Files, &method, order?)
}

fn reading(args: &str) -> Result<Value, Failure> {
    let (_, path, options): (Value, String, Option<ReadOptions>) =
        read("ctx.files.read(path, options)", args)?;
    let mut order = json!({ "path": path });
    if options.and_then(|options| options.encoding) == Some(Encoding::Bytes) {
        order["encoding"] = json!("bytes");
    }
    Ok(order)
}

fn writing(args: &str) -> Result<Value, Failure> {
    let call = "ctx.files.write(path, content, options)";
    let (_, path, content, options): (Value, String, Value, Option<WriteOptions>) =
        read(call, args)?;
    let WriteOptions { create_dirs, mode, executable } = options.unwrap_or_default();
    let mut order = match (&content, content.get("base64")) {
        (Value::String(_), _) => json!({ "path": path, "content": content }),
        (_, Some(base64)) if base64.is_string() => json!({ "path": path, "base64": base64 }),
        _ => {
            let message = format!("{call}: the content is neither a text nor a Uint8Array");
            return Err(Failure::new(FailureKind::NonRetryable, message));
        }
    };
    let fields = [
        ("create_dirs", create_dirs.filter(|makes| !makes).map(Value::Bool)),
        ("mode", mode.map(|mode| json!(mode))),
        ("executable", executable.filter(|is| *is).map(Value::Bool)),
    ];
    fill(&mut order, fields);
    Ok(order)
}

fn deleting(args: &str) -> Result<Value, Failure> {
    let (_, path, options): (Value, String, Option<DeleteOptions>) =
        read("ctx.files.delete(path, options)", args)?;
    let mut order = json!({ "path": path });
    let recursive = options.and_then(|options| options.recursive).filter(|recursive| *recursive);
    fill(&mut order, [("recursive", recursive.map(Value::Bool))]);
    Ok(order)
}

fn copying(args: &str) -> Result<Value, Failure> {
    let (_, from, to, options): (Value, String, String, Option<CopyOptions>) =
        read("ctx.files.copy(from, to, options)", args)?;
    let mut order = json!({ "from": from, "to": to });
    let create_dirs = options.and_then(|options| options.create_dirs).filter(|makes| !makes);
    fill(&mut order, [("create_dirs", create_dirs.map(Value::Bool))]);
    Ok(order)
}

/// What an answer holds, if it is bytes.
pub(super) fn bytes(answer: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(answer.get("base64")?.as_str()?).ok()
}
