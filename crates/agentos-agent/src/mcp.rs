//! MCP servers as each agent wants them written: what a workflow says is the same for all.
//!
//! A server is `{ command, args, env }`, or `{ url, headers }` with `type: "sse"` for old ones. Keys never become arguments,
//! which every user of the machine can read.

use std::collections::BTreeMap;

use agentos_process::secret::is_secret_name;
use serde_json::{Map, Value, json};

use crate::agent::RequestError;

/// A server as Claude Code reads it: one that is not started by it has a type.
pub(crate) fn for_claude(server: &Value) -> Value {
    let mut server = server.clone();
    if let Value::Object(fields) = &mut server
        && fields.contains_key("url")
    {
        fields.entry("type").or_insert_with(|| json!("http"));
    }
    server
}

/// A server as Codex reads it, and variables of its environment that it takes the keys from.
///
/// # Errors
/// A key would take the place of another one, or of Codex's own.
pub(crate) fn for_codex(
    name: &str,
    server: &Value,
    variables: &mut BTreeMap<String, String>,
) -> Result<Value, RequestError> {
    let mut fields = server.as_object().cloned().unwrap_or_default();
    // It finds out by itself how a server speaks.
    fields.remove("type");
    let headers = texts(fields.remove("headers"));
    if !headers.is_empty() {
        let mut named = Map::new();
        for (number, (header, value)) in headers.into_iter().enumerate() {
            let server = name.to_ascii_uppercase().replace('-', "_");
            let variable = format!("AGENTOS_MCP_{server}_{number}_TOKEN");
            named.insert(header, json!(variable));
            variables.insert(variable, value);
        }
        fields.insert("env_http_headers".to_owned(), Value::Object(named));
    }
    let (secret, plain): (Vec<_>, Vec<_>) =
        texts(fields.remove("env")).into_iter().partition(|(name, _)| is_secret_name(name));
    if !plain.is_empty() {
        fields.insert("env".to_owned(), plain.into_iter().collect());
    }
    if !secret.is_empty() {
        let names: Vec<&String> = secret.iter().map(|(name, _)| name).collect();
        fields.insert("env_vars".to_owned(), json!(names));
    }
    for (name, value) in secret {
        let is_own = ["OPENAI_", "CODEX_"].iter().any(|own| name.starts_with(own));
        let is_other = variables.insert(name, value.clone()).is_some_and(|other| other != value);
        if is_own || is_other {
            return Err(RequestError::Unsupported {
                agent: "codex".to_owned(),
                option: "mcpServers",
                advice: "a key of one server has the name of another key; put that server into Codex's own config.toml",
            });
        }
    }
    Ok(Value::Object(fields))
}

fn texts(fields: Option<Value>) -> Vec<(String, String)> {
    let fields = fields.as_ref().and_then(Value::as_object).into_iter().flatten();
    fields.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_gets_a_server_as_it_wants_it_and_no_key_becomes_an_argument() {
        let remote = json!({ "url": "http://x", "headers": { "Authorization": "Bearer k-1" } });
        assert_eq!(for_claude(&remote)["type"], "http");
        let old = json!({ "url": "http://x", "type": "sse" });
        assert_eq!(for_claude(&old)["type"], "sse");
        let mut variables = BTreeMap::new();
        let written = for_codex("my-db", &remote, &mut variables).expect("a server");
        let variable = "AGENTOS_MCP_MY_DB_0_TOKEN";
        let headers = json!({ "Authorization": variable });
        assert_eq!(written, json!({ "url": "http://x", "env_http_headers": headers }));
        assert_eq!(variables[variable], "Bearer k-1");
        let local = json!({ "command": "db", "env": { "DB_KEY": "k-2", "MODE": "fast" } });
        let written = for_codex("db", &local, &mut variables).expect("a server");
        let expected =
            json!({ "command": "db", "env": { "MODE": "fast" }, "env_vars": ["DB_KEY"] });
        assert_eq!((written, variables["DB_KEY"].as_str()), (expected, "k-2"));
        let other = json!({ "command": "other", "env": { "DB_KEY": "k-3" } });
        assert!(for_codex("other", &other, &mut variables).is_err());
        let own = json!({ "command": "other", "env": { "OPENAI_API_KEY": "k-3" } });
        assert!(for_codex("own", &own, &mut variables).is_err());
    }
}
