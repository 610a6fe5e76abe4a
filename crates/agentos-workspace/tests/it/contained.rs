//! What a workflow does with the files of its workspace.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use agentos_workspace::contained::{
    Contained, ContainedError, LIST_ENTRIES, READ_BYTES, Sink, Tree, Writing,
};
use tempfile::TempDir;

/// A workspace with files around it that nobody may touch.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) files: Contained,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["workspace/.git/hooks", "workspace/src/inner", "context/brief", "outside"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        fs::write(folder.path().join("outside/secret"), "secret").unwrap();
        fs::write(folder.path().join("context/brief/notes.md"), "notes").unwrap();
        fs::write(folder.path().join("workspace/src/a.ts"), "a").unwrap();
        fs::write(folder.path().join("workspace/src/inner/b.ts"), "b").unwrap();
        fs::write(folder.path().join("workspace/.git/config"), "[core]").unwrap();
        let context = folder.path().join("context");
        let files = Contained::open(&folder.path().join("workspace"), Some(&context)).unwrap();
        Self { folder, files }
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("workspace").join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> Result<(), ContainedError> {
        self.files.write(path, text.as_bytes(), &Writing::default())
    }

    fn names(&self, folder: &str) -> Vec<String> {
        let found = fs::read_dir(self.at(folder)).unwrap();
        let mut names: Vec<String> =
            found.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn what_is_written_is_read_back_as_text_and_as_bytes() {
    let place = Place::new();
    place.write("new/folder/x.txt", "grüße").unwrap();
    assert_eq!(place.files.read_text("new/folder/x.txt").unwrap(), "grüße");
    place.files.write("raw", &[0, 255, 10], &Writing::default()).unwrap();
    assert_eq!(place.files.read("raw").unwrap(), [0, 255, 10]);
    let error = place.files.read_text("raw").unwrap_err();
    assert!(matches!(error, ContainedError::NotText { at: 1, .. }), "{error}");
    assert_eq!(place.names("new/folder"), ["x.txt"], "nothing is left beside it");
    let absolute = place.at("abs.txt").display().to_string();
    place.write(&absolute, "in").unwrap();
    assert_eq!(place.files.read_text("./src/../abs.txt").unwrap(), "in");
}

#[test]
fn a_file_keeps_its_permissions_and_gets_those_that_were_asked_for() {
    let place = Place::new();
    fs::write(place.at("tool"), "1").unwrap();
    fs::set_permissions(place.at("tool"), fs::Permissions::from_mode(0o750)).unwrap();
    place.write("tool", "2").unwrap();
    assert_eq!(mode(&place.at("tool")), 0o750);
    let how = Writing { executable: true, ..Writing::default() };
    place.files.write("new-tool", b"#!", &how).unwrap();
    assert_eq!(mode(&place.at("new-tool")) & 0o100, 0o100);
    let how = Writing { mode: Some(0o600), ..Writing::default() };
    place.files.write("tool", b"3", &how).unwrap();
    assert_eq!(mode(&place.at("tool")), 0o600);
}

#[test]
fn folders_are_made_only_if_that_was_said() {
    let place = Place::new();
    let how = Writing { create_dirs: false, ..Writing::default() };
    let error = place.files.write("no/x", b"", &how).unwrap_err();
    assert_eq!(error.to_string(), "there is no `no` in the workspace");
    assert!(!place.at("no").exists());
}

#[test]
fn whoever_writes_again_after_a_crash_leaves_nothing_behind() {
    let place = Place::new();
    let how = Writing { mark: 7, ..Writing::default() };
    // As a writer leaves it that was killed before its file took the name.
    fs::write(place.at("src/.a.ts.0000000000000007.agentos-new"), "torn").unwrap();
    place.files.write("src/a.ts", b"whole", &how).unwrap();
    assert_eq!(place.names("src"), ["a.ts", "inner"]);
    assert_eq!(place.files.read_text("src/a.ts").unwrap(), "whole");
}

#[test]
fn links_that_stay_inside_are_followed_and_stay_links() {
    let place = Place::new();
    symlink("src/a.ts", place.at("link.ts")).unwrap();
    symlink("src", place.at("folder")).unwrap();
    place.write("link.ts", "through").unwrap();
    assert_eq!(fs::read_to_string(place.at("src/a.ts")).unwrap(), "through");
    assert!(place.at("link.ts").is_symlink());
    assert_eq!(place.files.read_text("folder/inner/b.ts").unwrap(), "b");
    assert!(place.files.remove("link.ts", false).unwrap());
    assert!(place.at("src/a.ts").exists(), "only the link is gone");
    symlink("nowhere", place.at("dangling")).unwrap();
    assert!(!place.files.exists("dangling").unwrap());
    assert_eq!(
        place.write("dangling", "").unwrap_err().to_string(),
        "`dangling` is a symbolic link that leads nowhere, and something that it leads to is needed"
    );
}

#[test]
fn what_is_gone_already_is_no_mistake() {
    let place = Place::new();
    assert!(!place.files.remove("none", false).unwrap());
    assert!(!place.files.remove("none/below", true).unwrap());
    assert!(place.files.remove("src/a.ts", false).unwrap());
    assert_eq!(
        place.files.remove("src", false).unwrap_err().to_string(),
        "`src` is a folder with something in it, and the option `recursive` is needed"
    );
    assert!(place.files.remove("src", true).unwrap());
    assert!(!place.files.exists("src").unwrap());
    for path in [".", "src/..", ".."] {
        assert!(place.files.remove(path, true).is_err(), "{path}");
    }
    assert!(place.at(".git").exists());
}

#[test]
fn a_listing_is_sorted_and_knows_patterns() {
    let place = Place::new();
    place.write("app/[id]/page.ts", "").unwrap();
    place.write(".github/ci.yml", "").unwrap();
    let list = |pattern| place.files.list(pattern).unwrap();
    assert_eq!(list("."), [".github/", "app/", "src/"]);
    assert_eq!(list("src"), ["src/a.ts", "src/inner/"]);
    assert_eq!(list("src/*.ts"), ["src/a.ts"]);
    assert_eq!(list("./src/**/*.{ts,js}"), ["src/a.ts", "src/inner/b.ts"]);
    assert_eq!(list("**/*.yml"), [".github/ci.yml"]);
    assert_eq!(list("app/[id]"), ["app/[id]/page.ts"], "what is there is no pattern");
    assert_eq!(list("app/[id]/p*"), [] as [&str; 0], "in a pattern it is one");
    assert_eq!(list("nothing/*.ts"), [] as [&str; 0]);
    let context = place.folder.path().join("context").display().to_string();
    assert_eq!(list(&format!("{context}/*/*.md")), [format!("{context}/brief/notes.md")]);
    let error = |pattern| place.files.list(pattern).unwrap_err().to_string();
    assert_eq!(error("none"), "there is no `none` in the workspace");
    assert_eq!(error("src/a.ts"), "`src/a.ts` is a file, and a folder or a pattern is needed");
    assert!(error("src/*/../x").contains("can't follow a wildcard"));
    assert!(error("src/[").contains("is not a pattern of files"), "{}", error("src/["));
}

#[test]
fn a_listing_has_an_end() {
    let place = Place::new();
    fs::create_dir(place.at("many")).unwrap();
    for number in 0..=LIST_ENTRIES {
        symlink("nowhere", place.at(&format!("many/{number}"))).unwrap();
    }
    for pattern in ["many", "many/*"] {
        let error = place.files.list(pattern).unwrap_err();
        assert!(matches!(error, ContainedError::TooMany { .. }), "{error}");
    }
}

#[test]
fn a_large_file_does_not_become_a_value() {
    let place = Place::new();
    let file = fs::File::create(place.at("large")).unwrap();
    file.set_len(READ_BYTES + 1).unwrap();
    let error = place.files.read("large").unwrap_err();
    assert!(error.to_string().contains("keep it as an artifact"), "{error}");
    file.set_len(READ_BYTES).unwrap();
    assert_eq!(place.files.read("large").unwrap().len() as u64, READ_BYTES);
    assert!(place.files.write("x", &vec![0; 5 << 20], &Writing::default()).is_err());
    assert!(!place.at("x").exists());
}

#[test]
fn inputs_are_read_and_copied_and_never_written() {
    let place = Place::new();
    let notes = place.folder.path().join("context/brief/notes.md").display().to_string();
    assert_eq!(place.files.read_text(&notes).unwrap(), "notes");
    assert!(place.files.exists(&notes).unwrap());
    let go_on = || false;
    let copied = place.files.copy(&notes, "docs/notes.md", &Writing::default(), &go_on).unwrap();
    assert_eq!((copied, place.files.read_text("docs/notes.md").unwrap()), (5, "notes".into()));
    for error in [
        place.write(&notes, "mine").unwrap_err(),
        place.files.remove(&notes, false).map(drop).unwrap_err(),
        place.files.copy("src/a.ts", &notes, &Writing::default(), &go_on).map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, ContainedError::ReadOnly { .. }), "{error}");
    }
    assert_eq!(fs::read_to_string(notes).unwrap(), "notes");
}

#[test]
fn a_copy_can_be_executed_if_the_other_can_and_shares_nothing_with_it() {
    let place = Place::new();
    place.files.write("tool", b"#!", &Writing { mode: Some(0o755), ..Writing::default() }).unwrap();
    place.files.copy("tool", "bin/tool", &Writing::default(), &|| false).unwrap();
    assert_eq!(mode(&place.at("bin/tool")) & 0o111, 0o111);
    assert_ne!(
        fs::metadata(place.at("tool")).unwrap().ino(),
        fs::metadata(place.at("bin/tool")).unwrap().ino()
    );
    let error = place.files.copy("src", "b", &Writing::default(), &|| false).unwrap_err();
    assert_eq!(error.to_string(), "`src` is a folder, and a file is needed");
    let stopped = place.files.copy("tool", "c", &Writing::default(), &|| true).unwrap_err();
    assert!(matches!(stopped, ContainedError::Stopped));
    assert!(!place.at("c").exists());
    assert_eq!(place.names("."), [".git", "bin", "src", "tool"], "nothing is left beside it");
}

#[test]
fn a_tree_is_what_is_in_a_folder_or_matches_without_links_and_repositories() {
    let place = Place::new();
    symlink("a.ts", place.at("src/link")).unwrap();
    fs::create_dir(place.at("src/.git")).unwrap();
    fs::write(place.at("src/.git/x"), "").unwrap();
    let Tree::Files { files, skipped } = place.files.tree("src", 10).unwrap() else { panic!() };
    let found: Vec<(&str, &str)> =
        files.iter().map(|file| (file.path.as_str(), file.relative.as_str())).collect();
    assert_eq!(found, [("src/a.ts", "a.ts"), ("src/inner/b.ts", "inner/b.ts")]);
    assert_eq!(skipped, 1);
    assert_eq!(place.files.tree("src/a.ts", 10).unwrap(), Tree::File);
    assert!(place.files.tree("src/**", 1).is_err());
}

#[test]
fn a_file_that_changes_while_it_is_copied_is_copied_again_or_named() {
    let place = Place::new();
    place.write("log", "one\n").unwrap();
    let copy = |changes: usize| {
        let mut source = place.files.open_source("log").unwrap();
        let mut copy = tempfile::tempfile().unwrap();
        let mut begun = 0;
        source.copy_into(Sink { file: &mut copy, path: "copy" }, &|| false, |piece| match piece {
            None => begun += 1,
            Some(_) if begun <= changes => {
                let log = fs::OpenOptions::new().append(true).open(place.at("log"));
                log.unwrap().write_all(b"more\n").unwrap();
            }
            Some(_) => {}
        })
    };
    assert_eq!(copy(0).unwrap(), 4);
    let copied = copy(1).unwrap();
    assert_eq!(copied, fs::metadata(place.at("log")).unwrap().len(), "all of it, in the end");
    assert!(copied > 4);
    assert_eq!(
        copy(2).unwrap_err().to_string(),
        "`log` changed while it was copied, twice; wait until whoever writes it is done"
    );
}
