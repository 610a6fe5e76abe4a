//! What git or jj complained of, for people: the end of it, where the reason is.

use agentos_process::tool::Answer;

use super::bounds::SAID_BYTES;

/// The end of what was complained of, or else of what was said.
pub(super) fn last_words(answer: &Answer) -> String {
    let said = if answer.complaint.trim_ascii().is_empty() && !answer.output.is_empty() {
        String::from_utf8_lossy(&answer.output).trim().to_owned()
    } else {
        answer.complaint_text()
    };
    let said: Vec<&str> = said.lines().filter(|line| !line.starts_with("hint:")).collect();
    let said = said.join("\n");
    let start = said.ceil_char_boundary(said.len().saturating_sub(SAID_BYTES));
    said[start..].trim().to_owned()
}
