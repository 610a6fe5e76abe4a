//! A client with a WebSocket.

use std::collections::HashMap;
use std::net::SocketAddr;

use agentos_core::id::RunId;
/// How long anything may take on a machine that has a lot to do.
pub(crate) use agentos_testing::wait::TIMEOUT;
use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let connected = timeout(TIMEOUT, connect_async(format!("ws://{address}/ws"))).await;
        Self { socket: connected.unwrap().unwrap().0 }
    }

    pub(crate) async fn say(&mut self, message: Value) {
        self.socket.send(Message::Text(message.to_string().into())).await.unwrap();
    }

    /// Subscribes, and waits until that is confirmed. What comes before is lost.
    pub(crate) async fn subscribe(&mut self, run: RunId, after: Option<u64>) -> Value {
        let mut data = json!({ "executionId": run, "progress": false });
        if let Some(after) = after {
            data["after"] = json!(after);
        }
        self.say(json!({ "type": "workflow:subscribe", "data": data })).await;
        self.until(|said| {
            said["type"] == "workflow:subscribed" && said["execution_id"] == json!(run)
        })
        .await
    }

    /// The next message; none if the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match timeout(TIMEOUT, self.socket.next()).await.expect("something is said in time") {
                Some(Ok(Message::Text(text))) => return Some(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// The first message that is one of these.
    pub(crate) async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let said = self.next().await.expect("the connection stays");
            if is_it(&said) {
                return said;
            }
        }
    }

    /// The next so many messages about entries.
    pub(crate) async fn entries(&mut self, number: usize) -> Vec<Value> {
        let mut entries = Vec::new();
        while entries.len() < number {
            entries.push(self.until(|said| said.get("entry").is_some()).await);
        }
        entries
    }
}

/// What a client knows of the logs of runs: every position with the kind of its entry, in the order in which they came.
#[derive(Debug, Default)]
pub(crate) struct Known(pub(crate) HashMap<String, Vec<(u64, String)>>);

impl Known {
    /// Keeps a message about an entry; whether it ended its run.
    pub(crate) fn keep(&mut self, said: &Value) -> bool {
        let (Some(run), Some(seq), Some(kind)) =
            (said["execution_id"].as_str(), said["seq"].as_u64(), said["entry"].as_str())
        else {
            return false;
        };
        self.0.entry(run.to_owned()).or_default().push((seq, kind.to_owned()));
        kind == "run.ended"
    }

    /// The position of the last entry that is known.
    pub(crate) fn after(&self, run: RunId) -> u64 {
        self.0.get(&run.to_string()).and_then(|log| log.last()).map_or(0, |(seq, _)| *seq)
    }
}
