//! The sample project as a repository that is on a forge, and the scripted agent in the place of all others.

use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::forge::{ForgeServer, TOKEN};
use serde_json::Value;

use crate::support::{Call, Done, Stand};

/// The example that people can try, too.
fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/sample")
}

/// The scenario that comes with it.
pub(crate) fn scenario() -> String {
    fs::read_to_string(sample().join("simple-sdlc.toml")).expect("the sample has a scenario")
}

/// How the sample's tests are run, without npm around them.
pub(crate) const TESTS: &str = "node --test";

pub(crate) struct Site {
    pub(crate) stand: Stand,
    pub(crate) root: PathBuf,
    pub(crate) forge: ForgeServer,
}

impl Site {
    /// The sample project, with one commit that is pushed.
    pub(crate) fn new() -> Self {
        let stand = Stand::new();
        let root = project(&stand, "shop");
        let forge = ForgeServer::start().expect("a forge");
        Self { stand, root, forge }
    }

    /// The real program; what it is called with decides where runs work.
    pub(crate) fn call(&self, arguments: &[&str]) -> Call {
        self.call_in(&self.root, arguments)
    }

    /// The same in another repository of this site.
    pub(crate) fn call_in(&self, root: &Path, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand
            .call_program(program, root, arguments)
            .without("AGENTOS_WORKSPACE_KIND")
            .without("GIT_AUTHOR_DATE")
            .without("GIT_COMMITTER_DATE")
            .env("GITHUB_TOKEN", TOKEN)
            .env("GITHUB_API_URL", self.forge.url())
    }

    /// Starts a run whose agents play this scenario.
    pub(crate) fn play(&self, scenario: &str, arguments: &[&str]) -> Call {
        // Beside the repository: it is no part of the project.
        let file = self.stand.at("scenario.toml");
        fs::write(&file, scenario).expect("a scenario");
        let [planner, implementer] = scripted(&file);
        let mut all = vec!["run"];
        all.extend(arguments);
        all.extend(["--json", "--agent", &planner, "--agent", &implementer]);
        self.call(&all)
    }

    /// A run of `simple-sdlc` that plays this scenario.
    pub(crate) fn simple(&self, scenario: &str, more: &[&str]) -> Done {
        self.play(scenario, &simple(more)).done()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.stand.git(&self.root, arguments).trim_end().to_owned()
    }

    /// The subjects of what a branch has on top of another, oldest first.
    pub(crate) fn subjects(&self, range: &str) -> Vec<String> {
        let said = self.git(&["log", "--reverse", "--format=%s", range]);
        said.lines().map(ToOwned::to_owned).collect()
    }

    /// What a run has kept under this name.
    pub(crate) fn artifact(&self, run: &Value, name: &str) -> String {
        let artifacts = run["artifacts"].as_array().expect("a list");
        let found = artifacts.iter().find(|artifact| artifact["name"] == name);
        let found = found.unwrap_or_else(|| panic!("no {name} among {artifacts:#?}"));
        let path = self.root.join(found["storage_path"].as_str().expect("a path"));
        fs::read_to_string(path).expect("it is kept")
    }
}

/// The sample project as a repository of this name, with one commit that is pushed. By its address the remote is on GitHub; in
/// truth it is a bare repository beside.
pub(crate) fn project(stand: &Stand, name: &str) -> PathBuf {
    let root = stand.empty_repository(name);
    copy(&sample().join("project"), &root);
    stand.git(&root, &["config", "user.name", "A. Tester"]);
    stand.git(&root, &["config", "user.email", "tester@example.com"]);
    stand.git(&root, &["add", "."]);
    stand.git(&root, &["commit", "--quiet", "--message=first"]);
    let remote = stand.folder(&format!("remotes/{name}.git"));
    stand.git(&remote, &["init", "--quiet", "--bare", "--initial-branch=main"]);
    let address = format!("https://github.com/acme/{name}.git");
    let instead = format!("url.{}.insteadOf", remote.display());
    stand.git(&root, &["config", &instead, &address]);
    stand.git(&root, &["remote", "add", "origin", &address]);
    stand.git(&root, &["push", "--quiet", "origin", "main"]);
    root
}

/// Puts a scenario in the place of both agents, as `--agent` takes it.
pub(crate) fn scripted(file: &Path) -> [String; 2] {
    ["claude", "codex"].map(|agent| format!("{agent}=scripted:{}", file.display()))
}

/// The arguments of a run of `simple-sdlc` in the sample project.
pub(crate) fn simple<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let mut all = vec!["simple-sdlc", "--feature-name", "Discounts"];
    all.extend(["--spec-path", "specs/discounts.md", "--test-command", TESTS]);
    all.extend(more);
    all
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("the sample is there").flatten() {
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                fs::copy(entry.path(), target).expect("a file");
            }
        }
    }
}

/// Names and statuses of a run's steps.
pub(crate) fn steps(run: &Value) -> Vec<String> {
    let steps = run["steps"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    steps
        .map(|step| match text(&step["status"]).as_str() {
            "COMPLETED" => text(&step["name"]),
            other => format!("{} {other}", text(&step["name"])),
        })
        .collect()
}

/// What was remarked on a run and its steps.
pub(crate) fn comments(run: &Value) -> Vec<String> {
    let comments = run["comments"].as_array().expect("a list").iter();
    comments.map(|comment| comment["message"].as_str().unwrap_or_default().to_owned()).collect()
}

/// Names and types of what a run has kept, but for the files of its sessions.
pub(crate) fn kept(run: &Value) -> Vec<String> {
    let artifacts = run["artifacts"].as_array().expect("a list").iter();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let own = artifacts.filter(|artifact| artifact["type"] != "SESSION_FILE");
    own.map(|kept| format!("{} {}", text(&kept["name"]), text(&kept["type"]))).collect()
}

/// Why a run failed.
#[track_caller]
pub(crate) fn failure(done: Done) -> String {
    let run = done.exits(1).document();
    let error = &run["error"];
    error["message"].as_str().or(error.as_str()).expect("a failure").to_owned()
}
