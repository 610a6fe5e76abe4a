//! What is answered, in each dialect, as a stream and whole.

use agentos_testing::model::{Call, Dialect, Exchange, ModelServer, Scenario, Turn, Usage};
use serde_json::{Value, json};

use super::client::{Ask, TIMEOUT, prompts};

fn server(turns: impl IntoIterator<Item = Turn>) -> ModelServer {
    ModelServer::start(Scenario::new(Exchange::new(turns))).expect("a server")
}

fn writing() -> Turn {
    let usage = Usage { input: 100, cached: 30, output: 7 };
    Turn::say("I will do it.").call(Call::write("a.txt", "a\nb\n")).using(usage)
}

#[test]
fn anthropic_gets_blocks_and_a_reason_to_stop() {
    let server = server([writing()]);
    let (path, body) = &prompts("write a")[0];
    let events = Ask::post(path, body).send(&server, TIMEOUT).events();
    let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(kinds.first(), Some(&"message_start"));
    assert_eq!(kinds.last(), Some(&"message_stop"));
    let text: String = events.iter().filter_map(|event| event["delta"]["text"].as_str()).collect();
    assert_eq!(text, "I will do it.");
    let input: String =
        events.iter().filter_map(|event| event["delta"]["partial_json"].as_str()).collect();
    let input: Value = serde_json::from_str(&input).expect("a document");
    assert_eq!(input, json!({ "file_path": "a.txt", "content": "a\nb\n" }));
    let usage = &events[0]["message"]["usage"];
    assert_eq!(
        (&usage["input_tokens"], &usage["cache_read_input_tokens"]),
        (&json!(70), &json!(30)),
        "what came from a cache is counted apart"
    );
    let stop = &events[events.len() - 2];
    assert_eq!(stop["delta"]["stop_reason"], "tool_use");
    assert_eq!(stop["usage"]["output_tokens"], 7);
}

#[test]
fn openai_gets_items_and_a_patch() {
    let server = server([writing()]);
    let (path, body) = &prompts("write a")[1];
    let events = Ask::post(path, body).send(&server, TIMEOUT).events();
    let last = events.last().expect("events");
    assert_eq!(last["type"], "response.completed");
    assert_eq!(last["response"]["usage"]["input_tokens"], 100);
    assert_eq!(last["response"]["usage"]["input_tokens_details"]["cached_tokens"], 30);
    let output = &last["response"]["output"];
    assert_eq!(output[0]["content"][0]["text"], "I will do it.");
    assert_eq!(output[1]["name"], "apply_patch");
    let patch = "*** Begin Patch\n*** Add File: a.txt\n+a\n+b\n*** End Patch";
    assert_eq!(output[1]["input"], patch);
}

#[test]
fn gemini_gets_parts() {
    let server = server([writing()]);
    let (path, body) = &prompts("write a")[2];
    let events = Ask::post(path, body).send(&server, TIMEOUT).events();
    let last = events.last().expect("events");
    let parts = last["candidates"][0]["content"]["parts"].as_array().expect("parts");
    assert_eq!(parts[1]["functionCall"]["name"], "write_file");
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
    assert_eq!(last["usageMetadata"]["totalTokenCount"], 107);
}

#[test]
fn whoever_wants_no_stream_gets_one_document() {
    let server = server([Turn::say("Whole.")]);
    let [(_, anthropic), (_, openai), (_, gemini)] = prompts("a");
    let whole = |mut body: Value| {
        body["stream"] = json!(false);
        body
    };
    let said = |path: &str, body: &Value| Ask::post(path, body).send(&server, TIMEOUT).document();
    assert_eq!(said("/v1/messages", &whole(anthropic))["content"][0]["text"], "Whole.");
    assert_eq!(said("/v1/responses", &whole(openai))["output"][0]["content"][0]["text"], "Whole.");
    let gemini = said("/v1beta/models/m:generateContent", &gemini);
    assert_eq!(gemini["candidates"][0]["content"]["parts"][0]["text"], "Whole.");
}

#[test]
fn the_turn_is_found_in_the_request_itself() {
    let server = server([Turn::say("one"), Turn::say("two"), Turn::say("three")]);
    let anthropic = json!([
        { "role": "user", "content": [{ "type": "text", "text": "an earlier prompt" }] },
        { "role": "assistant", "content": "earlier" },
        { "role": "user", "content": [
            { "type": "text", "text": "<system-reminder>no prompt</system-reminder>" },
            { "type": "text", "text": "this one" },
        ] },
        { "role": "assistant", "content": [{ "type": "tool_use", "id": "1", "name": "Bash", "input": {} }] },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1", "content": "text" }] },
    ]);
    let call = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "a", "arguments": "{}" });
    let result = |id: &str| json!({ "type": "function_call_output", "call_id": id, "output": "" });
    let openai = json!([
        { "role": "user", "content": [{ "type": "input_text", "text": "this one" }] },
        { "role": "assistant", "type": "message", "content": [] },
        call("call_7_0"), result("call_7_0"), call("call_7_1"), result("call_7_1"),
    ]);
    let gemini = json!([
        { "role": "user", "parts": [{ "text": "this one" }] },
        { "role": "model", "parts": [{ "functionCall": { "name": "a", "args": {} } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "a", "response": {} } }] },
    ]);
    Ask::post("/v1/messages", &json!({ "messages": anthropic })).send(&server, TIMEOUT);
    Ask::post("/v1/responses", &json!({ "input": openai })).send(&server, TIMEOUT);
    Ask::post("/v1beta/models/m:generateContent", &json!({ "contents": gemini }))
        .send(&server, TIMEOUT);
    let asked = server.requests();
    let dialects: Vec<_> = asked.iter().filter_map(|request| request.dialect).collect();
    assert_eq!(dialects, [Dialect::Anthropic, Dialect::OpenAi, Dialect::Gemini]);
    for request in asked {
        assert_eq!(request.prompt, "this one", "{:?}", request.dialect);
        assert_eq!(request.turn, Some((0, 1)), "{:?}", request.dialect);
    }
}

#[test]
fn a_prompt_picks_its_exchange() {
    let scenario = Scenario::new(Exchange::new([Turn::say("blue")]).when("sky"))
        .and(Exchange::new([Turn::say("green")]).when("grass"));
    let server = ModelServer::start(scenario).expect("a server");
    for (prompt, said) in [("the grass?", "green"), ("the sky?", "blue")] {
        for (path, body) in prompts(prompt) {
            let answer = Ask::post(path, &body).send(&server, TIMEOUT);
            assert!(answer.body.contains(&said[..2]), "{path}: {answer:#?}");
        }
    }
    for (path, body) in prompts("the sea?") {
        let answer = Ask::post(path, &body).send(&server, TIMEOUT);
        assert_eq!(answer.status, Some(400), "{path}");
        assert!(answer.body.contains("no exchange"), "{answer:#?}");
    }
}

#[test]
fn after_the_last_turn_a_request_is_refused_unless_it_is_endless() {
    let history = json!({ "messages": [
        { "role": "user", "content": "a" },
        { "role": "assistant", "content": "b" },
        { "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "1" }] },
    ] });
    let finite = server([Turn::say("once")]);
    let answer = Ask::post("/v1/messages", &history).send(&finite, TIMEOUT);
    assert_eq!(answer.status, Some(400), "{answer:#?}");
    let exchange = Exchange::new([Turn::say("again")]).endless();
    let endless = ModelServer::start(Scenario::new(exchange)).expect("a server");
    let answer = Ask::post("/v1/messages", &history).send(&endless, TIMEOUT);
    assert_eq!(answer.document()["content"][0]["text"], "again");
}

#[test]
fn tokens_are_counted_and_unknown_paths_are_refused() {
    let server = server([Turn::say("a")]);
    let count = |path: &str| Ask::post(path, &json!({ "text": "some" })).send(&server, TIMEOUT);
    assert!(count("/v1/messages/count_tokens").document()["input_tokens"].is_u64());
    assert!(count("/v1beta/models/m:countTokens").document()["totalTokens"].is_u64());
    assert_eq!(count("/v1/embeddings").status, Some(404));
    let lines: Vec<String> = server.requests().into_iter().map(|request| request.line).collect();
    assert_eq!(lines.len(), 3, "they are written down too: {lines:?}");
}
