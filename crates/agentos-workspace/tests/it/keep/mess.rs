//! Workspaces as people and agents leave them.

use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use agentos_workspace::workspace::{Kind, Workspace};

use super::state::write;
use crate::place::Place;

/// Ignored things: what can be made again, and what can't.
pub(crate) fn ignored(workspace: &Workspace) {
    let path = &workspace.path;
    write(path, ".gitignore", "node_modules/\ntarget/\n.env\n*.sqlite\nlocal/\n");
    write(path, ".env", "SECRET=1\n");
    fs::set_permissions(path.join(".env"), Permissions::from_mode(0o600)).unwrap();
    write(path, "data/app.sqlite", [0_u8, 1, 2, 255, 254]);
    write(path, "local/notes/mine.txt", "only here\n");
    fs::create_dir_all(path.join("local/empty")).unwrap();
    let _there = symlink("/nowhere", path.join("local/link"));
}

/// What git does not keep of files by itself, and names that are hard to say.
pub(crate) fn odd_files(workspace: &Workspace) {
    let path = &workspace.path;
    write(path, ".gitattributes", "* text=auto\n*.ident ident\n");
    write(path, "crlf.txt", "one\r\ntwo\r\n");
    write(path, "mixed.txt", "one\r\ntwo\nthree\r");
    write(path, "x.ident", "$Id$ $Id: abc $\n");
    write(path, "binary.bin", (0..=255).collect::<Vec<u8>>());
    write(path, "new\nline.txt", "a line break\n");
    write(path, "-dash \"quoted\" back\\slash.txt", "hard to say\n");
    write(path, "ünïcode/日本.txt", "text\n");
    let raw = std::ffi::OsStr::from_bytes(b"not-\xff-text");
    if workspace.kind != Kind::Jj {
        // jj knows no such names.
        fs::write(path.join(raw), "bytes").unwrap();
    }
    write(path, "run.sh", "#!/bin/sh\n");
    fs::set_permissions(path.join("run.sh"), Permissions::from_mode(0o755)).unwrap();
    write(path, "private.txt", "p");
    fs::set_permissions(path.join("private.txt"), Permissions::from_mode(0o640)).unwrap();
    fs::create_dir_all(path.join("empty/deep")).unwrap();
    fs::create_dir(path.join("odd-folder")).unwrap();
    write(path, "odd-folder/file", "f");
    fs::set_permissions(path.join("odd-folder"), Permissions::from_mode(0o750)).unwrap();
    symlink("crlf.txt", path.join("link")).unwrap();
    symlink("missing/target", path.join("dangling")).unwrap();
    write(path, "nothing", "");
}

/// Staged, not staged, removed, renamed.
pub(crate) fn changes(place: &Place, workspace: &Workspace) {
    let path = &workspace.path;
    write(path, "README.md", "# Changed\n");
    if place.kind == Kind::Jj {
        return;
    }
    write(path, "staged.txt", "staged\n");
    write(path, "both.txt", "staged\n");
    place.git(path, &["add", "staged.txt", "both.txt"]);
    write(path, "both.txt", "and changed since\n");
    write(path, "intended.txt", "intended\n");
    place.git(path, &["add", "--intent-to-add", "intended.txt"]);
}

/// Commits on the branch, commits that were amended and reset away, commits on no branch.
pub(crate) fn commits(place: &Place, workspace: &Workspace) {
    place.commit_in(workspace, "first.txt");
    place.commit_in(workspace, "second.txt");
    if place.kind == Kind::Jj {
        return;
    }
    let path = &workspace.path;
    place.git(path, &["commit", "--quiet", "--amend", "-m", "amended"]);
    place.commit_in(workspace, "reset.txt");
    place.git(path, &["reset", "--quiet", "--hard", "HEAD~1"]);
    write(path, "aside.txt", "put aside");
    place.git(path, &["stash", "push", "--quiet", "--include-untracked", "-m", "for later"]);
}

/// A repository with a commit and more, inside.
pub(crate) fn nested(place: &Place, workspace: &Workspace) {
    let inner = workspace.path.join("inner");
    fs::create_dir(&inner).unwrap();
    place.git(&inner, &["init", "--quiet", "--initial-branch=main"]);
    write(&inner, "a.txt", "a");
    place.git(&inner, &["add", "."]);
    place.git(&inner, &["commit", "--quiet", "-m", "inner"]);
    write(&inner, "a.txt", "changed");
    write(&inner, ".gitignore", "*.log\n");
    write(&inner, "x.log", "log");
    let unborn = workspace.path.join("unborn");
    fs::create_dir(&unborn).unwrap();
    place.git(&unborn, &["init", "--quiet"]);
    write(&unborn, "b.txt", "b");
}
