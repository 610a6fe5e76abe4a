//! Gemini's `generateContent`: how a request is read, and how an answer is written.

use serde_json::{Value, json};

use super::dialect::{Asked, History, Reply, pieces, texts};
use super::scenario::Call;

pub(super) fn asked(path: &str, body: &Value) -> Asked {
    let mut history = History::default();
    for content in body["contents"].as_array().into_iter().flatten() {
        if content["role"] == "model" {
            history.answers += 1;
        } else {
            texts(&content["parts"], "text").for_each(|text| history.hear(text));
        }
    }
    let name = path.rsplit('/').next().unwrap_or_default();
    let model = name.split(':').next().unwrap_or_default().to_owned();
    Asked { model, is_streamed: name.ends_with(":streamGenerateContent"), history }
}

pub(super) fn document(reply: &Reply<'_>) -> Value {
    let said = (!reply.turn.say.is_empty()).then(|| json!({ "text": reply.turn.say }));
    let parts: Vec<Value> = said.into_iter().chain(calls(reply)).collect();
    last_chunk(reply, &parts)
}

/// The last piece of the text comes with the calls: a chunk without any content would be taken for a broken stream.
pub(super) fn events(reply: &Reply<'_>) -> Vec<String> {
    let mut said: Vec<Value> =
        pieces(&reply.turn.say).map(|piece| json!({ "text": piece })).collect();
    let last: Vec<Value> = said.pop().into_iter().chain(calls(reply)).collect();
    let chunks = said.into_iter().map(|part| chunk(reply, &[part]));
    chunks.chain([last_chunk(reply, &last)]).map(|chunk| format!("data: {chunk}\n\n")).collect()
}

fn chunk(reply: &Reply<'_>, parts: &[Value]) -> Value {
    json!({
        "responseId": format!("response-{:08}", reply.number),
        "modelVersion": reply.model,
        "candidates": [{ "index": 0, "content": { "role": "model", "parts": parts } }],
    })
}

/// The chunk that says how it ended and what it cost.
fn last_chunk(reply: &Reply<'_>, parts: &[Value]) -> Value {
    let usage = reply.turn.usage;
    let mut chunk = chunk(reply, parts);
    chunk["candidates"][0]["finishReason"] = json!("STOP");
    chunk["usageMetadata"] = json!({
        "promptTokenCount": usage.input,
        "cachedContentTokenCount": usage.cached,
        "candidatesTokenCount": usage.output,
        "totalTokenCount": usage.input + usage.output,
    });
    chunk
}

fn calls(reply: &Reply<'_>) -> Vec<Value> {
    let call = |call| {
        let (name, args) = tool(call);
        json!({ "functionCall": { "name": name, "args": args } })
    };
    reply.turn.calls.iter().map(call).collect()
}

/// The tool of Gemini's command line that does it.
fn tool(call: &Call) -> (&str, Value) {
    match call {
        Call::Write { path, content } => {
            ("write_file", json!({ "file_path": path, "content": content }))
        }
        Call::Run(command) => (
            "run_shell_command",
            json!({ "command": command, "description": "What the scenario says" }),
        ),
        Call::Tool { name, arguments } => (name, arguments.clone()),
    }
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        503 => "UNAVAILABLE",
        _ => "INTERNAL",
    };
    json!({ "error": { "code": status, "message": message, "status": kind } })
}
