//! The part of `[workspace]` that is about what becomes of workspaces: when they go, and what is kept of them.

use agentos_workspace::workspace::backup::{self, Keeping as Kept};
use agentos_workspace::workspace::limits::Limits;
use agentos_workspace::workspace::survey::reproducible::Reproducible;
use serde::Deserialize;
use toml::Spanned;

use super::file::File;
use super::setting::{Row, Setting};

/// An amount of disk, as it is written. Empty: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Size {
    text: String,
    bytes: Option<u64>,
}

/// A length of time, as it is written. Empty: no limit.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Age {
    text: String,
    ms: Option<i64>,
}

impl Age {
    /// The same in milliseconds; none if there is no limit.
    pub(crate) const fn ms(&self) -> Option<i64> {
        self.ms
    }
}

impl TryFrom<String> for Size {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const WRONG: &str = "must be a size: a number and B, kB, MB, GB, TB, KiB, MiB, GiB or TiB";
        let bytes = amount(&text, |unit| {
            Some(match unit {
                "B" => 1,
                "kB" => 1_000,
                "MB" => 1_000_000,
                "GB" => 1_000_000_000,
                "TB" => 1_000_000_000_000,
                "KiB" => 1 << 10,
                "MiB" => 1 << 20,
                "GiB" => 1 << 30,
                "TiB" => 1 << 40,
                _ => return None,
            })
        });
        Ok(Self { bytes: bytes.ok_or(WRONG)?, text })
    }
}

impl TryFrom<String> for Age {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        const WRONG: &str = "must be a time: a number and m, h, d or w";
        let ms = amount(&text, |unit| {
            Some(match unit {
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                "w" => 604_800_000,
                _ => return None,
            })
        });
        let ms = ms.ok_or(WRONG)?.map(i64::try_from).transpose().map_err(|_| WRONG)?;
        Ok(Self { ms, text })
    }
}

/// A number and its unit; nothing at all is no limit.
fn amount(text: &str, unit: impl Fn(&str) -> Option<u64>) -> Option<Option<u64>> {
    let text = text.trim();
    if text.is_empty() {
        return Some(None);
    }
    let at = text.find(|letter: char| !letter.is_ascii_digit())?;
    let (number, name) = text.split_at(at);
    number.parse::<u64>().ok()?.checked_mul(unit(name.trim())?).map(Some)
}

impl From<Size> for toml::Value {
    fn from(size: Size) -> Self {
        size.text.into()
    }
}

impl From<Age> for toml::Value {
    fn from(age: Age) -> Self {
        age.text.into()
    }
}

/// What becomes of workspaces.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Keeping {
    /// Whether a run's workspace goes when the run ends.
    pub(crate) cleanup_on_complete: Setting<bool>,
    max_size: Setting<Size>,
    max_total_size: Setting<Size>,
    max_age: Setting<Age>,
    min_free_disk: Setting<Size>,
    backup_max_size: Setting<Size>,
    keep_backups: Setting<Age>,
    reproducible: Setting<Vec<String>>,
}

impl Keeping {
    pub(super) fn rows(&self) -> Vec<Row> {
        vec![
            Row::of("workspace.backup_max_size", &self.backup_max_size),
            Row::of("workspace.cleanup_on_complete", &self.cleanup_on_complete),
            Row::of("workspace.keep_backups", &self.keep_backups),
            Row::of("workspace.max_age", &self.max_age),
            Row::of("workspace.max_size", &self.max_size),
            Row::of("workspace.max_total_size", &self.max_total_size),
            Row::of("workspace.min_free_disk", &self.min_free_disk),
            Row::of("workspace.reproducible", &self.reproducible),
        ]
    }

    /// What workspaces may take.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            max_size: self.max_size.value.bytes,
            max_total_size: self.max_total_size.value.bytes,
            max_age_ms: self.max_age.value.ms,
            min_free_disk: self.min_free_disk.value.bytes,
        }
    }

    /// How long backups are kept, in milliseconds; none: for ever.
    pub(crate) fn keep_backups_ms(&self) -> Option<i64> {
        self.keep_backups.value.ms
    }

    /// What is kept of one.
    pub(crate) fn kept(&self) -> Kept {
        Kept {
            reproducible: Reproducible::default().and(self.reproducible.value.iter().cloned()),
            archive_bytes: self.backup_max_size.value.bytes.unwrap_or(u64::MAX),
        }
    }
}

/// As it is written.
#[derive(Debug, Default)]
pub(super) struct Written {
    pub(super) cleanup_on_complete: Option<Spanned<bool>>,
    pub(super) max_size: Option<Spanned<Size>>,
    pub(super) max_total_size: Option<Spanned<Size>>,
    pub(super) max_age: Option<Spanned<Age>>,
    pub(super) min_free_disk: Option<Spanned<Size>>,
    pub(super) backup_max_size: Option<Spanned<Size>>,
    pub(super) keep_backups: Option<Spanned<Age>>,
    pub(super) reproducible: Option<Spanned<Vec<String>>>,
}

/// As one source says it.
#[derive(Debug, Default)]
pub(super) struct Layer {
    cleanup_on_complete: Option<Setting<bool>>,
    max_size: Option<Setting<Size>>,
    max_total_size: Option<Setting<Size>>,
    max_age: Option<Setting<Age>>,
    min_free_disk: Option<Setting<Size>>,
    backup_max_size: Option<Setting<Size>>,
    keep_backups: Option<Setting<Age>>,
    reproducible: Option<Setting<Vec<String>>>,
}

impl Layer {
    pub(super) fn of_file(written: Written, file: &File) -> Self {
        fn same<T>(value: T) -> T {
            value
        }
        Self {
            cleanup_on_complete: written.cleanup_on_complete.map(|said| file.setting(said, same)),
            max_size: written.max_size.map(|said| file.setting(said, same)),
            max_total_size: written.max_total_size.map(|said| file.setting(said, same)),
            max_age: written.max_age.map(|said| file.setting(said, same)),
            min_free_disk: written.min_free_disk.map(|said| file.setting(said, same)),
            backup_max_size: written.backup_max_size.map(|said| file.setting(said, same)),
            keep_backups: written.keep_backups.map(|said| file.setting(said, same)),
            reproducible: written.reproducible.map(|said| file.setting(said, same)),
        }
    }

    pub(super) fn over(self, below: Self) -> Self {
        Self {
            cleanup_on_complete: self.cleanup_on_complete.or(below.cleanup_on_complete),
            max_size: self.max_size.or(below.max_size),
            max_total_size: self.max_total_size.or(below.max_total_size),
            max_age: self.max_age.or(below.max_age),
            min_free_disk: self.min_free_disk.or(below.min_free_disk),
            backup_max_size: self.backup_max_size.or(below.backup_max_size),
            keep_backups: self.keep_backups.or(below.keep_backups),
            reproducible: self.reproducible.or(below.reproducible),
        }
    }

    pub(super) fn or_default(self) -> Keeping {
        let size = |said: Option<Setting<Size>>| said.unwrap_or(Setting::default(Size::default()));
        let archive = Size {
            text: format!("{}MiB", backup::ARCHIVE_BYTES >> 20),
            bytes: Some(backup::ARCHIVE_BYTES),
        };
        Keeping {
            cleanup_on_complete: self.cleanup_on_complete.unwrap_or(Setting::default(false)),
            max_size: size(self.max_size),
            max_total_size: size(self.max_total_size),
            max_age: self.max_age.unwrap_or(Setting::default(Age::default())),
            min_free_disk: size(self.min_free_disk),
            backup_max_size: self.backup_max_size.unwrap_or(Setting::default(archive)),
            keep_backups: self.keep_backups.unwrap_or(Setting::default(Age::default())),
            reproducible: self.reproducible.unwrap_or(Setting::default(Vec::new())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_have_units() {
        let size = |text: &str| Size::try_from(text.to_owned()).map(|size| size.bytes);
        assert_eq!(size("").unwrap(), None);
        assert_eq!(size("20 GB").unwrap(), Some(20_000_000_000));
        assert_eq!(size("256MiB").unwrap(), Some(256 << 20));
        assert_eq!(size("0B").unwrap(), Some(0));
        let age = |text: &str| Age::try_from(text.to_owned()).map(|age| age.ms);
        assert_eq!(age("14d").unwrap(), Some(14 * 86_400_000));
        for wrong in ["20", "GB", "-1 GB", "1.5 GB", "1 gb", "99999999999 TB"] {
            assert!(size(wrong).is_err(), "{wrong}");
            assert!(age(wrong).is_err(), "{wrong}");
        }
    }
}
