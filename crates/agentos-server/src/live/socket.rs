//! One WebSocket: what it has asked for, and what is sent to it.
//!
//! Everything of a connection happens in one place, one thing at a time: a wish is heard, what waits is sent, a page of a
//! log is read for a subscription that is behind. So the order of what is sent is the order of what was done, and a client
//! that takes nothing holds up only itself.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use agentos_core::id::RunId;
use agentos_store::log::ReadError;
use agentos_store::projection::Touched;
use agentos_store::registry::Scope;
use agentos_store::unified::Found;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade, close_code};
use axum::http::StatusCode;
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, timeout};
use uuid::Uuid;

use super::batch::{Batch, UPDATED, text};
use super::bounds::{
    CANCELS, CLIENT_BURST, CLIENT_MESSAGE, CLIENT_RATE, FAREWELL, HEARTBEAT, READ_BUFFER, SILENCE,
    STALL, SUBSCRIPTIONS, WRITE_BUFFER,
};
use super::document::document;
use super::mailbox::{Mailbox, Waiting};
use super::page::Place;
use super::wish::{Ask, Target, Wish};
use crate::access::Caller;
use crate::house::Deed;
use crate::problem::Problem;
use crate::state::AppState;

/// What a client calls what is spoken here, if it says so: a page that shows a token has to.
const PROTOCOL: &str = "agentos";

/// `GET /ws`
pub(super) async fn upgrade(
    State(state): State<AppState>,
    caller: Caller,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Problem> {
    caller.may(Scope::Read)?;
    let room = Arc::clone(&state.live.connections).try_acquire_owned().map_err(|_| {
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Problem::new(status, "there are too many WebSockets; come back later")
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
        tokio::select! {
            biased;
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

    async fn fulfil(&mut self, Wish { id, ask }: Wish) -> Done {
        let (name, done) = match ask {
            Ask::Subscribe(Target::Run { name, after, progress }) => {
                let done = self.subscribe(id.as_ref(), &name, after, progress).await;
                (Some(name), done)
            }
            Ask::Subscribe(Target::Project(project)) => {
                (None, self.subscribe_project(id.as_ref(), project).await)
            }
            Ask::Unsubscribe(target) => {
                let done = self.unsubscribe(id.as_ref(), &target).await;
                let Target::Run { name, .. } = target else { return answered(done) };
                (Some(name), done)
            }
            Ask::Cancel { run, reason } => {
                let done = self.cancel(id.as_ref(), &run, reason).await;
                (Some(run), done)
            }
        };
        match done {
            Err(Refused::Problem(problem)) => {
                self.complain(id.as_ref(), name.as_deref(), &problem).await
            }
            other => answered(other),
        }
    }

    fn has_room(&self) -> Result<(), Refused> {
        if self.runs.len() + self.projects.len() < SUBSCRIPTIONS {
            return Ok(());
        }
        let detail = format!("a connection has at most {SUBSCRIPTIONS} subscriptions");
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
        Err(problem.hint("subscribe to the project, or open another connection").into())
    }

    async fn subscribe(
        &mut self,
        id: Option<&Value>,
        name: &str,
        after: Option<u64>,
        progress: bool,
    ) -> Result<(), Refused> {
        let found = self.state.find_run(name).await?;
        let run = found.run.id;
        if !self.runs.contains_key(&run) {
            self.has_room()?;
        }
        self.state.live.subscribe(&found, &self.mailbox, progress).await;
        let store = found.source.store;
        // From here on it is unsubscribed from in any case.
        let place = Place::new(store.clone(), run, after.unwrap_or(0) + 1);
        let subscription = Subscription { place, is_behind: true, has_lost: false };
        self.runs.insert(run, subscription);
        let rows = store.touched_rows(run, Touched::default()).await?;
        let head = rows.run.seq;
        let after = after.unwrap_or(head);
        if after > head {
            self.forget(run);
            let detail = format!("is {after}, and the log of the run has {head} entries");
            return Err(Problem::field("/data/after", detail).into());
        }
        if let Some(subscription) = self.runs.get_mut(&run) {
            subscription.place.next = after + 1;
        }
        self.behind.retain(|known| *known != run);
        self.behind.push_back(run);
        let data = document(&rows.run);
        let said = json!({
            "type": "workflow:subscribed", "id": id, "execution_id": run, "seq": after, "data": data,
        });
        Ok(self.say(&said).await?)
    }

    async fn subscribe_project(
        &mut self,
        id: Option<&Value>,
        project: Uuid,
    ) -> Result<(), Refused> {
        if !self.projects.contains(&project) {
            self.has_room()?;
        }
        let projects = self.state.house.projects().await.map_err(Problem::from)?;
        let text = project.to_string();
        let is_it = |known: &&Value| known.get("id").and_then(Value::as_str) == Some(text.as_str());
        let Some(data) = projects.iter().find(is_it) else {
            return Err(Problem::not_found(format!("there is no project `{project}`")).into());
        };
        self.projects.insert(project);
        self.state.live.subscribe_project(project, &self.mailbox).await;
        let said = json!({
            "type": "workflow:subscribed", "id": id, "project_id": project, "data": data,
        });
        Ok(self.say(&said).await?)
    }

    async fn unsubscribe(&mut self, id: Option<&Value>, target: &Target) -> Result<(), Refused> {
        let said = match target {
            Target::Run { name, .. } => {
                let run = self.state.find_run(name).await?.run.id;
                self.forget(run);
                json!({ "type": "workflow:unsubscribed", "id": id, "execution_id": run })
            }
            Target::Project(project) => {
                self.projects.remove(project);
                self.state.live.unsubscribe_project(*project, &self.mailbox);
                json!({ "type": "workflow:unsubscribed", "id": id, "project_id": project })
            }
        };
        Ok(self.say(&said).await?)
    }

    fn forget(&mut self, run: RunId) {
        self.runs.remove(&run);
        self.behind.retain(|known| *known != run);
        self.state.live.unsubscribe(run, &self.mailbox);
    }

    /// Orders it. That may take as long as the run's processes take to end, so it is answered when it is done.
    async fn cancel(
        &mut self,
        id: Option<&Value>,
        name: &str,
        reason: Option<String>,
    ) -> Result<(), Refused> {
        self.caller.may(Scope::Run)?;
        let found = self.state.find_run(name).await?;
        let Ok(answer) = self.answers.0.clone().try_reserve_owned() else {
            let status = StatusCode::TOO_MANY_REQUESTS;
            return Err(Problem::new(status, "too much is being cancelled at once").into());
        };
        let (state, by, id) = (self.state.clone(), self.caller.name(), id.cloned());
        tokio::spawn(async move {
            answer.send(cancelled(&state, found, Deed::Cancel { reason }, by, id).await);
        });
        Ok(())
    }

    /// Sends what has waited, as far as it was not sent.
    async fn deliver(&mut self, waiting: Waiting) -> Done {
        if waiting.overflowed {
            for (run, subscription) in &mut self.runs {
                subscription.has_lost = true;
                if !std::mem::replace(&mut subscription.is_behind, true) {
                    self.behind.push_back(*run);
                }
            }
        }
        for batch in waiting.batches {
            self.pass_on(&batch).await?;
        }
        for (run, message) in waiting.progress {
            if self.runs.contains_key(&run) {
                self.send(message).await?;
            }
        }
        for (project, _, message) in waiting.listed {
            if self.projects.contains(&project) {
                self.send(message).await?;
            }
        }
        if waiting.relist {
            for project in self.projects.clone() {
                self.say(&json!({ "type": "workflow:catchup", "project_id": project })).await?;
            }
        }
        Ok(())
    }

    async fn pass_on(&mut self, batch: &Batch) -> Done {
        let Some(subscription) = self.runs.get_mut(&batch.run) else { return Ok(()) };
        let next = subscription.place.next;
        if subscription.is_behind || batch.end() <= next {
            return Ok(());
        }
        if batch.first > next {
            subscription.is_behind = true;
            self.behind.push_back(batch.run);
            return Ok(());
        }
        subscription.place.next = batch.end();
        for message in batch.from(next) {
            self.send(message.clone()).await?;
        }
        Ok(())
    }

    /// Reads one page for one of those that are behind.
    async fn catch_up(&mut self) -> Done {
        let Some(run) = self.behind.pop_front() else { return Ok(()) };
        let Some(subscription) = self.runs.get_mut(&run) else { return Ok(()) };
        let after = subscription.place.next - 1;
        let page = match subscription.place.batch().await {
            Ok(page) => page,
            Err(error) => return self.lose_run(run, error).await,
        };
        let has_lost = std::mem::take(&mut subscription.has_lost);
        let Some(page) = page else {
            subscription.is_behind = false;
            return Ok(());
        };
        self.behind.push_back(run);
        if has_lost {
            let said = json!({
                "type": "workflow:catchup", "execution_id": run, "seq": after, "data": { "after": after },
            });
            self.say(&said).await?;
        }
        for message in &page.messages {
            self.send(message.clone()).await?;
        }
        Ok(())
    }

    async fn lose_run(&mut self, run: RunId, error: ReadError) -> Done {
        self.forget(run);
        self.complain(None, Some(&run.to_string()), &error.into()).await
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

/// Why a wish is not fulfilled.
enum Refused {
    Problem(Problem),
    End(End),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<End> for Refused {
    fn from(end: End) -> Self {
        Self::End(end)
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

/// Cancels the run, and says how it stands then.
async fn cancelled(
    state: &AppState,
    found: Found,
    deed: Deed,
    by: String,
    id: Option<Value>,
) -> String {
    let (run, store) = (found.run.id, found.source.store.clone());
    let done = async {
        state.house.act(found, deed, by).await?;
        Ok::<_, Problem>(store.touched_rows(run, Touched::default()).await?)
    };
    match done.await {
        Ok(rows) => text(&json!({
            "type": UPDATED, "id": id, "execution_id": run, "ephemeral": true, "data": document(&rows.run),
        })),
        Err(problem) => complaint(id.as_ref(), Some(&run.to_string()), &problem),
    }
}

/// What is left of an answer that was given.
fn answered(done: Result<(), Refused>) -> Done {
    match done {
        Err(Refused::End(end)) => Err(end),
        _ => Ok(()),
    }
}

const fn stalled() -> End {
    End::Closed(close_code::POLICY, "nothing was taken for too long")
}
