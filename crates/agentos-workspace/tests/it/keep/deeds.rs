//! What people and agents do in a workspace, in any order. What git refuses does not happen.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use agentos_workspace::workspace::Workspace;

use super::mess;
use super::state::{try_git, write};
use crate::place::Place;

/// Where something is done.
pub(crate) struct Scene<'a> {
    pub(crate) place: &'a Place,
    pub(crate) made: &'a Workspace,
    /// How many things were done before.
    pub(crate) number: u64,
    /// A repository elsewhere.
    pub(crate) library: &'a Path,
}

impl Scene<'_> {
    fn path(&self) -> &Path {
        &self.made.path
    }

    fn git(&self, words: &[&str]) {
        try_git(self.place, self.path(), words);
    }

    fn name(&self) -> String {
        format!("file-{}.txt", self.number)
    }

    fn write(&self, content: impl AsRef<[u8]>) -> PathBuf {
        write(self.path(), &self.name(), content);
        self.path().join(self.name())
    }

    fn readme(&self, content: &str) {
        write(self.path(), "README.md", content);
    }

    fn commit(&self) {
        self.write("committed");
        self.git(&["add", "--", &self.name()]);
        self.git(&["commit", "--quiet", "-m", &self.name()]);
    }

    fn mode(&self, mode: u32) {
        fs::set_permissions(self.write("x"), Permissions::from_mode(mode)).unwrap();
    }
}

type Deed = (&'static str, fn(&Scene<'_>));

/// In every checkout.
pub(crate) const ANYWHERE: [Deed; 12] = [
    ("modify", |scene| scene.readme(&format!("# {}\n", scene.number))),
    ("new file", |scene| drop(scene.write("new"))),
    ("ignored", |scene| mess::ignored(scene.made)),
    ("link", |scene| {
        let _there = symlink("README.md", scene.path().join(format!("link-{}", scene.number)));
    }),
    ("binary", |scene| drop(scene.write((0..=255).rev().collect::<Vec<u8>>()))),
    ("executable", |scene| scene.mode(0o755)),
    ("empty folder", |scene| {
        fs::create_dir_all(scene.path().join(format!("empty-{}/deep", scene.number))).unwrap();
    }),
    ("odd name", |scene| write(scene.path(), &format!("öd{}\n\"name\\", scene.number), "odd")),
    ("delete", |scene| drop(fs::remove_file(scene.path().join("README.md")))),
    ("nested repository", nested),
    ("secrets among what tools make", |scene| {
        mess::ignored(scene.made);
        write(scene.path(), &format!("target/secret-{}.key", scene.number), "key");
        write(scene.path(), "node_modules/.env", "A=1");
    }),
    ("more than jj records", |scene| drop(scene.write(vec![b'x'; 1_500_000]))),
];

/// Where jj is.
pub(crate) const IN_JJ: [Deed; 3] = [
    ("commit", |scene| scene.place.commit_in(scene.made, &scene.name())),
    ("commit without a bookmark", |scene| {
        scene.write("anonymous");
        scene.place.jj(scene.path(), &["commit", "-m", &scene.name()]);
    }),
    ("a head of its own", |scene| {
        scene.write("left behind");
        scene.place.jj(scene.path(), &["commit", "-m", &scene.name()]);
        scene.place.jj(scene.path(), &["new", &scene.made.base]);
    }),
];

/// Where git is.
pub(crate) const IN_GIT: [Deed; 20] = [
    ("stage", |scene| {
        scene.write("staged");
        scene.git(&["add", &scene.name()]);
    }),
    ("stash", |scene| {
        scene.write("stashed");
        scene.git(&["stash", "push", "--quiet", "-u", "-m", &scene.name()]);
    }),
    ("detached commit", |scene| {
        scene.git(&["checkout", "--quiet", "--detach"]);
        scene.commit();
    }),
    ("commit", |scene| scene.commit()),
    ("amend", |scene| {
        scene.commit();
        scene.git(&["commit", "--quiet", "--amend", "-m", "amended"]);
    }),
    ("reset", |scene| {
        scene.commit();
        scene.git(&["reset", "--quiet", "--hard", "HEAD~1"]);
    }),
    ("submodule", submodule),
    ("rename", |scene| scene.git(&["mv", "README.md", &format!("moved-{}.md", scene.number)])),
    ("line ends", |scene| {
        write(scene.path(), ".gitattributes", "* text=auto eol=lf\n");
        scene.write("a\r\nb\r\n");
    }),
    ("modes", |scene| {
        fs::set_permissions(scene.path(), Permissions::from_mode(0o700)).unwrap();
        scene.mode(0o751);
    }),
    ("merge", |scene| conflict(scene, "merge")),
    ("rebase", |scene| conflict(scene, "rebase")),
    ("another branch", |scene| {
        scene.git(&["checkout", "--quiet", "-b", &format!("other-{}", scene.number)]);
        scene.commit();
    }),
    ("hidden change", |scene| {
        scene.git(&["update-index", "--assume-unchanged", "README.md"]);
        scene.readme("hidden");
    }),
    ("folder for a file", |scene| {
        let _gone = fs::remove_file(scene.path().join("README.md"));
        write(scene.path(), "README.md/inside", "x");
    }),
    ("bisect", |scene| {
        scene.write("intended");
        scene.git(&["add", "-N", &scene.name()]);
        scene.git(&["bisect", "start"]);
    }),
    ("tag", |scene| {
        let name = format!("tag-{}", scene.number);
        scene.git(&["tag", "-a", &name, "-m", "annotated"]);
        scene.git(&["tag", &format!("light-{}", scene.number)]);
    }),
    ("note", |scene| scene.git(&["notes", "add", "-f", "-m", &scene.name()])),
    ("worktree inside", worktree),
    ("orphan", |scene| {
        scene.git(&["checkout", "--quiet", "--orphan", &format!("orphan-{}", scene.number)]);
    }),
];

fn submodule(scene: &Scene<'_>) {
    let (from, name) = (scene.library.to_string_lossy(), format!("sub-{}", scene.number));
    let how = ["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &*from, &name];
    scene.git(&how);
    let inside = scene.path().join(&name);
    if !inside.join(".git").exists() {
        return;
    }
    write(&inside, "work.txt", "work");
    try_git(scene.place, &inside, &["add", "."]);
    try_git(scene.place, &inside, &["commit", "--quiet", "-m", "unpushed"]);
    write(&inside, "dirty.txt", "dirty");
}

fn worktree(scene: &Scene<'_>) {
    let name = format!("tree-{}", scene.number);
    scene.git(&["worktree", "add", "--quiet", "--detach", &name]);
    let inside = scene.path().join(&name);
    if !inside.join(".git").exists() {
        return;
    }
    write(&inside, "work.txt", "work");
    try_git(scene.place, &inside, &["add", "."]);
    try_git(scene.place, &inside, &["commit", "--quiet", "-m", "on no branch"]);
    write(&inside, "staged.txt", "staged");
    try_git(scene.place, &inside, &["add", "."]);
    write(&inside, "staged.txt", "changed since");
}

fn nested(scene: &Scene<'_>) {
    let inner = scene.path().join(format!("inner-{}", scene.number));
    fs::create_dir_all(&inner).unwrap();
    try_git(scene.place, &inner, &["init", "--quiet"]);
    write(&inner, "a.txt", "a");
    if scene.number.is_multiple_of(2) {
        try_git(scene.place, &inner, &["add", "."]);
        try_git(scene.place, &inner, &["commit", "--quiet", "-m", "inner"]);
        write(&inner, "a.txt", "changed");
    }
}

/// Two sides that do not agree.
fn conflict(scene: &Scene<'_>, verb: &str) {
    let (other, name) = (format!("side-{}", scene.number), format!("both-{}.txt", scene.number));
    let commit = |content: &str| {
        write(scene.path(), &name, content);
        scene.git(&["add", "--", &name]);
        scene.git(&["commit", "--quiet", "-m", content]);
    };
    scene.git(&["branch", &other]);
    commit("one side");
    let here = try_git(scene.place, scene.path(), &["rev-parse", "HEAD"]);
    scene.git(&["checkout", "--quiet", "--detach", &other]);
    commit("the other side");
    scene.git(&[verb, here.trim()]);
}
