//! Ways out of a workspace: each is refused by name, and nothing outside is touched.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};

use agentos_workspace::contained::{Contained, ContainedError, Writing};
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};

use crate::contained::Place;

/// Everything that can be done with a path; all of it has to be refused for the same reason.
fn refused(files: &Contained, path: &str) -> Vec<ContainedError> {
    let how = Writing::default();
    vec![
        files.read(path).map(drop).unwrap_err(),
        files.write(path, b"mine", &how).unwrap_err(),
        files.exists(path).map(drop).unwrap_err(),
        files.list(path).map(drop).unwrap_err(),
        files.copy(path, "copy", &how, &|| false).map(drop).unwrap_err(),
        files.copy("src/a.ts", path, &how, &|| false).map(drop).unwrap_err(),
        files.tree(path, 10).map(drop).unwrap_err(),
    ]
}

fn untouched(place: &Place) {
    let outside = place.folder.path().join("outside");
    assert_eq!(fs::read_to_string(outside.join("secret")).unwrap(), "secret");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 1, "nothing new is there");
    assert!(!place.at("copy").exists(), "and nothing came in");
}

#[test]
fn no_path_leads_out() {
    let place = Place::new();
    let outside = place.folder.path().join("outside");
    symlink(&outside, place.at("absolute-link")).unwrap();
    symlink("../outside", place.at("link")).unwrap();
    symlink("../../outside", place.at("src/link")).unwrap();
    symlink("../outside/secret", place.at("file-link")).unwrap();
    symlink("link/secret", place.at("link-to-link")).unwrap();
    let absolute = outside.join("secret").display().to_string();
    let around = place.at("../outside/secret").display().to_string();
    for path in [
        "../outside/secret",
        "src/../../outside/secret",
        "src/inner/../../../outside/secret",
        "link/secret",
        "src/link/secret",
        "file-link",
        "link-to-link",
        "absolute-link/secret",
        "/etc/passwd",
        &absolute,
        &around,
    ] {
        for error in refused(&place.files, path) {
            assert!(matches!(error, ContainedError::Outside { .. }), "{path}: {error:?}");
            let words = format!("`{path}` leads out of the workspace");
            assert!(error.to_string().starts_with(&words), "{error}");
            assert!(error.is_refusal());
        }
        if !path.ends_with("link") && !path.ends_with("link-to-link") {
            assert!(place.files.remove(path, true).is_err(), "{path}");
        }
    }
    untouched(&place);
}

#[test]
fn texts_that_are_no_paths_are_refused() {
    let place = Place::new();
    let long = "x/".repeat(2_500);
    for (path, why) in [
        ("", "it is empty"),
        ("src/a\n.ts", "line break"),
        ("src/a\0.ts", "control character"),
        ("src/\u{1b}[31m", "control character"),
        (long.as_str(), "longer than 4096 bytes"),
    ] {
        for error in refused(&place.files, path) {
            assert!(error.to_string().contains(why), "{error}");
            assert!(error.to_string().len() < 500, "{error}");
            assert!(!error.to_string().contains(char::is_control), "{error}");
        }
    }
    let wide = "y".repeat(300);
    assert!(place.files.read(&wide).unwrap_err().to_string().contains("a name in it is longer"));
    assert!(place.write(&wide, "").is_err());
    assert_eq!(fs::read_dir(place.at(".")).unwrap().count(), 2);
}

#[test]
fn repositories_and_our_own_state_are_not_written() {
    let place = Place::new();
    symlink(".git/hooks", place.at("innocent")).unwrap();
    for path in [
        ".git",
        ".git/hooks/pre-commit",
        ".GIT/hooks/pre-commit",
        "innocent/pre-commit",
        "src/../.git/config",
        "vendor/.git/config",
        ".jj/repo/config",
        ".agentos/issue_workflow.db",
    ] {
        let copied = place.files.copy("src/a.ts", path, &Writing::default(), &|| false);
        let removed = place.files.remove(path, true).map(drop);
        let removed = removed.err().unwrap_or_else(|| {
            assert!(!place.at(path).parent().unwrap().exists(), "{path}");
            copied.as_ref().map(drop).map_err(|_| ()).unwrap_err();
            place.write(path, "").unwrap_err()
        });
        for error in [place.write(path, "x").unwrap_err(), copied.unwrap_err(), removed] {
            assert!(matches!(error, ContainedError::Protected { .. }), "{path}: {error:?}");
        }
    }
    assert_eq!(place.files.read_text(".git/config").unwrap(), "[core]", "it can be read");
    assert_eq!(fs::read_dir(place.at(".git/hooks")).unwrap().count(), 0);
    assert!(!place.at(".jj").exists() && !place.at(".agentos").exists());
    place.write(".gitignore", "target").unwrap();
}

#[test]
fn what_is_no_file_is_refused_without_waiting_for_it() {
    let place = Place::new();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, place.at("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = UnixListener::bind(place.at("socket")).unwrap();
    let mut kinds = vec![("pipe", "a named pipe"), ("socket", "a socket")];
    // Whoever is not root can't make one.
    let null = rustix::fs::makedev(1, 3);
    if mknodat(CWD, place.at("device"), FileType::CharacterDevice, mode, null).is_ok() {
        kinds.push(("device", "a device"));
    }
    for (path, kind) in kinds {
        let errors = [
            place.files.read(path).map(drop),
            place.write(path, "x"),
            place.files.copy(path, "copy", &Writing::default(), &|| false).map(drop),
        ];
        for error in errors {
            let words = format!("`{path}` is {kind}, and a file is needed");
            assert_eq!(error.unwrap_err().to_string(), words);
        }
    }
    untouched(&place);
}

#[test]
fn writing_to_one_of_two_hard_links_leaves_the_other_alone() {
    let place = Place::new();
    let secret = place.folder.path().join("outside/secret");
    fs::hard_link(&secret, place.at("linked")).unwrap();
    place.write("linked", "mine").unwrap();
    place.files.copy("src/a.ts", "linked", &Writing::default(), &|| false).unwrap();
    untouched(&place);
    assert_eq!(place.files.read_text("linked").unwrap(), "a");
}

#[test]
fn a_link_that_is_swapped_in_meanwhile_leads_nowhere() {
    let place = Place::new();
    let folder = place.at("swapped");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("secret"), "own").unwrap();
    fs::create_dir(place.at(".git/x")).unwrap();
    symlink("../outside", place.at("link-out")).unwrap();
    symlink(".git/x", place.at("link-git")).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for link in [place.at("link-out"), place.at("link-git")].iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                renameat_with(CWD, link, CWD, &folder, RenameFlags::EXCHANGE).unwrap();
                renameat_with(CWD, link, CWD, &folder, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let how = Writing { create_dirs: false, ..Writing::default() };
        let (mut written, mut refused) = (0, 0);
        for round in 0.. {
            match place.files.write("swapped/new", b"mine", &how) {
                Ok(()) => written += 1,
                Err(_) => refused += 1,
            }
            if let Ok(text) = place.files.read_text("swapped/secret") {
                assert_eq!(text, "own");
            }
            let _ours_or_none = place.files.remove("swapped/new", true);
            if round > 1_000 && written > 20 && refused > 20 {
                break;
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    untouched(&place);
    assert_eq!(fs::read_dir(place.at(".git/x")).unwrap().count(), 0);
}
