//! Text that goes to a forge, within its limits.

use crate::pull_request::{BODY_BYTES, Mark, NewPullRequest, TITLE_CHARS};

/// What a body that was too long ends with.
const CUT: &str = "\n\n… (the rest is left out: too long)";

/// A title on one line.
pub(crate) fn title(wanted: &NewPullRequest) -> String {
    let line = wanted.title.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A body with its mark.
pub(crate) fn body(text: &str, mark: &Mark) -> String {
    let mark = format!("\n\n{mark}");
    let room = BODY_BYTES.saturating_sub(mark.len());
    if text.len() <= room {
        return format!("{text}{mark}");
    }
    let end = text.floor_char_boundary(room.saturating_sub(CUT.len()));
    format!("{}{CUT}{mark}", &text[..end])
}

/// A part of an address.
pub(crate) fn encoded(part: &str) -> String {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'~');
    part.bytes().fold(String::with_capacity(part.len()), |mut so_far, byte| {
        match plain(byte) {
            true => so_far.push(char::from(byte)),
            false => so_far.push_str(&format!("%{byte:02X}")),
        }
        so_far
    })
}

#[cfg(test)]
mod tests {
    use super::{body, encoded};
    use crate::pull_request::{BODY_BYTES, Mark};

    #[test]
    fn a_body_that_is_too_long_is_cut_and_keeps_its_mark() {
        let mark = Mark::new("run/git:pr#1");
        let cut = body(&"ä".repeat(BODY_BYTES), &mark);
        assert!(
            cut.len() <= BODY_BYTES && mark.is_in(&cut) && cut.contains("left out"),
            "{}",
            cut.len()
        );
        assert_eq!(body("short", &mark), format!("short\n\n{mark}"));
    }

    #[test]
    fn a_mark_can_not_end_its_comment() {
        assert_eq!(Mark::new("a --> <script>b").to_string(), "<!-- agentos: a--scriptb -->");
    }

    #[test]
    fn what_means_something_in_an_address_is_encoded() {
        assert_eq!(encoded("feat/a b&c=ä"), "feat%2Fa%20b%26c%3D%C3%A4");
    }
}
