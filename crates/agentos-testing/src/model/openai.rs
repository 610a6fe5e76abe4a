//! OpenAI's Responses: how a request is read, and how an answer is written.

use serde_json::{Value, json};

use super::dialect::{Asked, History, Reply, named_event, pieces, texts};
use super::scenario::Call;

pub(super) fn asked(body: &Value) -> Asked {
    let mut history = History::default();
    match &body["input"] {
        Value::String(text) => history.hear(text),
        items => read_items(items.as_array().map_or(&[][..], Vec::as_slice), &mut history),
    }
    Asked {
        model: body["model"].as_str().unwrap_or_default().to_owned(),
        is_streamed: body["stream"] == true,
        history,
    }
}

/// One answer is several items here: a message, calls. Results may stand between calls of one answer, whose ids begin
/// with the same number.
fn read_items(items: &[Value], history: &mut History) {
    let mut in_answer = false;
    let mut last_answer = None;
    for item in items {
        let call = item["call_id"].as_str().and_then(|id| Some(id.rsplit_once('_')?.0));
        let is_result = item["type"].as_str().is_some_and(|kind| kind.ends_with("_output"));
        if is_result || item["role"] == "user" || item["role"] == "developer" {
            in_answer = false;
            if item["role"] == "user" {
                texts(&item["content"], "text").for_each(|text| history.hear(text));
            }
        } else {
            let is_same = in_answer || (call.is_some() && call == last_answer);
            history.answers += usize::from(!is_same);
            in_answer = true;
            last_answer = call.or(last_answer);
        }
    }
}

pub(super) fn document(reply: &Reply<'_>) -> Value {
    let usage = reply.turn.usage;
    json!({
        "id": format!("resp_{:08}", reply.number), "object": "response", "status": "completed", "model": reply.model,
        "output": items(reply),
        "usage": {
            "input_tokens": usage.input,
            "input_tokens_details": { "cached_tokens": usage.cached },
            "output_tokens": usage.output,
            "output_tokens_details": { "reasoning_tokens": 0 },
            "total_tokens": usage.input + usage.output,
        },
    })
}

pub(super) fn events(reply: &Reply<'_>) -> Vec<String> {
    let mut created = document(reply);
    created["status"] = json!("in_progress");
    created["output"] = json!([]);
    created["usage"] = Value::Null;
    let mut events = vec![json!({ "type": "response.created", "response": created })];
    for (index, item) in items(reply).into_iter().enumerate() {
        events.extend(item_events(index, &item));
    }
    events.push(json!({ "type": "response.completed", "response": document(reply) }));
    events.iter().map(named_event).collect()
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let mut begun = item.clone();
    begun["status"] = json!("in_progress");
    if item["type"] == "message" {
        begun["content"] = json!([]);
    }
    let text = item["content"][0]["text"].as_str().unwrap_or_default();
    let deltas = pieces(text).map(|piece| {
        json!({
            "type": "response.output_text.delta", "item_id": item["id"], "output_index": index, "content_index": 0,
            "delta": piece,
        })
    });
    let added =
        json!({ "type": "response.output_item.added", "output_index": index, "item": begun });
    let done = json!({ "type": "response.output_item.done", "output_index": index, "item": item });
    std::iter::once(added).chain(deltas).chain([done]).collect()
}

fn items(reply: &Reply<'_>) -> Vec<Value> {
    let number = reply.number;
    let said = (!reply.turn.say.is_empty()).then(|| {
        json!({
            "id": format!("msg_{number:08}"), "type": "message", "role": "assistant", "status": "completed",
            "content": [{ "type": "output_text", "text": reply.turn.say, "annotations": [] }],
        })
    });
    let calls = reply.turn.calls.iter().enumerate().map(|(index, call)| {
        let mut item = tool(call);
        item["id"] = json!(format!("item_{number:08}_{index}"));
        item["call_id"] = json!(format!("call_{number:08}_{index}"));
        item["status"] = json!("completed");
        item
    });
    said.into_iter().chain(calls).collect()
}

/// The tool of Codex that does it.
fn tool(call: &Call) -> Value {
    match call {
        Call::Write { path, content } => {
            json!({ "type": "custom_tool_call", "name": "apply_patch", "input": patch(path, content) })
        }
        Call::Run(command) => function("exec_command", &json!({ "cmd": command })),
        Call::Tool { name, arguments } => function(name, arguments),
    }
}

fn function(name: &str, arguments: &Value) -> Value {
    json!({ "type": "function_call", "name": name, "arguments": arguments.to_string() })
}

/// A patch that adds one file. Every line of it is whole: a last line without an end gets one.
fn patch(path: &str, content: &str) -> String {
    let lines: String = content.lines().map(|line| format!("+{line}\n")).collect();
    format!("*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch")
}

pub(super) fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 | 403 => "authentication_error",
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": kind } })
}
