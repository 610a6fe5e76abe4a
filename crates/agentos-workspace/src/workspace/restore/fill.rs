//! Putting the files of a backup back, byte for byte: with no filter, no attribute and no umask in between.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::RestoreError;
use crate::delete;
use crate::workspace::backup::Backup;
use crate::workspace::backup::archive::{self, FILES};
use crate::workspace::backup::manifest::Manifest;
use crate::workspace::plumbing::{EXACTLY, Plumbing, Stand};

/// Makes the files of a workspace those of the backup. What is in its private folder stays.
pub(super) fn fill(
    plumbing: Plumbing<'_>,
    manifest: &Manifest,
    backup: &Backup,
    private: &str,
) -> Result<(), RestoreError> {
    let root = &manifest.workspace.path;
    let failed = |source| RestoreError::Io { path: root.clone(), source };
    empty(root, private).map_err(failed)?;
    write_objects(plumbing, manifest, backup)?;
    usual_modes(root, private).map_err(failed)?;
    for unusual in &manifest.modes {
        let path = root.join(unusual.path.path());
        fs::set_permissions(&path, Permissions::from_mode(unusual.mode)).map_err(failed)?;
    }
    archive::unpack(&backup.archive, FILES, root, |_| true).map_err(failed)?;
    fs::set_permissions(root, Permissions::from_mode(manifest.mode)).map_err(failed)?;
    sync(root).map_err(failed)
}

/// Removes everything but one entry.
pub(super) fn empty(folder: &Path, but: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == but {
            continue;
        }
        if entry.file_type()?.is_dir() {
            delete::all(&entry.path())?;
        } else {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Writes the tree of the backup's commit, through a git directory that has objects and nothing else: the repository's own
/// may know attributes that change files.
fn write_objects(
    plumbing: Plumbing<'_>,
    manifest: &Manifest,
    backup: &Backup,
) -> Result<(), RestoreError> {
    let (root, repository) = (&manifest.workspace.path, &manifest.workspace.repository);
    let folder = backup.archive.with_file_name("unfinished");
    let failed = |source| RestoreError::Io { path: folder.clone(), source };
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => fs::create_dir_all(&folder).map_err(failed)?,
    }
    let stand = Stand::repository(repository);
    let format = plumbing.word(stand, ["rev-parse", "--show-object-format"])?;
    let (git_dir, index) = (folder.join("git"), folder.join("index"));
    let format = format!("--object-format={format}");
    let made = git_dir.to_string_lossy();
    let how = ["init", "--bare", "--quiet", "--template=", &format, "--", &*made];
    plumbing.call(Stand { folder: &folder, ..Stand::checkout(&folder) }, how)?;
    let mut objects = repository.join("objects").into_os_string();
    objects.push("\n");
    let info = git_dir.join("objects/info");
    fs::create_dir_all(&info).map_err(failed)?;
    fs::write(info.join("alternates"), objects.as_encoded_bytes()).map_err(failed)?;
    let stand = Stand {
        folder: root,
        git_dir: Some(&git_dir),
        work_tree: Some(root),
        index: Some(&index),
        has_rules: false,
    };
    let nothing = plumbing.word(stand, ["hash-object", "-t", "tree", "-w", "/dev/null"])?;
    let rules = format!("--attr-source={nothing}");
    let exactly = [&[&*rules, "-c", "core.attributesFile=/dev/null"], &EXACTLY[..]].concat();
    let with = |words: &[&str]| -> Vec<String> {
        exactly.iter().chain(words).map(ToString::to_string).collect()
    };
    plumbing.call(stand, with(&["read-tree", &backup.commit]))?;
    plumbing.call(stand, with(&["checkout-index", "--all", "--force", "--quiet"]))?;
    fs::remove_dir_all(&folder).map_err(failed)
}

/// Gives everything the modes that were not worth a word, whatever the umask is.
fn usual_modes(root: &Path, private: &str) -> io::Result<()> {
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let about = entry.metadata()?;
            if about.is_symlink() || (folder == *root && entry.file_name() == private) {
                continue;
            }
            let found = about.permissions().mode() & 0o7777;
            let mode = if about.is_dir() || found & 0o100 != 0 { 0o755 } else { 0o644 };
            if found != mode {
                fs::set_permissions(entry.path(), Permissions::from_mode(mode))?;
            }
            if about.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    Ok(())
}

fn sync(root: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(root)?)?)
}
