//! What we say about ourselves, on stderr: `12:03:05 WARN agentos_store: message field=value`, one line each.
//!
//! Which lines is a filter: a level, or levels by module (`warn,agentos_engine=debug`). A wrong filter must not keep
//! anybody from working: it is replaced by `warn` and named in a warning.

use std::fmt;
use std::sync::Arc;

use agentos_engine::clock::Clock;
use agentos_sdk::nearest;
use jiff::tz::TimeZone;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::registry::LookupSpan;

use crate::config::setting::Setting;
use crate::terminal::moment;
use crate::terminal::paint::{Paint, Tone};
use crate::terminal::text::Line;

/// What the lines look like.
#[derive(Clone)]
pub(crate) struct Look {
    /// Where the time comes from.
    pub(crate) clock: Arc<dyn Clock>,
    /// In which zone it is written.
    pub(crate) zone: TimeZone,
    /// How it is coloured.
    pub(crate) paint: Paint,
}

/// Begins to write what passes the filter. Who has set up logging before keeps it.
pub(crate) fn start<W>(filter: &Setting<String>, look: Look, writer: W)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let (filter, doubt) = read(filter);
    if tracing::subscriber::set_global_default(subscriber(filter, look, writer)).is_ok() {
        mention(doubt.as_deref());
    }
}

fn mention(doubt: Option<&str>) {
    if let Some(doubt) = doubt {
        tracing::warn!("{doubt}");
    }
}

fn subscriber<W>(filter: EnvFilter, look: Look, writer: W) -> impl Subscriber + Send + Sync
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(writer)
        .event_format(look)
        .finish()
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// The filter, and what is doubtful about it.
fn read(filter: &Setting<String>) -> (EnvFilter, Option<String>) {
    let Setting { value, origin } = filter;
    match EnvFilter::try_new(value) {
        Ok(read) => match misspelt(value) {
            None => (read, None),
            Some((word, level)) => {
                let doubt = format!(
                    "the log filter `{value}` ({origin}) names a module `{word}`; did you mean the level `{level}`? \
                     Using `warn`"
                );
                (EnvFilter::new("warn"), Some(doubt))
            }
        },
        Err(error) => {
            let doubt = format!(
                "the log filter `{value}` ({origin}) is wrong: {error}; using `warn`. Write a level \
                 (`info`), or levels by module (`warn,agentos_engine=debug`)"
            );
            (EnvFilter::new("warn"), Some(doubt))
        }
    }
}

/// A bare word is a level or else a module. One that looks like a level would silence everything else.
fn misspelt(filter: &str) -> Option<(&str, &'static str)> {
    let words = filter.split(',').map(str::trim);
    let mut bare = words.filter(|word| !word.contains(['=', '[']) && !word.starts_with("agentos"));
    bare.find_map(|word| {
        let is_level = LEVELS.iter().any(|level| level.eq_ignore_ascii_case(word));
        let meant = nearest(word, &LEVELS).filter(|_| !is_level)?;
        Some((word, meant))
    })
}

impl<S, N> FormatEvent<S, N> for Look
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut said = String::new();
        context.format_fields(Writer::new(&mut said), event)?;
        let level = event.metadata().level();
        let line = Line::of(Tone::Faint, &moment::clock(self.clock.now(), &self.zone))
            .with(Tone::Plain, " ")
            .with(tone(*level), level.as_str())
            .with(Tone::Faint, &format!(" {}: ", event.metadata().target()))
            .with(Tone::Plain, &said);
        writeln!(writer, "{}", line.painted(self.paint))
    }
}

const fn tone(level: Level) -> Tone {
    match level {
        Level::ERROR => Tone::Bad,
        Level::WARN => Tone::Warning,
        Level::INFO => Tone::Good,
        _ => Tone::Faint,
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::Mutex;

    use agentos_core::time::Timestamp;
    use agentos_engine::clock::{Reading, Until};

    use super::*;
    use crate::config::setting::Origin;
    use crate::terminal::fixture::{COLORED_PAINT, START};

    struct Stopped;

    impl Clock for Stopped {
        fn read(&self) -> Reading {
            Reading { wall_us: START.0 * 1_000, steady_us: 0 }
        }

        fn sleep_until(&self, _: Timestamp) -> Until {
            Box::pin(std::future::ready(()))
        }
    }

    /// What was written.
    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(filter: &str, paint: Paint, says: impl Fn()) -> String {
        let page = Page::default();
        let writer = page.clone();
        let look = Look { clock: Arc::new(Stopped), zone: TimeZone::UTC, paint };
        let filter =
            Setting { value: filter.to_owned(), origin: Origin::Environment("AGENTOS_LOG") };
        let (filter, doubt) = read(&filter);
        let subscriber = subscriber(filter, look, move || writer.clone());
        tracing::subscriber::with_default(subscriber, || {
            mention(doubt.as_deref());
            says();
        });
        let bytes = page.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    fn says() {
        tracing::error!(target: "agentos_store", code = 5, "disk \x1b[2Jfull\nreally");
        tracing::warn!(target: "hyper", "slow");
        tracing::info!(target: "agentos_engine", run = "ci-abcdef", "claimed");
        tracing::debug!(target: "agentos_engine::drive", "turn");
        tracing::info!(target: "hyper", "connected");
    }

    #[test]
    fn a_line_has_time_level_place_and_fields() {
        insta::assert_snapshot!(written("warn,agentos=info", Paint::PLAIN, says), @r#"
        12:03:05 ERROR agentos_store: disk \x1b[2Jfull really code=5
        12:03:05 WARN hyper: slow
        12:03:05 INFO agentos_engine: claimed run="ci-abcdef"
        "#);
    }

    #[test]
    fn the_level_is_coloured_where_colours_are_wanted() {
        let text = written("error", *COLORED_PAINT, says);
        assert!(text.contains("\x1b[31mERROR\x1b[0m"), "{text:?}");
    }

    #[test]
    fn a_wrong_filter_is_a_warning_that_names_it() {
        insta::assert_snapshot!(written("agentos=loud", Paint::PLAIN, || ()), @r#"
        12:03:05 WARN agentos::logging: the log filter `agentos=loud` (environment AGENTOS_LOG) is wrong: error parsing level filter: expected one of "off", "error", "warn", "info", "debug", "trace", or a number 0-5; using `warn`. Write a level (`info`), or levels by module (`warn,agentos_engine=debug`)
        "#);
        insta::assert_snapshot!(written("inof", Paint::PLAIN, || ()), @r#"
        12:03:05 WARN agentos::logging: the log filter `inof` (environment AGENTOS_LOG) names a module `inof`; did you mean the level `info`? Using `warn`
        "#);
        assert_eq!(written("INFO,my_module,agentos_engine=debug", Paint::PLAIN, || ()), "");
    }
}
