//! Plays a scenario: this is what the scripted agent's process does.

use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use agentos_process::tool::Tool;
use serde_json::{Value, json};
use thiserror::Error;

use super::scenario::{Asked, Item, Scenario, ScenarioError};
use super::state::{Memory, State};
use crate::permission::Permission;
use crate::usage::Usage;
use crate::verdict::TroubleKind;

/// How long a command of a scenario may take.
const COMMAND: Duration = Duration::from_secs(24 * 60 * 60);

/// How much is written at once by one who floods.
const WAVE: usize = 64 << 10;

/// What is played, for whom and where.
#[derive(Debug, Clone)]
pub struct Play {
    /// The scenario.
    pub scenario: PathBuf,
    /// In place of which agent.
    pub agent: String,
    /// What the session is called.
    pub name: String,
    /// In which attempt of the step.
    pub attempt: u32,
    /// The session.
    pub session: String,
    /// Whether it is gone on with.
    pub is_resumed: bool,
    /// The prompt.
    pub prompt: String,
    /// The model that it says it is; that of the scenario if left out.
    pub model: Option<String>,
    /// How many things it may say or do.
    pub max_turns: Option<u32>,
    /// What it may do.
    pub permission: Permission,
    /// Where sessions are remembered.
    pub state: PathBuf,
    /// The workspace.
    pub workspace: PathBuf,
}

/// Why a scenario can't be played.
#[derive(Debug, Error)]
pub enum PlayError {
    /// It can't be read.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The session is not known.
    #[error("unknown session {0}")]
    UnknownSession(String),
    /// Nothing in it fits.
    #[error("the scenario has nothing for the session `{name}` of `{agent}` with this prompt")]
    NothingFits {
        /// The session's name.
        name: String,
        /// The agent.
        agent: String,
    },
    /// Nobody listens, or the state can't be kept.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Plays; returns the exit status. What can't be played is the stream's last word, and final.
///
/// # Errors
/// Nobody listens, or what was played can't be kept.
pub fn play(play: &Play, out: &mut dyn Write) -> Result<u8, PlayError> {
    let why = match perform(play, out) {
        Err(error @ PlayError::UnknownSession(_)) => (TroubleKind::UnknownSession, error),
        Err(error @ (PlayError::Scenario(_) | PlayError::NothingFits { .. })) => {
            (TroubleKind::Refused, error)
        }
        played => return played,
    };
    let (kind, error) = why;
    let last =
        json!({ "type": "finished", "ok": false, "kind": kind, "message": error.to_string() });
    writeln!(out, "{last}")?;
    Ok(1)
}

fn perform(play: &Play, out: &mut dyn Write) -> Result<u8, PlayError> {
    let scenario = Scenario::load(&play.scenario)?;
    let memory = Memory::of(&play.state, &play.session);
    let remembered = memory.load()?;
    if play.is_resumed && remembered.is_none() {
        return Err(PlayError::UnknownSession(play.session.clone()));
    }
    if !play.is_resumed {
        Memory::forget_old(&play.state);
    }
    let mut state = remembered.unwrap_or_default();
    let asked =
        Asked { agent: &play.agent, name: &play.name, prompt: &play.prompt, attempt: play.attempt };
    let (at, done) = begin(&scenario, &asked, &state).ok_or_else(|| PlayError::NothingFits {
        name: play.name.clone(),
        agent: play.agent.clone(),
    })?;
    state.current = Some((at, done));
    memory.keep(&state)?;
    let model = play.model.as_deref().unwrap_or(&scenario.model);
    let mut stage = Stage { play, out, usage: Usage::default(), cost: None, said: String::new() };
    stage.tell(&json!({ "type": "session", "session_id": play.session, "model": model }))?;
    let items = scenario.parts[at].play.iter().enumerate().skip(done);
    for (turn, (number, item)) in (1_u32..).zip(items) {
        if play.max_turns.is_some_and(|turns| turn > turns) {
            return stage.fail(TroubleKind::MaxTurns, "it took as many turns as it may");
        }
        if let Some(status) = stage.perform(number + 1, item)? {
            // What a scenario wants to fail has failed: whoever goes on with the session is behind it.
            if matches!(item, Item::Fail { .. } | Item::Exit(_)) {
                state.pass(at, number + 1, scenario.parts[at].play.len());
                memory.keep(&state)?;
            }
            return Ok(status);
        }
        state.current = Some((at, number + 1));
        memory.keep(&state)?;
    }
    let length = scenario.parts[at].play.len();
    state.pass(at, length, length);
    memory.keep(&state)?;
    let said = std::mem::take(&mut stage.said);
    stage.tell(&json!({ "type": "finished", "ok": true, "text": said }))?;
    Ok(0)
}

/// Where to begin: where it was interrupted, or with what fits.
fn begin(scenario: &Scenario, asked: &Asked<'_>, state: &State) -> Option<(usize, usize)> {
    let interrupted = state.current.filter(|(at, _)| *at < scenario.parts.len());
    interrupted.or_else(|| scenario.part(asked, &state.played).map(|(at, _)| (at, 0)))
}

/// What was said so far, and to whom.
struct Stage<'a> {
    play: &'a Play,
    out: &'a mut dyn Write,
    usage: Usage,
    cost: Option<f64>,
    said: String,
}

impl Stage<'_> {
    fn tell(&mut self, event: &Value) -> io::Result<()> {
        writeln!(self.out, "{event}")?;
        self.out.flush()
    }

    /// Does one thing; the exit status if it is the last.
    fn perform(&mut self, number: usize, item: &Item) -> Result<Option<u8>, PlayError> {
        match item {
            Item::Say(text) => {
                self.said.clone_from(text);
                self.tell(&json!({ "type": "text", "text": text }))?;
            }
            Item::Think(text) => self.tell(&json!({ "type": "thinking", "text": text }))?,
            Item::Call { tool, input, output, ok } => {
                self.call(number, tool, input)?;
                self.answer(number, *ok, output)?;
            }
            Item::Write { .. } | Item::Patch { .. } | Item::Delete(_) | Item::Run(_) => {
                return self.change(number, item);
            }
            Item::Wait(ms) => std::thread::park_timeout(Duration::from_millis(*ms)),
            Item::Hang {} => loop {
                std::thread::park();
            },
            Item::Flood(bytes) => self.flood(*bytes)?,
            Item::Line(line) => {
                writeln!(self.out, "{line}")?;
                self.out.flush()?;
            }
            Item::Tokens { input, output, cached, cost_usd } => {
                self.usage +=
                    Usage { input_tokens: *input, output_tokens: *output, cached_tokens: *cached };
                if let Some(more) = cost_usd {
                    self.cost = Some(self.cost.unwrap_or(0.0) + more);
                }
                let mut used = json!(self.usage);
                used["type"] = json!("usage");
                used["cost_usd"] = json!(self.cost);
                self.tell(&used)?;
            }
            Item::Retry(why) => {
                self.tell(&json!({ "type": "retrying", "attempt": 1, "why": why }))?;
            }
            Item::Deny(tool) => {
                let why = "the scenario says so";
                self.tell(&json!({ "type": "denied", "tool": tool, "why": why }))?;
            }
            Item::Fail { kind, message } => return self.fail(*kind, message).map(Some),
            Item::Exit(status) => return Ok(Some(u8::try_from(*status & 255).unwrap_or(1))),
        }
        Ok(None)
    }

    fn fail(&mut self, kind: TroubleKind, message: &str) -> Result<u8, PlayError> {
        let message = if message.is_empty() { "the scenario says so" } else { message };
        self.tell(&json!({ "type": "finished", "ok": false, "kind": kind, "message": message }))?;
        Ok(1)
    }

    fn call(&mut self, number: usize, tool: &str, input: &Value) -> io::Result<()> {
        let id = format!("call-{number}");
        self.tell(&json!({ "type": "tool_call", "id": id, "name": tool, "input": input }))
    }

    fn answer(&mut self, number: usize, ok: bool, output: &str) -> io::Result<()> {
        let id = format!("call-{number}");
        self.tell(&json!({ "type": "tool_result", "id": id, "ok": ok, "output": output }))
    }

    /// Changes the workspace, as a tool of an agent would. What does not work ends the session: the scenario is wrong.
    fn change(&mut self, number: usize, item: &Item) -> Result<Option<u8>, PlayError> {
        let (tool, input) = match item {
            Item::Write { file, .. } => ("write", json!({ "file": file })),
            Item::Patch { file, .. } => ("patch", json!({ "file": file })),
            Item::Delete(file) => ("delete", json!({ "file": file })),
            Item::Run(line) => ("run", json!({ "command": line })),
            _ => return Ok(None),
        };
        self.call(number, tool, &input)?;
        if self.play.permission == Permission::ReadOnly {
            let why = "it may only look";
            self.answer(number, false, why)?;
            self.tell(&json!({ "type": "denied", "tool": tool, "why": why }))?;
            return Ok(None);
        }
        let done = match item {
            Item::Write { file, content } => self.write(file, content),
            Item::Patch { file, find, replace } => self.patch(file, find, replace),
            Item::Delete(file) => self.delete(file),
            Item::Run(line) => self.run(line),
            _ => Ok(String::new()),
        };
        match done {
            Ok(output) => {
                self.answer(number, true, &output)?;
                Ok(None)
            }
            Err(why) => {
                self.answer(number, false, &why)?;
                self.fail(TroubleKind::Exit, &why).map(Some)
            }
        }
    }

    /// A file of the workspace: no name leads out of it by words alone.
    fn inside(&self, file: &str) -> Result<PathBuf, String> {
        let path = Path::new(file);
        let is_inside = !file.is_empty()
            && path
                .components()
                .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if is_inside {
            return Ok(self.play.workspace.join(path));
        }
        Err(format!("`{file}` leads out of the workspace; name a file inside of it"))
    }

    fn write(&self, file: &str, content: &str) -> Result<String, String> {
        let path = self.inside(file)?;
        let written = path
            .parent()
            .map_or(Ok(()), std::fs::create_dir_all)
            .and_then(|()| std::fs::write(&path, content));
        written.map_err(|error| format!("{file} can't be written: {error}"))?;
        Ok(format!("{} bytes", content.len()))
    }

    fn patch(&self, file: &str, find: &str, replace: &str) -> Result<String, String> {
        let path = self.inside(file)?;
        let text = std::fs::read_to_string(&path)
            .map_err(|error| format!("{file} can't be read: {error}"))?;
        // Done already, before somebody was killed: done.
        if !text.contains(find) {
            if !replace.is_empty() && text.contains(replace) {
                return Ok("is there already".to_owned());
            }
            return Err(format!("{file} has no `{find}`"));
        }
        self.write(file, &text.replacen(find, replace, 1))
    }

    fn delete(&self, file: &str) -> Result<String, String> {
        match std::fs::remove_file(self.inside(file)?) {
            Ok(()) => Ok("deleted".to_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok("was not there".to_owned()),
            Err(error) => Err(format!("{file} can't be deleted: {error}")),
        }
    }

    fn run(&self, line: &str) -> Result<String, String> {
        let tool = Tool::new("sh").args(["-c", line]).in_folder(&self.play.workspace);
        let answer = tool.timeout(COMMAND).run().map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&answer.output).trim_end().to_owned();
        if answer.is_success() {
            return Ok(said);
        }
        Err(format!("`{line}` failed: {said}{}", answer.complaint_text()))
    }

    fn flood(&mut self, bytes: u64) -> io::Result<()> {
        let line = vec![b'x'; WAVE];
        let mut left = bytes;
        while left > 0 {
            let wave = usize::try_from(left).unwrap_or(WAVE).min(WAVE);
            self.out.write_all(&line[..wave])?;
            self.out.write_all(b"\n")?;
            left -= wave as u64;
        }
        self.out.flush()
    }
}
