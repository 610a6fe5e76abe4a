//! Words of a command line that people are told to type.

use std::borrow::Cow;
use std::path::Path;

/// The text as one word of a shell: as it is if the shell takes it for one, else in quotes.
#[must_use]
pub fn quoted(text: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./=:,@%+".contains(letter);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("'{}'", text.replace('\'', r"'\''")))
}

/// The path as one word of a shell.
#[must_use]
pub fn quoted_path(path: &Path) -> String {
    quoted(&path.to_string_lossy()).into_owned()
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the shell is asked, and waited for")]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_shell_reads_the_word_that_was_meant() {
        for text in ["/a/b-c.d", "", "it's", "a b", "'", "$(x)`y`\"z\"", "-n", "\n", "a\\'b", "~/ä"]
        {
            let line = format!("printf %s {}", quoted(text));
            let said = Command::new("sh").args(["-c", &line]).output().unwrap();
            assert_eq!(String::from_utf8_lossy(&said.stdout), text, "{line}");
        }
        assert_eq!(quoted("/a/b-c.d"), "/a/b-c.d");
    }
}
