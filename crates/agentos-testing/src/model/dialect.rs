//! The three ways in which clients talk to a model, and what they have in common.

use serde_json::Value;

use super::scenario::Turn;
use super::{anthropic, gemini, openai};

/// A protocol between clients and models.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Dialect {
    /// `POST /v1/messages`, as Claude Code speaks it.
    Anthropic,
    /// `POST /v1/responses`, as Codex speaks it.
    OpenAi,
    /// `POST /v1beta/models/…:generateContent`, as Gemini's command line speaks it.
    Gemini,
}

/// What a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    pub(super) history: History,
}

/// Where a conversation stands.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct History {
    /// The last prompt.
    pub(super) prompt: String,
    /// The model's answers since then.
    pub(super) answers: usize,
}

impl History {
    /// A person has spoken. What clients add by themselves is wrapped in tags, and no prompt.
    pub(super) fn hear(&mut self, text: &str) {
        let text = text.trim();
        if !text.is_empty() && !text.starts_with('<') {
            *self = Self { prompt: text.to_owned(), answers: 0 };
        }
    }
}

/// What an answer is made of.
pub(super) struct Reply<'a> {
    pub(super) turn: &'a Turn,
    pub(super) model: &'a str,
    /// Different for every answer of a server: ids are made of it.
    pub(super) number: u64,
}

impl Dialect {
    /// The dialect of a path, if an answer of the model is asked for there.
    pub(super) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::OpenAi)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    pub(super) fn asked(self, path: &str, body: &Value) -> Asked {
        match self {
            Self::Anthropic => anthropic::asked(body),
            Self::OpenAi => openai::asked(body),
            Self::Gemini => gemini::asked(path, body),
        }
    }

    /// The events of a streamed answer, each as it goes over the wire.
    pub(super) fn events(self, reply: &Reply<'_>) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::events(reply),
            Self::OpenAi => openai::events(reply),
            Self::Gemini => gemini::events(reply),
        }
    }

    /// The answer as one document.
    pub(super) fn document(self, reply: &Reply<'_>) -> Value {
        match self {
            Self::Anthropic => anthropic::document(reply),
            Self::OpenAi => openai::document(reply),
            Self::Gemini => gemini::document(reply),
        }
    }

    /// A refusal.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        match self {
            Self::Anthropic => anthropic::error(status, message),
            Self::OpenAi => openai::error(status, message),
            Self::Gemini => gemini::error(status, message),
        }
    }
}

/// An event whose name is also in its document.
pub(super) fn named_event(data: &Value) -> String {
    let name = data["type"].as_str().unwrap_or_default();
    format!("event: {name}\ndata: {data}\n\n")
}

/// A text in two pieces, as if it were being thought of.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let middle = text.char_indices().nth(text.chars().count() / 2).map_or(0, |(at, _)| at);
    let (first, second) = text.split_at(middle);
    [first, second].into_iter().filter(|piece| !piece.is_empty())
}

/// The text in a list of content blocks, or in a plain text, each piece on its own.
pub(super) fn texts<'a>(
    content: &'a Value,
    key: &'a str,
) -> Box<dyn Iterator<Item = &'a str> + 'a> {
    match content {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(blocks) => {
            Box::new(blocks.iter().filter_map(move |block| block[key].as_str()))
        }
        _ => Box::new(std::iter::empty()),
    }
}
