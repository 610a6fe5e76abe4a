//! Branches that are pushed and pull requests that are opened, by the real binary, with a real remote and a forge on
//! loopback.

mod behind;
mod bodies;
mod forges;
mod kills;
mod opening;
mod pushing;
mod trouble;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use agentos_testing::forge::{ForgeServer, TOKEN};
use serde_json::Value;

use crate::support::{Call, Done, Stand};

/// Does some work on a branch of its own and commits it.
pub(crate) const WORK: &str = r#"
  await ctx.git.ensureBranch("agentos/basket");
  await ctx.files.write("basket.txt", "eggs\n");
  await ctx.git.commit("Add a basket", { all: true });
"#;

/// Opens a pull request for it.
pub(crate) const OPEN: &str =
    r#"  return await ctx.git.createPr({ title: "Add a basket", body: "What it does." });"#;

/// A repository whose remote is, by its address, on a forge, and in truth a bare repository beside it.
pub(crate) struct Site {
    pub(crate) stand: Stand,
    pub(crate) root: PathBuf,
    pub(crate) remote: PathBuf,
    pub(crate) forge: ForgeServer,
}

impl Site {
    /// On GitHub.
    pub(crate) fn new() -> Self {
        Self::at("https://github.com/acme/shop.git")
    }

    pub(crate) fn at(address: &str) -> Self {
        let (stand, root) = Stand::with_repository();
        let remote = stand.at("remote.git");
        let forge = ForgeServer::start().expect("a forge");
        let site = Self { stand, root, remote, forge };
        let path = site.remote.display().to_string();
        site.git(&["config", "user.name", "A. Tester"]);
        site.git(&["config", "user.email", "tester@example.com"]);
        site.git(&["init", "--quiet", "--bare", "--initial-branch=main", &path]);
        site.git(&["remote", "add", "origin", address]);
        // Also for clones, which have a configuration of their own.
        let instead = format!("[url \"{path}\"]\n\tinsteadOf = {address}\n");
        fs::write(site.stand.home().join(".gitconfig"), instead).expect("a file");
        site.git(&["config", &format!("url.{path}.insteadOf"), address]);
        site.git(&["push", "--quiet", "origin", "main"]);
        fs::write(site.root.join(".git/info/exclude"), ".agent/\n.agentos/\n*.mark\n")
            .expect("a file");
        site
    }

    /// Writes a workflow of this name with this body.
    pub(crate) fn workflow(&self, name: &str, body: &str) {
        let folder = self.root.join(".agent/workflows/templates");
        fs::create_dir_all(&folder).expect("a folder");
        let text = format!(
            "import {{ createWorkflow }} from \"agentos\";\n\
             export default createWorkflow({{ name: \"{name}\" }}, async (ctx) => {{\n{body}\n}});\n"
        );
        fs::write(folder.join(format!("{name}.ts")), text).expect("a template");
    }

    pub(crate) fn config(&self, text: &str) {
        fs::create_dir_all(self.root.join(".agent")).expect("a folder");
        fs::write(self.root.join(".agent/config.toml"), text).expect("a file");
    }

    /// The binary, with a token for the forge.
    pub(crate) fn call(&self, arguments: &[&str]) -> Call {
        self.call_without_token(arguments).env("GITHUB_TOKEN", TOKEN)
    }

    pub(crate) fn call_without_token(&self, arguments: &[&str]) -> Call {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        let call = self.stand.call_program(program, &self.root, arguments);
        call.env("GITHUB_API_URL", self.forge.url())
    }

    /// Runs a workflow to its good end, and gives back what it returned.
    pub(crate) fn output(&self, name: &str) -> Value {
        let done = self.call(&["run", name, "--json"]).done().exits(0);
        done.document()["output"].clone()
    }

    /// Runs a workflow that fails, and gives back the run.
    pub(crate) fn fails(&self, name: &str) -> Value {
        self.call(&["run", name, "--json"]).done().exits(1).document()
    }

    pub(crate) fn show(&self, name: &str) -> Value {
        self.call(&["show", name, "--json"]).done().exits(0).document()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.stand.git(&self.root, arguments).trim_end().to_owned()
    }

    /// What the remote has of a branch.
    pub(crate) fn there(&self, branch: &str) -> Option<String> {
        let found = self.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]);
        found.split_whitespace().next().map(str::to_owned)
    }

    /// Somebody else pushes a commit to a branch of the remote.
    pub(crate) fn somebody_else(&self, branch: &str, path: &str, content: &str) -> String {
        let clone = self.stand.at("else");
        let git = |arguments: &[&str]| self.stand.git(&clone, arguments).trim_end().to_owned();
        if !clone.exists() {
            let (from, to) = (self.remote.display().to_string(), clone.display().to_string());
            self.git(&["clone", "--quiet", &from, &to]);
        }
        git(&["fetch", "--quiet"]);
        git(&["switch", "--quiet", "--force-create", branch, &format!("origin/{branch}")]);
        fs::write(clone.join(path), content).expect("a file");
        git(&["add", "."]);
        git(&["commit", "--quiet", "-m", "theirs"]);
        git(&["push", "--quiet", "origin", branch]);
        git(&["rev-parse", "HEAD"])
    }

    /// A hook of the remote.
    pub(crate) fn remote_hook(&self, name: &str, script: &str) {
        program(&self.remote.join("hooks").join(name), script);
    }

    pub(crate) fn posts(&self) -> usize {
        let received = self.forge.received();
        let opens = |path: &str| path.ends_with("/pulls") || path.ends_with("/merge_requests");
        received.iter().filter(|one| one.method == "POST" && opens(&one.target)).count()
    }
}

/// Writes a program of the shell.
pub(crate) fn program(path: &Path, script: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
    fs::write(path, format!("#!/bin/sh\n{script}\n")).expect("a program");
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode");
}

pub(crate) fn message(run: &Value) -> &str {
    run["error"]["message"].as_str().expect("a message")
}

/// Whether a text is anywhere below a folder, or in what was said.
pub(crate) fn is_seen(text: &str, folder: &Path, done: &Done) -> bool {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            } else if let Ok(bytes) = fs::read(entry.path())
                && bytes.windows(text.len()).any(|part| part == text.as_bytes())
            {
                return true;
            }
        }
    }
    done.out.contains(text) || done.err.contains(text)
}
