//! Real git repositories in a folder that goes away, out of reach of whatever the machine is configured to do.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder with a home in it, and room for repositories.
pub struct Playground {
    folder: TempDir,
}

impl Playground {
    /// An empty one.
    ///
    /// # Panics
    /// If no folder can be made.
    #[must_use]
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("home")).expect("a home");
        Self { folder }
    }

    /// Its real path.
    ///
    /// # Panics
    /// If it is gone.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("the folder is there")
    }

    /// A path in it.
    #[must_use]
    pub fn at(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.path().join(relative)
    }

    /// The home of whoever lives here.
    #[must_use]
    pub fn home(&self) -> PathBuf {
        self.at("home")
    }

    /// Everything that programs started here see of the environment: the tests' own is not passed on.
    #[must_use]
    pub fn environment(&self) -> BTreeMap<OsString, OsString> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let fixed = [
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_CONFIG_SYSTEM", "/dev/null"),
            ("GIT_AUTHOR_NAME", "A. Tester"),
            ("GIT_AUTHOR_EMAIL", "tester@example.com"),
            ("GIT_AUTHOR_DATE", "2030-01-01T00:00:00Z"),
            ("GIT_COMMITTER_NAME", "A. Tester"),
            ("GIT_COMMITTER_EMAIL", "tester@example.com"),
            ("GIT_COMMITTER_DATE", "2030-01-01T00:00:00Z"),
            ("LC_ALL", "C"),
        ];
        let mut environment: BTreeMap<OsString, OsString> =
            fixed.iter().map(|(name, value)| (name.into(), value.into())).collect();
        environment.insert("PATH".into(), path);
        environment.insert("HOME".into(), self.home().into());
        environment
    }

    /// Makes a folder, with those above it.
    ///
    /// # Panics
    /// If it can't be made.
    pub fn folder(&self, relative: &str) -> PathBuf {
        let path = self.at(relative);
        fs::create_dir_all(&path).expect("a folder");
        path
    }

    /// Makes a repository without a commit.
    ///
    /// # Panics
    /// If git can't.
    pub fn empty_repository(&self, relative: &str) -> PathBuf {
        let root = self.folder(relative);
        self.git(&root, ["init", "--quiet", "--initial-branch=main"]);
        root
    }

    /// Makes a repository with one commit.
    ///
    /// # Panics
    /// If git can't.
    pub fn repository(&self, relative: &str) -> PathBuf {
        let root = self.empty_repository(relative);
        fs::write(root.join("README.md"), "# It\n").expect("a file");
        self.git(&root, ["add", "."]);
        self.git(&root, ["commit", "--quiet", "--message=first"]);
        root
    }

    /// Runs git in a folder, and gives back what it said.
    ///
    /// # Panics
    /// If git fails.
    pub fn git<A: AsRef<OsStr>>(
        &self,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> String {
        self.run("git", folder, arguments)
    }

    /// Runs a program in a folder, and gives back what it said.
    ///
    /// # Panics
    /// If it can't be run or fails.
    pub fn run<A: AsRef<OsStr>>(
        &self,
        program: &str,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> String {
        self.run_with(&self.environment(), program, folder, arguments)
    }

    /// Runs a program in a folder with another environment, and gives back what it said.
    ///
    /// # Panics
    /// If it can't be run or fails.
    #[expect(clippy::disallowed_methods, reason = "for tests, which wait for the end")]
    pub fn run_with<A: AsRef<OsStr>>(
        &self,
        environment: &BTreeMap<OsString, OsString>,
        program: impl AsRef<OsStr>,
        folder: &Path,
        arguments: impl IntoIterator<Item = A>,
    ) -> String {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(folder).stdin(Stdio::null());
        command.env_clear().envs(environment);
        let output = command.output().expect("the program is there");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?} failed: {complaint}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Default for Playground {
    fn default() -> Self {
        Self::new()
    }
}

/// Every file and folder below a folder, with its mode and content: to see that nothing has changed.
///
/// # Panics
/// If something can't be read.
#[must_use]
pub fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (u32, Vec<u8>)> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let about = path.symlink_metadata().expect("something about it");
            let content = if about.is_dir() {
                folders.push(path.clone());
                Vec::new()
            } else if about.is_symlink() {
                fs::read_link(&path).expect("a link").into_os_string().into_encoded_bytes()
            } else {
                fs::read(&path).expect("a file")
            };
            found.insert(path, (about.permissions().mode(), content));
        }
    }
    found
}
