//! What is made, with which permissions, and what is left alone.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use agentos_testing::repo::{Playground, snapshot};

use crate::fixture::{locate, own};

fn mode(path: &Path) -> u32 {
    path.metadata().unwrap().permissions().mode() & 0o777
}

/// What the umask leaves of a mode here.
fn left_of(playground: &Playground, wanted: u32) -> u32 {
    use std::os::unix::fs::DirBuilderExt as _;
    let probe = playground.at(format!("probe-{wanted:o}"));
    fs::DirBuilder::new().mode(wanted).create(&probe).unwrap();
    mode(&probe)
}

#[test]
fn the_folder_takes_the_mode_of_the_root_and_is_not_seen_by_git() {
    let playground = Playground::new();
    for wanted in [0o700, 0o755, 0o775, 0o750] {
        let root = playground.repository(&format!("project-{wanted:o}"));
        fs::set_permissions(&root, Permissions::from_mode(wanted)).unwrap();
        let location = locate(&playground, &root);
        let prepared = location.prepare().unwrap();
        assert_eq!(prepared.project_path, root);
        let folder = root.join(".agentos");
        assert_eq!(mode(&folder), left_of(&playground, wanted), "{wanted:o}");
        fs::write(own(&root), "a database").unwrap();
        assert_eq!(playground.git(&root, ["status", "--porcelain"]), "");
        assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
    }
}

#[test]
fn the_global_folder_is_for_its_user_only() {
    let playground = Playground::new();
    let location = locate(&playground, &playground.folder("plain"));
    location.prepare().unwrap();
    assert_eq!(mode(&playground.home().join(".agentos")), 0o700);
}

#[test]
fn preparing_again_changes_nothing_and_keeps_what_users_wrote() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let folder = playground.folder("project/.agentos");
    fs::set_permissions(&folder, Permissions::from_mode(0o711)).unwrap();
    fs::write(folder.join(".gitignore"), "*\n!notes\n").unwrap();
    let first = locate(&playground, &root).prepare().unwrap();
    let before = snapshot(&playground.path());
    assert_eq!(locate(&playground, &root).prepare().unwrap(), first);
    assert_eq!(snapshot(&playground.path()), before);
    assert_eq!(mode(&folder), 0o711);
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n!notes\n");
}

#[test]
fn an_empty_ignore_file_that_a_crash_left_is_written_again() {
    let playground = Playground::new();
    let root = playground.repository("project");
    let folder = playground.folder("project/.agentos");
    fs::write(folder.join(".gitignore"), "").unwrap();
    locate(&playground, &root).prepare().unwrap();
    assert_eq!(fs::read_to_string(folder.join(".gitignore")).unwrap(), "*\n");
}

#[test]
fn the_global_database_stays_as_it_is_byte_by_byte() {
    let playground = Playground::new();
    let global = playground.folder("home/.agentos");
    fs::write(global.join("issue_workflow.db"), [0, 159, 146, 150]).unwrap();
    let before = snapshot(&playground.home());
    let main = playground.repository("project");
    playground.git(&main, ["worktree", "add", "--quiet", "../linked"]);
    for root in [main, playground.at("linked")] {
        locate(&playground, &root).prepare().unwrap();
    }
    assert_eq!(snapshot(&playground.home()), before);
}
