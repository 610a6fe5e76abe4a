//! What the tests share: recorded streams and how their processes ended.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agentos_agent::agent::Translator;
use agentos_agent::event::AgentEvent;
use agentos_agent::lines::{Line, Lines};
use agentos_agent::roster::{Member, Roster};
use agentos_agent::usage::Baseline;
use agentos_agent::verdict::Verdict;
use agentos_process::exit::{Exit, Reason};

pub(crate) fn member(name: &str) -> Member {
    let roster =
        Roster::new(BTreeMap::new(), vec!["agentos".into(), "play".into()], Path::new("/"));
    roster.member(name, &BTreeMap::new()).expect("an agent")
}

pub(crate) fn exited(code: i32) -> Exit {
    Exit {
        reason: Reason::Exited,
        exit_code: Some(code),
        signal: None,
        duration_ms: 0,
        stdout_bytes: 0,
        stderr_bytes: 0,
        dropped_bytes: 0,
        waited_ms: 0,
        leftovers: 0,
        message: None,
    }
}

/// A recorded stream.
pub(crate) struct Recorded {
    pub(crate) name: String,
    pub(crate) agent: String,
    pub(crate) text: String,
    /// What the process said of itself in the end.
    pub(crate) code: i32,
}

impl Recorded {
    pub(crate) fn translator(&self) -> Box<dyn Translator> {
        member(&self.agent).agent.translator(Baseline::default())
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.text.lines().map(ToOwned::to_owned).collect()
    }
}

/// All recorded streams, in order.
pub(crate) fn recorded() -> Vec<Recorded> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("fixtures")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .filter(|name| name.ends_with(".jsonl"))
        .collect();
    names.sort();
    assert!(names.len() >= 28, "streams are missing: {names:?}");
    let load = |name: String| Recorded {
        text: std::fs::read_to_string(folder.join(&name)).expect("a stream"),
        agent: name.split('-').next().expect("an agent").to_owned(),
        code: code_of(&name),
        name: name.trim_end_matches(".jsonl").to_owned(),
    };
    names.into_iter().map(load).collect()
}

/// What was seen when the streams were recorded.
fn code_of(name: &str) -> i32 {
    match name {
        _ if name.contains("SIGTERM") && !name.starts_with("gemini") => 143,
        "codex-S-sleep-SIGINT-pid.jsonl" => 1,
        "gemini-E-e400.jsonl" => 144,
        "gemini-E-e429.jsonl" => 173,
        "gemini-E-malformed.jsonl" => 0,
        _ if name.contains("-E-") || name.contains("maxturns") || name.contains("nokey") => 1,
        _ => 0,
    }
}

/// What a stream says, and how it is judged.
pub(crate) fn told(
    translator: &mut dyn Translator,
    text: &[u8],
    exit: &Exit,
) -> (Vec<AgentEvent>, Verdict) {
    told_with(translator, text, exit, "")
}

/// The same, with what the process wrote to its standard error.
pub(crate) fn told_with(
    translator: &mut dyn Translator,
    text: &[u8],
    exit: &Exit,
    complaints: &str,
) -> (Vec<AgentEvent>, Verdict) {
    let (mut lines, mut events) = (Lines::default(), Vec::new());
    for piece in text.chunks(4096) {
        lines.feed(piece, |line| events.extend(fed(translator, line)));
    }
    lines.finish(|line| events.extend(fed(translator, line)));
    (events, translator.finish(exit, complaints))
}

fn fed(translator: &mut dyn Translator, line: Line<'_>) -> Vec<AgentEvent> {
    match line {
        Line::Whole(line) => translator.feed(line),
        Line::Cut(beginning, loss) => translator.feed_cut(beginning, loss),
    }
}
