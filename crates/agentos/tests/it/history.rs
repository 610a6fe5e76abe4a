//! What runs do with the history of their repository, by the real binary: also when it is killed in the middle.

mod answers;
mod kills;
mod questions;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::support::{Done, Process, Stand};

/// A repository with workflows in it, and somebody who may commit there.
pub(crate) struct Site {
    pub(crate) stand: Stand,
    pub(crate) root: PathBuf,
}

impl Site {
    pub(crate) fn new() -> Self {
        let (stand, root) = Stand::with_repository();
        let site = Self { stand, root };
        site.git(&["config", "user.name", "A. Tester"]);
        site.git(&["config", "user.email", "tester@example.com"]);
        // The workflows and what tests leave are not what is committed.
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

    pub(crate) fn call(&self, arguments: &[&str]) -> Done {
        self.begin(arguments).done()
    }

    pub(crate) fn begin(&self, arguments: &[&str]) -> Process {
        let program = Path::new(env!("CARGO_BIN_EXE_agentos"));
        self.stand.call_program(program, &self.root, arguments).start()
    }

    /// What a run of the workflow gives back.
    pub(crate) fn output(&self, name: &str) -> Value {
        let done = self.call(&["run", name, "--workspace", "none", "--json"]).exits(0);
        done.document()["output"].clone()
    }

    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.stand.git(&self.root, arguments).trim_end().to_owned()
    }

    pub(crate) fn count(&self) -> usize {
        self.git(&["rev-list", "--count", "--all"]).parse().expect("a number")
    }

    pub(crate) fn write(&self, path: &str, content: &str) {
        fs::write(self.root.join(path), content).expect("a file");
    }

    pub(crate) fn has(&self, path: &str) -> bool {
        self.root.join(path).exists()
    }

    pub(crate) fn hook(&self, name: &str, script: &str) {
        let path = self.root.join(".git/hooks").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a hook");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a mode");
    }
}
