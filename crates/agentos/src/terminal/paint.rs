//! Whether output is coloured and which signs it may use: decided once, then passed along as a [`Paint`].
//!
//! Sixteen colours only: they follow the user's own palette, light or dark.

use clap::ValueEnum;
use serde::Deserialize;

use super::{Environment, variable};

/// When output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ColorChoice {
    /// On a terminal.
    #[default]
    Auto,
    /// Everywhere.
    Always,
    /// Nowhere.
    Never,
}

impl ColorChoice {
    /// The spelling in files and flags.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Always => "always",
            Self::Never => "never",
        }
    }

    /// Reads the spelling.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        [Self::Auto, Self::Always, Self::Never].into_iter().find(|choice| choice.as_str() == text)
    }

    /// What the variables that all programs share ask for, and which of them does.
    pub(crate) fn asked_by(environment: &Environment) -> Option<(Self, &'static str)> {
        if variable(environment, "NO_COLOR").is_some() {
            return Some((Self::Never, "NO_COLOR"));
        }
        let forced = variable(environment, "CLICOLOR_FORCE").is_some_and(|value| value != "0");
        forced.then_some((Self::Always, "CLICOLOR_FORCE"))
    }
}

/// What a piece of text means; the colour follows from that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// As it is.
    Plain,
    /// A name to look at first.
    Strong,
    /// Less important than what is around it.
    Faint,
    /// It went well.
    Good,
    /// It did not.
    Bad,
    /// Something is under way.
    Busy,
    /// Somebody should look.
    Warning,
}

impl Tone {
    /// The codes of "select graphic rendition".
    const fn codes(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Faint => Some("2"),
            Self::Good => Some("32"),
            Self::Bad => Some("31"),
            Self::Busy => Some("36"),
            Self::Warning => Some("33"),
        }
    }
}

/// How text is written to one stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Paint {
    colored: bool,
    unicode: bool,
}

impl Paint {
    /// No colours, all signs.
    pub(crate) const PLAIN: Self = Self { colored: false, unicode: true };

    /// Decides for a stream. Under `auto` the environment is asked first, then the stream.
    pub(crate) fn decide(
        choice: ColorChoice,
        environment: &Environment,
        is_terminal: bool,
    ) -> Self {
        let asked = ColorChoice::asked_by(environment).map_or(choice, |(asked, _)| asked);
        let colored = match if choice == ColorChoice::Auto { asked } else { choice } {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => is_terminal && variable(environment, "TERM") != Some("dumb"),
        };
        Self { colored, unicode: speaks_utf8(environment) }
    }

    /// Whether there are colours.
    pub(crate) const fn is_colored(self) -> bool {
        self.colored
    }

    /// Whether signs outside of ASCII can be shown.
    pub(crate) const fn is_unicode(self) -> bool {
        self.unicode
    }

    /// What stands for text that was cut off.
    pub(crate) const fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "..." }
    }

    /// Adds text that is known to be harmless.
    pub(super) fn write(self, to: &mut String, tone: Tone, text: &str) {
        match tone.codes().filter(|_| self.colored && !text.is_empty()) {
            Some(codes) => {
                to.push_str("\x1b[");
                to.push_str(codes);
                to.push('m');
                to.push_str(text);
                to.push_str("\x1b[0m");
            }
            None => to.push_str(text),
        }
    }
}

/// The first of the three that is set decides, as in the C library; none of them means ASCII.
fn speaks_utf8(environment: &Environment) -> bool {
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| variable(environment, name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

#[cfg(test)]
mod tests {
    use super::super::fixture::environment;
    use super::*;

    fn colored(choice: ColorChoice, variables: &[(&str, &str)], is_terminal: bool) -> bool {
        Paint::decide(choice, &environment(variables), is_terminal).colored
    }

    #[test]
    fn a_terminal_is_coloured_and_a_pipe_is_not() {
        assert!(colored(ColorChoice::Auto, &[("TERM", "xterm")], true));
        assert!(!colored(ColorChoice::Auto, &[("TERM", "xterm")], false));
        assert!(!colored(ColorChoice::Auto, &[("TERM", "dumb")], true));
    }

    #[test]
    fn the_flag_beats_the_environment_and_the_environment_beats_the_terminal() {
        assert!(!colored(ColorChoice::Auto, &[("NO_COLOR", "1")], true));
        assert!(colored(ColorChoice::Auto, &[("NO_COLOR", "")], true));
        assert!(colored(ColorChoice::Always, &[("NO_COLOR", "1")], false));
        assert!(colored(ColorChoice::Auto, &[("CLICOLOR_FORCE", "1")], false));
        assert!(!colored(ColorChoice::Auto, &[("CLICOLOR_FORCE", "0")], false));
        assert!(!colored(ColorChoice::Never, &[("CLICOLOR_FORCE", "1")], true));
        assert!(!colored(ColorChoice::Auto, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")], true));
    }

    #[test]
    fn signs_follow_the_locale() {
        let unicode = |variables: &[(&str, &str)]| {
            Paint::decide(ColorChoice::Auto, &environment(variables), true).unicode
        };
        assert!(unicode(&[("LANG", "de_DE.UTF-8")]));
        assert!(unicode(&[("LC_ALL", "C.utf8"), ("LANG", "C")]));
        assert!(!unicode(&[("LC_ALL", "C"), ("LANG", "de_DE.UTF-8")]));
        assert!(!unicode(&[]));
    }
}
