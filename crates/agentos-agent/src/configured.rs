//! Agents from the configuration: `[agents.NAME]`.
//!
//! A known agent can be pointed elsewhere (`command`, `args`, `env`). Any other command becomes an agent by a template, whose
//! placeholders are filled in: `{prompt}`, `{model}`, `{session}`, `{system}`, `{max_turns}`, `{permission}`, `{name}`. A
//! template without `{prompt}` gets the prompt on its standard input.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::agent::{Agent, Command, Request, RequestError, Session, Translator, short_enough};
use crate::claude::Claude;
use crate::codex::Codex;
use crate::gemini::Gemini;
use crate::own::Own;
use crate::permission::Permission;
use crate::text::Text;
use crate::usage::Baseline;

/// How an agent is driven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// As Claude Code is.
    Claude,
    /// As Codex is.
    Codex,
    /// As Gemini is.
    Gemini,
    /// The built-in one that plays scenarios.
    Scripted,
    /// By a template.
    Command,
}

impl Kind {
    /// The kind that goes by this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "claude" => Some(Self::Claude),
            "codex" => Some(Self::Codex),
            "gemini" => Some(Self::Gemini),
            "scripted" => Some(Self::Scripted),
            _ => None,
        }
    }
}

/// What a command writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Its answer, and nothing else.
    #[default]
    Text,
    /// Events as AgentOS defines them.
    AgentOs,
    /// Events as Claude Code writes them.
    Claude,
    /// Events as Codex writes them.
    Codex,
    /// Events as Gemini writes them.
    Gemini,
}

/// A program with its arguments, or only the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Words {
    /// The program.
    One(String),
    /// The program and its arguments.
    Many(Vec<String>),
}

impl Words {
    fn list(&self) -> Vec<String> {
        match self {
            Self::One(word) => vec![word.clone()],
            Self::Many(words) => words.clone(),
        }
    }
}

/// An agent as it is configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(
    default,
    deny_unknown_fields,
    expecting = "an agent is a table: [agents.NAME] with `command` and so on"
)]
pub struct AgentSpec {
    /// How it is driven; by its name if left out, else by a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The program, or the template of a new session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Words>,
    /// More arguments of a known agent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// The template that goes on with a session.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resume: Option<Vec<String>>,
    /// What it writes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Dialect>,
    /// The model, where a workflow does not name one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it finds in its environment.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Variables of AgentOS's own environment that it is given.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pass: Vec<String>,
    /// How many of its sessions a user may have at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<u32>,
    /// What the scripted agent plays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<PathBuf>,
}

impl AgentSpec {
    /// How the agent of this name is driven.
    #[must_use]
    pub fn kind(&self, name: &str) -> Kind {
        self.kind.or_else(|| Kind::named(name)).unwrap_or(Kind::Command)
    }

    /// What is wrong with it, if anything.
    #[must_use]
    pub fn mistake(&self, name: &str) -> Option<String> {
        let kind = self.kind(name);
        let words = self.command.as_ref().map(Words::list).unwrap_or_default();
        if let Some(mistake) = mistaken_words(kind, self, &words) {
            return Some(mistake.to_owned());
        }
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Some("its name may have letters, digits, `-`, `_` and `.`".to_owned());
        }
        if kind != Kind::Command && (self.output.is_some() || self.resume.is_some()) {
            let advice = "`output` and `resume` are for agents of the kind `command`";
            return Some(advice.to_owned());
        }
        if self.concurrency.is_some_and(|limit| !(1..=10_000).contains(&limit)) {
            return Some("`concurrency` must be a whole number from 1 to 10000".to_owned());
        }
        if kind != Kind::Scripted && self.scenario.is_some() {
            return Some("`scenario` is for agents of the kind `scripted`".to_owned());
        }
        let templates = words.iter().chain(self.resume.iter().flatten());
        let unknown = templates.filter(|_| kind == Kind::Command).find_map(|word| unknown(word));
        unknown.map(|name| {
            format!("`{{{name}}}` is no placeholder; there are {}", PLACEHOLDERS.join(", "))
        })
    }

    /// The agent; none for the scripted one, which needs more than is said here.
    pub(crate) fn agent(&self, name: &str) -> Option<Box<dyn Agent>> {
        let program = |default: &str| {
            let words = self.command.as_ref().map(Words::list).filter(|words| !words.is_empty());
            words.unwrap_or_else(|| vec![default.to_owned()])
        };
        let args = self.args.clone();
        Some(match self.kind(name) {
            Kind::Claude => Box::new(Claude { program: program("claude"), args }),
            Kind::Codex => Box::new(Codex { program: program("codex"), args }),
            Kind::Gemini => Box::new(Gemini { program: program("gemini"), args }),
            Kind::Scripted => return None,
            Kind::Command => Box::new(Template {
                name: name.to_owned(),
                begin: program(name),
                resume: self.resume.clone(),
                dialect: self.output.unwrap_or_default(),
            }),
        })
    }
}

/// What is wrong with the words that start it.
fn mistaken_words(kind: Kind, spec: &AgentSpec, words: &[String]) -> Option<&'static str> {
    let is_command = kind == Kind::Command;
    let program = words.first().map(|word| word.trim());
    if program == Some("") || (is_command && program.is_none()) {
        return Some("say with `command` what to start");
    }
    if let Some(Words::One(program)) = &spec.command
        && program.contains(['{', '}'])
    {
        return Some("write `command` as a list: the program, then each argument by itself");
    }
    if is_command && !spec.args.is_empty() {
        return Some("`args` is for known agents; put them into `command`");
    }
    if spec
        .resume
        .as_ref()
        .is_some_and(|resume| !resume.iter().any(|word| word.contains("{session}")))
    {
        return Some("`resume` needs `{session}`: which session to go on with");
    }
    if spec.model.as_ref().is_some_and(|model| model.trim().is_empty() || model.starts_with('-')) {
        return Some("`model` is no model");
    }
    None
}

const PLACEHOLDERS: [&str; 7] =
    ["{prompt}", "{model}", "{session}", "{system}", "{max_turns}", "{permission}", "{name}"];

/// The first `{word}` that is no placeholder.
fn unknown(template: &str) -> Option<&str> {
    template.split('{').skip(1).find_map(|rest| {
        let (word, _) = rest.split_once('}')?;
        let is_word = !word.is_empty()
            && word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '_');
        let is_known = PLACEHOLDERS.iter().any(|known| known.trim_matches(['{', '}']) == word);
        (is_word && !is_known).then_some(word)
    })
}

/// A word of a template with its placeholders filled in, in one go: what is in a value stays as it is.
fn filled(word: &str, values: &[(&str, &str)]) -> String {
    let mut filled = String::new();
    let mut rest = word;
    while let Some(at) = rest.find('{') {
        filled.push_str(&rest[..at]);
        rest = &rest[at..];
        match values.iter().find(|(name, _)| rest.starts_with(name)) {
            Some((name, value)) => {
                filled.push_str(value);
                rest = &rest[name.len()..];
            }
            None => {
                filled.push('{');
                rest = &rest[1..];
            }
        }
    }
    filled.push_str(rest);
    filled
}

/// A command that was made an agent.
struct Template {
    name: String,
    begin: Vec<String>,
    resume: Option<Vec<String>>,
    dialect: Dialect,
}

impl Template {
    fn unsupported(&self, option: &'static str, advice: &'static str) -> RequestError {
        RequestError::Unsupported { agent: self.name.clone(), option, advice }
    }

    /// Nothing that was asked for is left out silently.
    fn check(&self, request: &Request, words: &[String]) -> Result<(), RequestError> {
        let has = |placeholder: &str| words.iter().any(|word| word.contains(placeholder));
        let advice = "its command has no placeholder for it";
        if request.max_turns.is_some() && !has("{max_turns}") {
            return Err(self.unsupported("maxTurns", advice));
        }
        if request.permission == Permission::ReadOnly && !has("{permission}") {
            return Err(self.unsupported("permissionMode", advice));
        }
        if !request.allowed_tools.is_empty() {
            return Err(self.unsupported("allowedTools", advice));
        }
        if !request.mcp_servers.is_empty() {
            return Err(self.unsupported("mcpServers", advice));
        }
        if request.model.is_none() && has("{model}") {
            return Err(self.unsupported(
                "no model",
                "its command needs one; name it in the call or with `model` in its configuration",
            ));
        }
        Ok(())
    }
}

impl Agent for Template {
    fn program(&self) -> Option<String> {
        self.begin.first().cloned()
    }

    fn command(&self, request: &Request) -> Result<Command, RequestError> {
        let words = match (&request.session, &self.resume) {
            (Session::Resumed(_), Some(resume)) => resume,
            _ => &self.begin,
        };
        self.check(request, words)?;
        let has = |placeholder: &str| words.iter().any(|word| word.contains(placeholder));
        let system = request.system_prompt.as_deref().unwrap_or_default();
        let prompt = if system.is_empty() || has("{system}") {
            request.prompt.clone()
        } else {
            format!("{system}\n\n{}", request.prompt)
        };
        let takes_argument = has("{prompt}");
        if takes_argument {
            short_enough("prompt", &prompt)?;
        }
        let permission = request.permission.as_str();
        let turns = request.max_turns.map(|turns| turns.to_string()).unwrap_or_default();
        let values = [
            ("{model}", request.model.as_deref().unwrap_or_default()),
            ("{session}", request.session.id()),
            ("{max_turns}", &turns),
            ("{permission}", permission),
            ("{name}", &request.name),
            ("{system}", short_enough("systemPrompt", system)?),
            ("{prompt}", &prompt),
        ];
        let mut argv = Vec::new();
        for word in words {
            let whole = filled(word, &values);
            // A program of the user's would take it for an option.
            if word.starts_with("{prompt}") && whole.starts_with('-') {
                return Err(self.unsupported(
                    "a prompt that begins with `-`",
                    "begin it with another letter, or take `{prompt}` out of its command: then it is read from the standard input",
                ));
            }
            short_enough("prompt", &whole)?;
            argv.push(whole);
        }
        let input = (!takes_argument).then_some(prompt);
        Ok(Command { argv, input, ..Command::default() })
    }

    fn translator(&self, before: Baseline) -> Box<dyn Translator> {
        let none = || (Vec::new(), Vec::new());
        let ((program, args), dialect) = (none(), self.dialect);
        match dialect {
            Dialect::Text => Box::new(Text::default()),
            Dialect::AgentOs => Box::new(Own::default()),
            Dialect::Claude => Claude { program, args }.translator(before),
            Dialect::Codex => Codex { program, args }.translator(before),
            Dialect::Gemini => Gemini { program, args }.translator(before),
        }
    }

    fn takes_session_id(&self) -> bool {
        self.begin.iter().any(|word| word.contains("{session}"))
    }

    fn can_resume(&self) -> bool {
        self.resume.is_some()
    }

    fn tells_usage(&self) -> bool {
        self.dialect != Dialect::Text
    }

    fn tells_cost(&self) -> bool {
        matches!(self.dialect, Dialect::AgentOs | Dialect::Claude)
    }
}
