//! `[retention]`: how long what is over is kept. Without it everything is kept for ever.

use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::keeping::Age;
use super::setting::{Row, Setting};

/// `[retention]` in the end.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Retention {
    completed: Setting<Age>,
    failed: Setting<Age>,
    cancelled: Setting<Age>,
    logs: Setting<Age>,
    artifacts: Setting<Age>,
}

impl Retention {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            Row::of("retention.artifacts", &self.artifacts),
            Row::of("retention.cancelled", &self.cancelled),
            Row::of("retention.completed", &self.completed),
            Row::of("retention.failed", &self.failed),
            Row::of("retention.logs", &self.logs),
        ]
    }

    /// How long runs that ended so are kept, in milliseconds; none: for ever.
    pub(crate) fn of_status(&self, status: &str) -> Option<i64> {
        match status {
            "COMPLETED" => self.completed.value.ms(),
            "FAILED" | "TIMED_OUT" => self.failed.value.ms(),
            "CANCELLED" => self.cancelled.value.ms(),
            _ => None,
        }
    }

    /// How long the log files of runs that have ended are kept.
    pub(crate) fn logs(&self) -> Option<i64> {
        self.logs.value.ms()
    }

    /// How long their artifacts are.
    pub(crate) fn artifacts(&self) -> Option<i64> {
        self.artifacts.value.ms()
    }
}

/// `[retention]` as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, expecting = "a table")]
pub(super) struct Written {
    completed: Option<Spanned<Age>>,
    failed: Option<Spanned<Age>>,
    cancelled: Option<Spanned<Age>>,
    logs: Option<Spanned<Age>>,
    artifacts: Option<Spanned<Age>>,
}

/// `[retention]` as one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    completed: Option<Setting<Age>>,
    failed: Option<Setting<Age>>,
    cancelled: Option<Setting<Age>>,
    logs: Option<Setting<Age>>,
    artifacts: Option<Setting<Age>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        let said = |age: Option<Spanned<Age>>| age.map(|age| file.setting(age, |age| age));
        Self {
            completed: said(written.completed),
            failed: said(written.failed),
            cancelled: said(written.cancelled),
            logs: said(written.logs),
            artifacts: said(written.artifacts),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            completed: self.completed.or(below.completed),
            failed: self.failed.or(below.failed),
            cancelled: self.cancelled.or(below.cancelled),
            logs: self.logs.or(below.logs),
            artifacts: self.artifacts.or(below.artifacts),
        }
    }

    pub(super) fn or_default(self) -> Retention {
        let for_ever = |age: Option<Setting<Age>>| age.unwrap_or(Setting::default(Age::default()));
        Retention {
            completed: for_ever(self.completed),
            failed: for_ever(self.failed),
            cancelled: for_ever(self.cancelled),
            logs: for_ever(self.logs),
            artifacts: for_ever(self.artifacts),
        }
    }
}
