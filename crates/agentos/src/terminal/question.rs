//! A question to a person, with what was changed beside it.

use serde::Serialize;
use serde_json::Value;

use super::paint::Tone;
use super::text::{Line, harmless, width};

/// How many files are shown beside a question.
const FILES: usize = 20;

/// A question that nobody has answered.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Question {
    pub(crate) text: String,
    /// What was changed in the workspace when it was asked, if the workflow wanted that to be seen.
    pub(crate) diff: Option<Value>,
}

impl Question {
    /// What was asked with these arguments, under this name.
    pub(crate) fn of(args: &Value, name: &str) -> Self {
        let text = args.get("question").and_then(Value::as_str).unwrap_or(name).to_owned();
        Self { text, diff: args.get("diff").filter(|diff| diff.is_object()).cloned() }
    }

    /// What was changed, and how to answer.
    pub(crate) fn about(&self, run: &str) -> Vec<Line> {
        let mut lines = self.diff.as_ref().map(changes).unwrap_or_default();
        let answer = format!("agentos approve {run}, or with --deny");
        lines.push(Line::of(Tone::Faint, "answer with ").with(Tone::Plain, &answer));
        lines
    }

    /// What was changed.
    pub(crate) fn changes(&self) -> Vec<Line> {
        self.diff.as_ref().map(changes).unwrap_or_default()
    }
}

/// `2 files changed, +3 -1`
pub(crate) fn summary(diff: &Value) -> Option<String> {
    let number = |name: &str| diff.get(name).and_then(Value::as_u64);
    let files = match number("files_changed")? {
        0 => return Some("nothing changed".to_owned()),
        1 => "1 file changed".to_owned(),
        files => format!("{files} files changed"),
    };
    let (added, removed) = (number("insertions")?, number("deletions")?);
    Some(format!("{files}, +{added} -{removed}"))
}

/// The summary, and a line for each file.
fn changes(diff: &Value) -> Vec<Line> {
    let Some(summary) = summary(diff) else { return Vec::new() };
    let files: Vec<&Value> =
        diff.get("files").and_then(Value::as_array).into_iter().flatten().take(FILES).collect();
    let path = |file: &Value| {
        harmless(file.get("path").and_then(Value::as_str).unwrap_or("?")).into_owned()
    };
    let widest = files.iter().map(|file| width(&path(file))).max().unwrap_or(0);
    let total = diff.get("files_changed").and_then(Value::as_u64).unwrap_or(0);
    let mut lines = vec![Line::of(Tone::Plain, &summary)];
    for file in &files {
        let path = path(file);
        let gap = " ".repeat(widest - width(&path) + 2);
        let line = Line::of(Tone::Plain, &format!("  {path}{gap}"));
        lines.push(line.with(Tone::Faint, &amount(file)));
    }
    let more = total.saturating_sub(files.len() as u64);
    if more > 0 {
        lines.push(Line::of(Tone::Faint, &format!("  and {more} more")));
    }
    lines
}

fn amount(file: &Value) -> String {
    let number = |name: &str| file.get(name).and_then(Value::as_u64).unwrap_or(0);
    match file.get("binary").and_then(Value::as_bool) {
        Some(true) => "binary".to_owned(),
        _ => format!("+{} -{}", number("insertions"), number("deletions")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::paint::Paint;

    #[test]
    fn a_question_shows_what_was_changed_and_how_to_answer() {
        let file = |path: &str, binary: bool| json!({ "path": path, "insertions": 2, "deletions": 1, "binary": binary });
        let diff = json!({ "files_changed": 3, "insertions": 4, "deletions": 2, "files": [file("a\u{1b}[2J", false), file("logo.png", true)] });
        let question = Question::of(&json!({ "question": "Ship it?", "diff": diff }), "00ff");
        let lines = question.about("ship-abcdef");
        let lines: Vec<String> = lines.iter().map(|line| line.painted(Paint::PLAIN)).collect();
        let expected = [
            "3 files changed, +4 -2",
            "  a?[2J     +2 -1",
            "  logo.png  binary",
            "  and 1 more",
            "answer with agentos approve ship-abcdef, or with --deny",
        ];
        assert_eq!(lines, expected);
        let bare = Question::of(&json!({}), "00ff");
        assert_eq!((bare.text.as_str(), bare.changes().len()), ("00ff", 0));
        assert_eq!(summary(&json!({ "files_changed": 0 })).as_deref(), Some("nothing changed"));
    }
}
