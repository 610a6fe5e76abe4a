//! What a server knows: the scenario, how often each of its turns was asked for, and what was asked.
//!
//! Deciding is apart from speaking: [`Stage::decide`] takes a request and says what is to be answered, at once and
//! without waiting for anything.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::dialect::{Dialect, Reply};
use super::fault::Fault;
use super::record::{Records, Request};
use super::scenario::{Exchange, Scenario, Turn};

/// What came in over the wire.
pub(super) struct Incoming {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) has_key: bool,
    pub(super) is_upgrade: bool,
    /// Null if it is no document.
    pub(super) body: Value,
    pub(super) bytes: usize,
}

/// What goes out.
#[derive(Debug)]
pub(super) enum Answer {
    /// A document, with a status.
    Whole(u16, Value),
    /// Events, and what happens to them.
    Events(Vec<String>, Option<Fault>),
    /// Nothing, ever.
    Silence,
}

#[derive(Debug)]
pub(super) struct Stage {
    scenario: Scenario,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// How many requests came to a turn of an exchange.
    visits: HashMap<(usize, usize), usize>,
    records: Records,
    answers: u64,
}

impl Stage {
    pub(super) fn new(scenario: Scenario) -> Self {
        Self { scenario, state: Mutex::default() }
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.state().records.all()
    }

    /// What is answered to a request, which is written down.
    pub(super) fn decide(&self, incoming: Incoming) -> Answer {
        let Some(dialect) = Dialect::of(&incoming.path) else {
            let answer = aside(&incoming);
            self.record(None, incoming);
            return answer;
        };
        let asked = dialect.asked(&incoming.path, &incoming.body);
        let found = self.turn(&asked.history.prompt, asked.history.answers);
        let request = Request {
            dialect: Some(dialect),
            model: asked.model.clone(),
            prompt: asked.history.prompt.clone(),
            answers: asked.history.answers,
            turn: found.as_ref().ok().map(|(place, _)| *place),
            is_streamed: asked.is_streamed,
            ..blank(&incoming)
        };
        let refusal = refusal(&incoming);
        self.record(Some(request), incoming);
        if let Some((status, message)) = refusal {
            return Answer::Whole(status, dialect.error(status, message));
        }
        let (place, turn) = match found {
            Ok(found) => found,
            Err(message) => return Answer::Whole(400, dialect.error(400, &message)),
        };
        let (fault, number) = self.visit(place, turn);
        let reply = Reply { turn, model: &asked.model, number };
        match fault {
            Some(Fault::Status(status)) => {
                Answer::Whole(status, dialect.error(status, "the scenario refuses this request"))
            }
            Some(Fault::Hang) => Answer::Silence,
            _ if asked.is_streamed => Answer::Events(dialect.events(&reply), fault),
            None | Some(Fault::Slow(_)) => Answer::Whole(200, dialect.document(&reply)),
            // What is whole can't break in the middle; as a stream of one event it can.
            _ => Answer::Events(vec![dialect.document(&reply).to_string()], fault),
        }
    }

    /// The turn for a prompt after so many answers, and its place in the scenario.
    fn turn(&self, prompt: &str, answers: usize) -> Result<((usize, usize), &Turn), String> {
        let fits = |exchange: &Exchange| {
            exchange.when.as_ref().is_none_or(|text| prompt.contains(text.as_str()))
        };
        let exchanges = &self.scenario.exchanges;
        let Some(at) = exchanges.iter().position(fits) else {
            return Err(format!("no exchange of the scenario fits the prompt {prompt:?}"));
        };
        match exchanges[at].turn(answers) {
            Some((turn_at, turn)) => Ok(((at, turn_at), turn)),
            None => Err(format!("the scenario has nothing to say after {answers} answers")),
        }
    }

    /// The fault that a request meets at a turn, and the number of its answer.
    fn visit(&self, place: (usize, usize), turn: &Turn) -> (Option<Fault>, u64) {
        let mut state = self.state();
        let visits = state.visits.entry(place).or_default();
        let fault = turn.faults.get(*visits).copied().or(turn.fault);
        *visits += 1;
        state.answers += 1;
        (fault, state.answers)
    }

    fn record(&self, request: Option<Request>, incoming: Incoming) {
        let mut request = request.unwrap_or_else(|| blank(&incoming));
        request.body = incoming.body;
        self.state().records.push(incoming.bytes, request);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of any request.
fn blank(incoming: &Incoming) -> Request {
    let Incoming { method, path, query, .. } = incoming;
    let query = query.as_ref().map(|query| format!("?{query}")).unwrap_or_default();
    Request {
        line: format!("{method} {path}{query}"),
        dialect: None,
        model: String::new(),
        prompt: String::new(),
        answers: 0,
        turn: None,
        is_streamed: false,
        has_key: incoming.has_key,
        body: Value::Null,
    }
}

/// Why a request is refused before anybody looks into the scenario.
fn refusal(incoming: &Incoming) -> Option<(u16, &'static str)> {
    if incoming.is_upgrade {
        Some((426, "no WebSocket here: use POST"))
    } else if incoming.method != "POST" {
        Some((405, "use POST"))
    } else if !incoming.has_key {
        Some((401, "there is no key in this request; any will do"))
    } else if incoming.body.is_null() {
        Some((400, "the body of this request is no JSON document"))
    } else {
        None
    }
}

/// What clients ask besides: how many tokens something has, and whether anybody is there.
fn aside(incoming: &Incoming) -> Answer {
    let tokens = incoming.bytes / 4;
    if incoming.path.ends_with("/count_tokens") {
        Answer::Whole(200, json!({ "input_tokens": tokens }))
    } else if incoming.path.ends_with(":countTokens") {
        Answer::Whole(200, json!({ "totalTokens": tokens }))
    } else if incoming.path == "/" {
        Answer::Whole(200, json!({ "ok": true }))
    } else {
        Answer::Whole(
            404,
            json!({ "error": { "message": "a model server for tests has nothing here" } }),
        )
    }
}
