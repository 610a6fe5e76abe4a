//! A crate's manifest, as far as the arrows between crates need it.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::{Spanned, Value};

type Table = BTreeMap<Spanned<String>, Value>;

/// What the manifest of one crate says.
pub(crate) struct Manifest {
    /// The package's name.
    pub(crate) name: String,
    /// Every dependency in every section.
    pub(crate) dependencies: Vec<Dependency>,
}

/// One line of a dependency section.
pub(crate) struct Dependency {
    /// The package, also where it is used under another name.
    pub(crate) package: String,
    /// Whether only tests and benches see it.
    pub(crate) is_dev: bool,
    /// Counted from one.
    pub(crate) line: usize,
}

#[derive(Deserialize)]
struct Raw {
    package: RawPackage,
    #[serde(default)]
    target: BTreeMap<String, RawSections>,
}

#[derive(Deserialize)]
struct RawPackage {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct RawSections {
    #[serde(default)]
    dependencies: Table,
    #[serde(default)]
    dev_dependencies: Table,
    #[serde(default)]
    build_dependencies: Table,
}

/// The names that the root manifest gives to packages, for `name.workspace = true`.
#[derive(Default)]
pub(crate) struct WorkspaceNames(BTreeMap<String, String>);

impl WorkspaceNames {
    /// Reads `[workspace.dependencies]`; a root without it names nothing.
    pub(crate) fn parse(root: &str) -> Result<Self, toml::de::Error> {
        let root: toml::Table = toml::from_str(root)?;
        let shared = root.get("workspace").and_then(|workspace| workspace.get("dependencies"));
        let names = shared.and_then(Value::as_table).into_iter().flatten();
        Ok(Self(names.filter_map(|(name, value)| Some((name.clone(), renamed(value)?))).collect()))
    }
}

impl Manifest {
    /// Reads a crate's manifest.
    pub(crate) fn parse(text: &str, shared: &WorkspaceNames) -> Result<Self, toml::de::Error> {
        let raw: Raw = toml::from_str(text)?;
        // Read apart from the rest, because serde's `flatten` would lose the lines.
        let own: RawSections = toml::from_str(text)?;
        let dependencies = std::iter::once(&own)
            .chain(raw.target.values())
            .flat_map(|sections| sections.all())
            .map(|(name, value, is_dev)| Dependency {
                package: package(name.get_ref(), value, shared),
                is_dev,
                line: line_of(text, name.span().start),
            })
            .collect();
        Ok(Self { name: raw.package.name, dependencies })
    }
}

impl RawSections {
    fn all(&self) -> impl Iterator<Item = (&Spanned<String>, &Value, bool)> {
        let seen_by_the_crate = self.dependencies.iter().chain(&self.build_dependencies);
        seen_by_the_crate
            .map(|(name, value)| (name, value, false))
            .chain(self.dev_dependencies.iter().map(|(name, value)| (name, value, true)))
    }
}

fn package(name: &str, value: &Value, shared: &WorkspaceNames) -> String {
    renamed(value).or_else(|| shared.0.get(name).cloned()).unwrap_or_else(|| name.to_owned())
}

fn renamed(value: &Value) -> Option<String> {
    Some(value.get("package")?.as_str()?.to_owned())
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_section_is_read_and_renaming_hides_nothing() {
        let text = r#"[package]
name = "agentos-core"
version.workspace = true

[dependencies]
serde.workspace = true
quiet = { package = "tokio", version = "1" }
shared.workspace = true

[dev-dependencies]
proptest = "1"

[target.'cfg(unix)'.dependencies]
libc = "0.2"
"#;
        let root = "[workspace.dependencies]\nshared = { package = \"rusqlite\", version = \"1\" }\nserde = \"1\"\n";
        let shared = WorkspaceNames::parse(root).unwrap();
        let manifest = Manifest::parse(text, &shared).unwrap();
        let mut seen: Vec<(usize, &str, bool)> = manifest
            .dependencies
            .iter()
            .map(|dependency| (dependency.line, dependency.package.as_str(), dependency.is_dev))
            .collect();
        seen.sort_unstable();
        assert_eq!(manifest.name, "agentos-core");
        assert_eq!(
            seen,
            [
                (6, "serde", false),
                (7, "tokio", false),
                (8, "rusqlite", false),
                (11, "proptest", true),
                (14, "libc", false)
            ]
        );
    }
}
