//! How large the terminal is. Asked before every frame: people resize it.

use std::os::fd::AsFd;

use super::{Environment, variable};

/// Columns and rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    /// Columns, at least 1.
    pub(crate) width: usize,
    /// Rows, at least 1.
    pub(crate) height: usize,
}

/// What terminals had when nobody says.
const USUAL: Size = Size { width: 80, height: 24 };

/// Wider and higher than any screen; beyond it somebody has made a mistake.
const MOST: usize = 10_000;

impl Size {
    /// The size of the terminal behind a stream. `COLUMNS` and `LINES` win; what nobody knows is as usual.
    pub(crate) fn of(stream: impl AsFd, environment: &Environment) -> Self {
        let said = rustix::termios::tcgetwinsize(stream).ok();
        let said = said.map(|size| (usize::from(size.ws_col), usize::from(size.ws_row)));
        Self::decide(environment, said)
    }

    /// Some pseudo terminals say 0: they do not know.
    fn decide(environment: &Environment, said: Option<(usize, usize)>) -> Self {
        let number = |name| variable(environment, name)?.parse().ok();
        let sane = |count: &usize| (1..=MOST).contains(count);
        let (width, height) = said.unzip();
        Self {
            width: number("COLUMNS").filter(sane).or(width.filter(sane)).unwrap_or(USUAL.width),
            height: number("LINES").filter(sane).or(height.filter(sane)).unwrap_or(USUAL.height),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::environment;
    use super::*;

    #[test]
    fn variables_win_over_the_terminal_and_nonsense_over_nothing() {
        let decide = |variables: &[(&str, &str)], said| {
            let size = Size::decide(&environment(variables), said);
            (size.width, size.height)
        };
        assert_eq!(decide(&[], Some((120, 40))), (120, 40));
        assert_eq!(decide(&[("COLUMNS", "20")], Some((120, 40))), (20, 40));
        assert_eq!(decide(&[("COLUMNS", "-3"), ("LINES", "no")], Some((0, 0))), (80, 24));
        assert_eq!(decide(&[("LINES", "99999999")], None), (80, 24));
    }

    #[test]
    fn a_file_is_no_terminal_and_has_the_usual_size() {
        let file = tempfile::tempfile().unwrap();
        assert_eq!(Size::of(&file, &environment(&[])), USUAL);
    }
}
