//! One WebSocket: what it has asked for, and what is sent to it.
//!
//! Everything of a connection happens in one place, one thing at a time: a wish is heard, what waits is sent, a page of a
//! log is read for a subscription that is behind. So the order of what is sent is the order of what was done, and a client
//! that takes nothing holds up only itself.

mod asked;
mod told;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_store::registry::Scope;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::header;
use axum::response::{IntoResponse as _, Response};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Serialize;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use uuid::Uuid;

use super::batch::text;
use super::bounds::{
    CANCELS, CLIENT_BURST, CLIENT_MESSAGE, CLIENT_RATE, FAREWELL, HEARTBEAT, READ_BUFFER, SILENCE,
    STALL, WRITE_BUFFER,
};
use super::mailbox::Mailbox;
use super::page::Place;
use super::wish::Wish;
use crate::access::Caller;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// What a client calls what is spoken here, if it says so: a page that shows a token has to.
const PROTOCOL: &str = "agentos";

/// `GET /ws`
pub(super) async fn upgrade(
    State(state): State<AppState>,
    caller: Caller,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Response> {
    caller.may(Scope::Read).map_err(Problem::into_response)?;
    let upgrade = upgrade.map_err(|_| no_upgrade())?;
    let room = Arc::clone(&state.live.connections).try_acquire_owned().map_err(|_| {
        let detail = "there are too many WebSockets; come back later";
        Problem::new(ProblemKind::Busy, detail).into_response()
    })?;
    Ok(upgrade
        .protocols([PROTOCOL])
        .read_buffer_size(READ_BUFFER)
        .write_buffer_size(WRITE_BUFFER)
        .max_message_size(CLIENT_MESSAGE)
        .max_frame_size(CLIENT_MESSAGE)
        .on_upgrade(async move |socket| {
            let (sink, stream) = socket.split();
            Client::new(state, caller, sink).serve(stream).await;
            drop(room);
        }))
}

/// To whoever asks as for a document, or speaks another version.
fn no_upgrade() -> Response {
    let needed = [(header::UPGRADE, "websocket"), (header::SEC_WEBSOCKET_VERSION, "13")];
    let problem = Problem::new(ProblemKind::UpgradeNeeded, "this is the address of a WebSocket")
        .hint("open it with `new WebSocket(…)`; `GET /api/executions/{id}/events` tells the same over HTTP");
    (needed, problem).into_response()
}

/// Why a connection ends.
enum End {
    /// It is gone.
    Gone,
    /// We have had enough, or the server stops.
    Closed(u16, &'static str),
}

impl From<axum::Error> for End {
    fn from(_: axum::Error) -> Self {
        Self::Gone
    }
}

type Done = Result<(), End>;

struct Subscription {
    place: Place,
    /// Whether it reads the log; what waits in the mailbox is not for it then.
    is_behind: bool,
    /// Whether something was thrown away that it should have got, and it was not told yet.
    has_lost: bool,
}

struct Client {
    state: AppState,
    caller: Caller,
    sink: SplitSink<WebSocket, Message>,
    mailbox: Arc<Mailbox>,
    runs: HashMap<RunId, Subscription>,
    projects: HashSet<Uuid>,
    /// Subscriptions that are behind; the next to read is the first.
    behind: VecDeque<RunId>,
    heard_at: Instant,
    allowance: f64,
    /// What is answered by somebody who takes long.
    answers: (mpsc::Sender<String>, mpsc::Receiver<String>),
}

impl Client {
    fn new(state: AppState, caller: Caller, sink: SplitSink<WebSocket, Message>) -> Self {
        Self {
            state,
            caller,
            sink,
            mailbox: Arc::default(),
            runs: HashMap::new(),
            projects: HashSet::new(),
            behind: VecDeque::new(),
            heard_at: Instant::now(),
            allowance: f64::from(CLIENT_BURST),
            answers: mpsc::channel(CANCELS),
        }
    }

    async fn serve(mut self, mut stream: SplitStream<WebSocket>) {
        let mut heartbeat = interval(HEARTBEAT);
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let caller = self.caller.clone();
        let end = tokio::select! {
            biased;
            () = caller.ended() => End::Closed(close_code::AWAY, "the server stops, or the token is void"),
            end = self.go_on(&mut stream, &mut heartbeat) => end,
        };
        if let End::Closed(code, reason) = end {
            let frame = CloseFrame { code, reason: reason.into() };
            // Whoever does not take it is gone.
            let _sent = timeout(FAREWELL, self.sink.send(Message::Close(Some(frame)))).await;
        }
    }

    async fn go_on(
        &mut self,
        stream: &mut SplitStream<WebSocket>,
        heartbeat: &mut Interval,
    ) -> End {
        loop {
            if let Err(end) = self.once(stream, heartbeat).await {
                return end;
            }
        }
    }

    async fn once(
        &mut self,
        stream: &mut SplitStream<WebSocket>,
        heartbeat: &mut Interval,
    ) -> Done {
        let (mailbox, is_behind) = (Arc::clone(&self.mailbox), !self.behind.is_empty());
        // In no order, so that a busy run does not keep a subscription from its log.
        tokio::select! {
            said = stream.next() => match said {
                Some(said) => self.hear(said?).await,
                None => Err(End::Gone),
            },
            Some(answer) = self.answers.1.recv() => self.send(answer.into()).await,
            _ = heartbeat.tick() => self.beat().await,
            () = mailbox.rung() => self.deliver(mailbox.take()).await,
            () = std::future::ready(()), if is_behind => self.catch_up().await,
        }?;
        timeout(STALL, self.sink.flush()).await.map_err(|_| stalled())??;
        Ok(())
    }

    async fn send(&mut self, message: Utf8Bytes) -> Done {
        timeout(STALL, self.sink.feed(Message::Text(message))).await.map_err(|_| stalled())??;
        Ok(())
    }

    async fn say(&mut self, message: &impl Serialize) -> Done {
        self.send(text(message).into()).await
    }

    /// Sends a ping; whoever has not been heard of for long is gone.
    async fn beat(&mut self) -> Done {
        if self.heard_at.elapsed() > SILENCE {
            return Err(End::Closed(close_code::POLICY, "nothing was heard for too long"));
        }
        let ping = Message::Ping(Vec::new().into());
        timeout(STALL, self.sink.feed(ping)).await.map_err(|_| stalled())??;
        Ok(())
    }

    async fn hear(&mut self, said: Message) -> Done {
        let now = Instant::now();
        let passed = now.duration_since(self.heard_at).as_secs_f64();
        self.heard_at = now;
        let allowance = self.allowance + passed * f64::from(CLIENT_RATE);
        self.allowance = allowance.min(f64::from(CLIENT_BURST)) - 1.0;
        if self.allowance < 0.0 {
            return Err(End::Closed(close_code::POLICY, "too many messages"));
        }
        match said {
            Message::Text(said) => match Wish::understand(&said) {
                Ok(wish) => self.fulfil(wish).await,
                Err((id, problem)) => self.complain(id.as_ref(), None, &problem).await,
            },
            Message::Binary(_) => {
                let problem = Problem::bad_request("messages have to be text");
                self.complain(None, None, &problem).await
            }
            Message::Ping(_) | Message::Pong(_) => Ok(()),
            Message::Close(_) => Err(End::Gone),
        }
    }

    async fn complain(
        &mut self,
        id: Option<&Value>,
        execution: Option<&str>,
        problem: &Problem,
    ) -> Done {
        self.send(complaint(id, execution, problem).into()).await
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        for run in self.runs.keys() {
            self.state.live.unsubscribe(*run, &self.mailbox);
        }
        for project in &self.projects {
            self.state.live.unsubscribe_project(*project, &self.mailbox);
        }
    }
}

fn complaint(id: Option<&Value>, execution: Option<&str>, problem: &Problem) -> String {
    #[derive(Serialize)]
    struct Complaint<'a> {
        r#type: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        execution_id: Option<&'a str>,
        data: &'a Problem,
    }
    text(&Complaint { r#type: "workflow:error", id, execution_id: execution, data: problem })
}

const fn stalled() -> End {
    End::Closed(close_code::POLICY, "nothing was taken for too long")
}
