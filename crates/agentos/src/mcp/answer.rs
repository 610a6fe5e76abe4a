//! What goes back to an agent: a document or a text, never more than a model can take in at once.
//!
//! What is too large is cut where that costs least, and what was cut is said beside it. A document stays a document.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::Value;

use crate::error::{CommandError, Result};

/// The longest answer, in bytes: some ten thousand tokens.
pub(super) const MOST_BYTES: usize = 40_000;

/// How many cuts are named.
const NAMED: usize = 8;

/// How a document is cut, the gentle way first: letters of a text, entries of a list.
const ROUNDS: [(usize, usize); 6] =
    [(4_000, usize::MAX), (1_000, 200), (300, 50), (100, 20), (60, 5), (30, 1)];

/// Objects with fewer keys are never cut.
const KEYS: usize = 64;

/// What a tool answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Answer {
    text: String,
    /// What is said beside it.
    notes: Vec<String>,
}

impl Answer {
    /// A document, cut if it has to be.
    pub(super) fn document(document: &impl Serialize) -> Result<Self> {
        let document = serde_json::to_value(document).map_err(|error| {
            CommandError::failed(format!("the answer can't be written: {error}"))
        })?;
        let (text, cuts) = fitted(&document);
        Ok(Self { text, notes: notice(&cuts).into_iter().collect() })
    }

    /// A text that fits.
    pub(super) const fn text(text: String) -> Self {
        Self { text, notes: Vec::new() }
    }

    /// With something beside it.
    pub(super) fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// As the protocol wants it: first the answer, then what is said beside it.
    pub(super) fn into_result(mut self, notes: Vec<String>) -> CallToolResult {
        self.notes.extend(notes);
        let mut content = vec![ContentBlock::text(self.text)];
        if !self.notes.is_empty() {
            let notes = self.notes.join("\n");
            content.push(ContentBlock::text(head(&notes, MOST_BYTES)));
        }
        CallToolResult::success(content)
    }
}

/// What an agent reads instead of an answer: what was wrong, and what to do next.
pub(super) fn refusal(error: &CommandError, notes: &[String]) -> CallToolResult {
    let hint = error.hint.as_ref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    let mut text = format!("{}{hint}", error.message);
    for note in notes {
        text.push('\n');
        text.push_str(note);
    }
    CallToolResult::error(vec![ContentBlock::text(head(&text, MOST_BYTES))])
}

/// The beginning of a text, at most so many bytes.
pub(super) fn head(text: &str, bytes: usize) -> String {
    text[..text.floor_char_boundary(bytes)].to_owned()
}

/// The document as a text that is not too long, and what was cut.
fn fitted(document: &Value) -> (String, Vec<String>) {
    let whole = document.to_string();
    if whole.len() <= MOST_BYTES {
        return (whole, Vec::new());
    }
    for (letters, entries) in ROUNDS {
        let (mut copy, mut cuts) = (document.clone(), Vec::new());
        Cutter { letters, entries, cuts: &mut cuts }.cut(&mut copy, "");
        let text = copy.to_string();
        if text.len() <= MOST_BYTES {
            return (text, cuts);
        }
    }
    let cut = format!("the document has {} bytes; this is its beginning, and no JSON", whole.len());
    (head(&whole, MOST_BYTES), vec![cut])
}

fn notice(cuts: &[String]) -> Option<String> {
    let (named, more) = cuts.split_at(cuts.len().min(NAMED));
    if named.is_empty() {
        return None;
    }
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    Some(format!(
        "cut: {}{more}. Ask for less, or use the command line with --json, which cuts nothing",
        named.join("; ")
    ))
}

/// Cuts a document in one way.
struct Cutter<'a> {
    letters: usize,
    entries: usize,
    cuts: &'a mut Vec<String>,
}

impl Cutter<'_> {
    fn cut(&mut self, value: &mut Value, path: &str) {
        match value {
            Value::String(text) => self.cut_text(text, path),
            Value::Array(list) => self.cut_list(list, path),
            Value::Object(object) => {
                let most = self.entries.max(KEYS);
                let all = object.len();
                let dropped: Vec<String> = object.keys().skip(most).cloned().collect();
                if !dropped.is_empty() {
                    dropped.iter().for_each(|key| drop(object.remove(key)));
                    self.cuts.push(format!("`{path}` has {all} keys, {most} are shown"));
                }
                for (key, value) in object.iter_mut() {
                    let dot = if path.is_empty() { "" } else { "." };
                    self.cut(value, &format!("{path}{dot}{key}"));
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn cut_text(&mut self, text: &mut String, path: &str) {
        let Some((end, _)) = text.char_indices().nth(self.letters) else { return };
        let all = text.chars().count();
        text.truncate(end);
        text.push('…');
        self.cuts.push(format!("`{path}` has {all} letters, {} are shown", self.letters));
    }

    /// Of a listing the first are kept: the rest is on its next page. Of what grows, the latest.
    fn cut_list(&mut self, list: &mut Vec<Value>, path: &str) {
        let all = list.len();
        if all > self.entries {
            let is_listing = path == "items";
            match is_listing {
                true => list.truncate(self.entries),
                false => drop(list.drain(..all - self.entries)),
            }
            let which = if is_listing { "first" } else { "last" };
            self.cuts.push(format!(
                "`{path}` has {all} entries, the {which} {} are shown",
                self.entries
            ));
        }
        for (number, value) in list.iter_mut().enumerate() {
            self.cut(value, &format!("{path}[{number}]"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_fits_is_not_touched() {
        let document = json!({ "items": [1, "two", { "three": null }] });
        assert_eq!(fitted(&document), (document.to_string(), Vec::new()));
    }

    #[test]
    fn long_texts_are_cut_before_lists_are() {
        let document =
            json!({ "output": "ä".repeat(50_000), "steps": (0..100).collect::<Vec<_>>() });
        let (text, cuts) = fitted(&document);
        let cut: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(cut["steps"].as_array().map(Vec::len), Some(100));
        assert_eq!(cut["output"].as_str().map(|text| text.chars().count()), Some(4_001));
        assert_eq!(cuts, ["`output` has 50000 letters, 4000 are shown"]);
        let notice = notice(&cuts).expect("a notice");
        assert!(notice.starts_with("cut: `output`") && notice.contains("--json"), "{notice}");
    }

    #[test]
    fn of_a_listing_the_first_stay_and_of_what_grows_the_last() {
        let many: Vec<Value> =
            (0..5_000).map(|number| json!({ "n": number, "x": "yyyy" })).collect();
        let (text, cuts) = fitted(&json!({ "items": many }));
        let cut: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(cut["items"][0]["n"], 0, "{cuts:?}");
        let (text, _) = fitted(&json!({ "steps": many }));
        let cut: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(
            cut["steps"].as_array().and_then(|all| all.last()).map(|last| &last["n"]),
            Some(&json!(4_999))
        );
    }

    #[test]
    fn whatever_it_is_the_answer_is_short_enough() {
        let keys: serde_json::Map<String, Value> =
            (0..50_000).map(|number| (number.to_string(), json!([[number]]))).collect();
        let mut deep = json!("x".repeat(MOST_BYTES));
        for _ in 0..60 {
            deep = json!({ "d": [deep, "y".repeat(5_000)] });
        }
        let long_keys = json!({ "k".repeat(MOST_BYTES * 2): 1 });
        for document in [Value::Object(keys), deep, long_keys, json!("z".repeat(1 << 20))] {
            let (text, cuts) = fitted(&document);
            assert!(text.len() <= MOST_BYTES && !cuts.is_empty(), "{} {cuts:?}", text.len());
        }
    }
}
