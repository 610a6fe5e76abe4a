//! Which crate may see which: the arrows of docs/architecture.md, checked against the manifests.
//!
//! A crate exists because it must not see something. The core stays pure because it cannot reach a
//! clock, a thread or a file even by accident; the server stays thin because it cannot reach a
//! database. A new arrow is a decision about the architecture, so it is made here, in [`CRATES`],
//! where a reviewer sees it.

use super::finding::Finding;
use super::manifest::{Dependency, Manifest, WorkspaceNames};
use super::tree::{CrateFolder, Tree};

const RULE: &str = "arrows";

/// May be a dev-dependency of every crate, and a normal dependency of none.
const TESTING: &str = "agentos-testing";

type Packages = &'static [&'static str];

/// What one crate may and must not see.
struct Crate {
    name: &'static str,
    /// The crates of this workspace that it may depend on.
    may_use: Packages,
    /// Outside packages that it must not depend on.
    must_not_use: &'static [Packages],
}

// Outside packages by what they bring in. A `*` at the end stands for anything.

const WAITING: Packages =
    &["tokio*", "async-*", "futures*", "smol", "rayon", "crossbeam*", "parking_lot"];
const DATABASES: Packages = &["rusqlite", "tokio-postgres", "postgres*", "deadpool*", "sqlx*"];
const NETWORKS: Packages = &["reqwest", "hyper*", "axum*", "tower*", "octocrab"];
const FILES_AND_PROCESSES: Packages =
    &["fs-err", "cap-std", "tempfile", "walkdir", "ignore", "dirs", "rustix", "nix", "libc"];
const CHANCE_AND_CLOCKS: Packages = &["rand", "getrandom", "fastrand", "chrono", "time", "jiff"];

/// A run is replayed from its log alone: whatever waits, reads the world, or answers differently
/// the second time would break that.
const IMPURE: &[Packages] = &[WAITING, DATABASES, NETWORKS, FILES_AND_PROCESSES, CHANCE_AND_CLOCKS];

const CRATES: &[Crate] = &[
    Crate { name: "agentos-core", may_use: &[], must_not_use: IMPURE },
    Crate { name: "agentos-store", may_use: &["agentos-core"], must_not_use: &[] },
    Crate { name: "agentos-process", may_use: &[], must_not_use: &[DATABASES] },
    Crate {
        name: "agentos-workspace",
        may_use: &["agentos-process", "agentos-core"],
        must_not_use: &[DATABASES],
    },
    Crate {
        name: "agentos-agent",
        may_use: &["agentos-process", "agentos-core"],
        must_not_use: &[DATABASES],
    },
    Crate { name: "agentos-forge", may_use: &[], must_not_use: &[DATABASES, FILES_AND_PROCESSES] },
    Crate {
        name: "agentos-script",
        may_use: &["agentos-core"],
        must_not_use: &[WAITING, DATABASES],
    },
    Crate { name: "agentos-sdk", may_use: &["agentos-core"], must_not_use: IMPURE },
    Crate {
        name: "agentos-engine",
        may_use: &[
            "agentos-store",
            "agentos-script",
            "agentos-sdk",
            "agentos-workspace",
            "agentos-agent",
            "agentos-forge",
            "agentos-process",
            "agentos-core",
        ],
        must_not_use: &[DATABASES],
    },
    Crate {
        name: "agentos-server",
        may_use: &["agentos-engine", "agentos-store", "agentos-core"],
        must_not_use: &[DATABASES],
    },
    Crate {
        name: "agentos",
        may_use: &[
            "agentos-server",
            "agentos-engine",
            "agentos-store",
            "agentos-script",
            "agentos-sdk",
            "agentos-workspace",
            "agentos-agent",
            "agentos-process",
            "agentos-core",
        ],
        must_not_use: &[DATABASES],
    },
    Crate { name: TESTING, may_use: &["agentos-core", "agentos-store"], must_not_use: &[] },
];

/// Checks the manifest of every crate under `crates/`.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let root = tree.text("Cargo.toml").unwrap_or_default();
    match WorkspaceNames::parse(root) {
        Ok(shared) => tree.crates().flat_map(|found| check_manifest(&found, &shared)).collect(),
        Err(error) => vec![Finding::error("Cargo.toml", 1, RULE, not_a_manifest(&error))],
    }
}

fn check_manifest(found: &CrateFolder<'_>, shared: &WorkspaceNames) -> Vec<Finding> {
    let finding = |line, what| Finding::error(found.manifest_path, line, RULE, what);
    let manifest = match Manifest::parse(found.manifest, shared) {
        Ok(manifest) => manifest,
        Err(error) => return vec![finding(1, not_a_manifest(&error))],
    };
    let name = &manifest.name;
    let Some(this) = CRATES.iter().find(|known| known.name == name) else {
        let what = format!("unknown crate `{name}`; say in arrows.rs what it may depend on");
        return vec![finding(1, what)];
    };
    let misnamed = (found.folder != name).then(|| {
        let folder = found.folder;
        let what =
            format!("the folder is called `{folder}` and the crate `{name}`; give them one name");
        finding(1, what)
    });
    let wrong = manifest
        .dependencies
        .iter()
        .filter_map(|dependency| Some(finding(dependency.line, complaint(this, dependency)?)));
    misnamed.into_iter().chain(wrong).collect()
}

fn not_a_manifest(error: &toml::de::Error) -> String {
    format!("not a manifest ({}); repair it", error.message())
}

fn complaint(this: &Crate, dependency: &Dependency) -> Option<String> {
    let package = dependency.package.as_str();
    let name = this.name;
    if package == TESTING {
        return (!dependency.is_dev)
            .then(|| format!("{TESTING} is for tests only; move it to [dev-dependencies]"));
    }
    if is_internal(package) {
        return (!this.may_use.contains(&package)).then(|| {
            format!("{name} must not see {package}; turn the arrow around, or argue in arrows.rs")
        });
    }
    // Tests may use what they like: it is not in the product.
    let mut forbidden = this.must_not_use.iter().copied().flatten();
    (!dependency.is_dev && forbidden.any(|pattern| matches(pattern, package)))
        .then(|| format!("{name} must not see {package}; do it in the crate that may"))
}

fn is_internal(package: &str) -> bool {
    package == "agentos" || package.starts_with("agentos-")
}

fn matches(pattern: &str, package: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(start) => package.starts_with(start),
        None => package == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture;
    use super::*;

    fn findings(folder: &str, dependencies: &str) -> Vec<String> {
        let path = format!("crates/{folder}/Cargo.toml");
        let text = format!("[package]\nname = \"{folder}\"\n{dependencies}");
        fixture::shown(&check(&fixture::tree(&[(&path, &text)])))
    }

    #[test]
    fn the_drawn_arrows_pass() {
        let allowed = "[dependencies]\nagentos-core.workspace = true\nrusqlite = \"1\"\ntokio = \"1\"\n\
                       [dev-dependencies]\nagentos-testing.workspace = true\n";
        assert!(findings("agentos-store", allowed).is_empty());
        let allowed = "[dependencies]\nrand_xoshiro = \"0.7\"\n[dev-dependencies]\nagentos-testing = \"0\"\ntokio = \"1\"\n";
        assert!(findings("agentos-core", allowed).is_empty());
    }

    #[test]
    fn the_core_sees_no_other_crate_and_no_runtime() {
        assert_eq!(
            findings(
                "agentos-core",
                "[dependencies]\nagentos-store = \"0\"\nasync-trait = \"0.1\"\nrand = \"0.9\"\n"
            ),
            [
                "crates/agentos-core/Cargo.toml:4: arrows: agentos-core must not see agentos-store; \
                 turn the arrow around, or argue in arrows.rs",
                "crates/agentos-core/Cargo.toml:5: arrows: agentos-core must not see async-trait; do it in the crate that may",
                "crates/agentos-core/Cargo.toml:6: arrows: agentos-core must not see rand; do it in the crate that may",
            ]
        );
    }

    #[test]
    fn the_server_reaches_no_database_even_by_another_name() {
        assert_eq!(
            findings(
                "agentos-server",
                "[dependencies]\ndb = { package = \"tokio-postgres\", version = \"1\" }\n"
            ),
            [
                "crates/agentos-server/Cargo.toml:4: arrows: agentos-server must not see tokio-postgres; \
              do it in the crate that may"
            ]
        );
    }

    #[test]
    fn the_testing_crate_stays_out_of_the_product() {
        assert_eq!(
            findings("agentos-engine", "[dependencies]\nagentos-testing = \"0\"\n"),
            [
                "crates/agentos-engine/Cargo.toml:4: arrows: agentos-testing is for tests only; move it to [dev-dependencies]"
            ]
        );
    }

    #[test]
    fn even_tests_may_not_turn_an_arrow_around() {
        let found = findings("agentos-agent", "[dev-dependencies]\nagentos-workspace = \"0\"\n");
        assert!(found[0].contains("agentos-agent must not see agentos-workspace"), "{found:?}");
    }

    #[test]
    fn an_unknown_crate_must_be_introduced() {
        assert_eq!(
            findings("agentos-new", ""),
            [
                "crates/agentos-new/Cargo.toml:1: arrows: unknown crate `agentos-new`; say in arrows.rs what it may depend on"
            ]
        );
    }

    #[test]
    fn a_folder_is_called_like_its_crate() {
        let tree =
            fixture::tree(&[("crates/core/Cargo.toml", "[package]\nname = \"agentos-core\"\n")]);
        assert_eq!(
            fixture::shown(&check(&tree)),
            [
                "crates/core/Cargo.toml:1: arrows: the folder is called `core` and the crate `agentos-core`; \
              give them one name"
            ]
        );
    }

    #[test]
    fn a_broken_manifest_is_a_finding() {
        let found = fixture::shown(&check(&fixture::tree(&[(
            "crates/agentos-core/Cargo.toml",
            "[package\n",
        )])));
        assert!(
            found[0].starts_with("crates/agentos-core/Cargo.toml:1: arrows: not a manifest"),
            "{found:?}"
        );
    }

    #[test]
    fn every_crate_that_is_named_as_a_target_is_itself_known() {
        for known in CRATES {
            for target in known.may_use {
                assert!(
                    CRATES.iter().any(|other| other.name == *target),
                    "{} → {target}",
                    known.name
                );
            }
        }
    }
}
