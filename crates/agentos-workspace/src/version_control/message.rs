//! The message of a commit with its trailers.
//!
//! Trailers are the last paragraph of a message, and a message may bring some of its own. They are joined here and not by
//! git: git can be configured to write them in other ways, and puts them before lines that begin with its sign for comments.

use super::mark::Mark;
use super::request::NewCommit;

/// What is to be committed as the message, with its mark on a line of its own.
pub(super) fn whole_message(commit: &NewCommit, mark: &Mark) -> String {
    let mut message = commit.message.trim_end().to_owned();
    let trailers = commit.trailers.iter();
    let trailers = trailers.map(|trailer| format!("{}: {}", trailer.key, trailer.value.trim()));
    let own = own_trailers(&message);
    let added: Vec<String> = trailers.filter(|line| !own.contains(&line.as_str())).collect();
    message.push_str(if own.is_empty() { "\n\n" } else { "\n" });
    for line in added.into_iter().chain([mark.line()]) {
        message.push_str(&line);
        message.push('\n');
    }
    message
}

/// The last paragraph, if it is not the first and has only trailers.
fn own_trailers(message: &str) -> Vec<&str> {
    let lines: Vec<&str> = message.lines().map(str::trim_end).collect();
    let Some(end) = lines.iter().rposition(|line| line.is_empty()) else { return Vec::new() };
    let last = &lines[end + 1..];
    let goes_on = |line: &str| line.starts_with([' ', '\t']);
    let is_first_a_trailer = last.first().is_some_and(|line| is_trailer(line));
    if is_first_a_trailer && last.iter().all(|line| is_trailer(line) || goes_on(line)) {
        last.to_vec()
    } else {
        Vec::new()
    }
}

fn is_trailer(line: &str) -> bool {
    let is_key = |key: &str| {
        !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    line.starts_with("(cherry picked from commit ")
        || line.split_once(": ").is_some_and(|(key, value)| is_key(key) && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::request::Trailer;
    use super::*;

    fn whole(message: &str) -> String {
        let trailers = vec![Trailer { key: "By".into(), value: " Ada ".into() }];
        let commit = NewCommit { message: message.into(), trailers, ..NewCommit::default() };
        let mark = Mark::of("run", "operation");
        whole_message(&commit, &mark).replace(&mark.to_string(), "M")
    }

    #[test]
    fn trailers_are_a_paragraph_of_their_own_or_join_one() {
        let end = "By: Ada\nAgentOS-Operation: M\n";
        for alone in
            ["title", "fix: title", "title\n\nbody: of\ntwo lines", "t\n\n# last", "t\n\n  x: y"]
        {
            assert_eq!(whole(alone), format!("{alone}\n\n{end}"));
        }
        for joined in
            ["t\n\nSigned-off-by: Eve", "t\n\nA: b\n  goes on\n(cherry picked from commit 1)"]
        {
            assert_eq!(whole(joined), format!("{joined}\n{end}"));
        }
        assert_eq!(whole("t\n\nBy: Ada\n"), "t\n\nBy: Ada\nAgentOS-Operation: M\n");
    }
}
