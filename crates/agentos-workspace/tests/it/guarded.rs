//! What belongs to others stays as it is, and searches have bounds that are told.

use std::fs;
use std::os::unix::fs::symlink;

use agentos_workspace::contained::{Contained, ContainedError, Tree, WALK_DEPTH, Writing};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::contained::Place;

const RUNS: &str = ".agent/workflows/executions";

/// A project in which a run works that has its inputs below, too.
fn project() -> (Place, Contained) {
    let place = Place::new();
    for name in [RUNS, "kept/runs/1", ".agent/workflows/templates"] {
        fs::create_dir_all(place.at(name)).unwrap();
    }
    fs::create_dir_all(place.at(RUNS).join("7/context")).unwrap();
    fs::write(place.at(RUNS).join("7/context/brief.md"), "brief").unwrap();
    fs::write(place.at(RUNS).join("7/metadata.json"), "{}").unwrap();
    fs::write(place.at("kept/runs/1/log"), "log").unwrap();
    fs::write(place.at(".agent/workflows/templates/a.ts"), "a").unwrap();
    symlink("kept/runs", place.at("runs")).unwrap();
    let context = place.at(RUNS).join("7/context");
    let files = Contained::open(&place.at("."), Some(&context)).unwrap();
    (place, files)
}

fn protected<T: std::fmt::Debug>(done: Result<T, ContainedError>, part: &str) {
    let error = done.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().contains(&format!("`{part}` belongs to others")), "{error}");
}

#[test]
fn the_folders_of_runs_and_their_inputs_are_not_changed() {
    let (place, files) = project();
    let how = Writing::default();
    let input = format!("{RUNS}/7/context/brief.md");
    let document = format!("{RUNS}/7/metadata.json");
    for path in [input.as_str(), &document, ".Agent/Workflows/Executions/x"] {
        assert!(files.write(path, b"mine", &how).is_err(), "{path}");
        assert!(files.copy("src/a.ts", path, &how, &|| false).is_err(), "{path}");
    }
    protected(files.write(&document, b"mine", &how), RUNS);
    protected(files.remove(&document, false), RUNS);
    protected(files.remove(RUNS, true), RUNS);
    protected(files.remove(".agent", true), RUNS);
    protected(files.remove(".agent/workflows", true), RUNS);
    assert_eq!(fs::read_to_string(place.at(&input)).unwrap(), "brief");
    assert_eq!(files.read_text(&document).unwrap(), "{}", "it can be read");
    assert!(files.remove(".agent/workflows/templates", true).unwrap());
}

#[test]
fn a_folder_is_protected_under_every_name_that_leads_to_it() {
    let (place, files) = project();
    let files = files.protecting(&place.at("runs"));
    let how = Writing::default();
    protected(files.write("runs/1/log", b"mine", &how), "kept/runs");
    protected(files.write("kept/runs/2/log", b"mine", &how), "kept/runs");
    protected(files.remove("kept", true), "kept/runs");
    assert_eq!(fs::read_to_string(place.at("kept/runs/1/log")).unwrap(), "log");
    // A folder that is not in the workspace needs no protection.
    let files = files.protecting(place.folder.path());
    files.write("kept/own", b"mine", &how).unwrap();
}

#[test]
fn searches_leave_out_what_belongs_to_others() {
    let (place, files) = project();
    let files = files.protecting(&place.at("runs"));
    let found = ["runs", "src/a.ts", "src/inner/b.ts", ".agent/workflows/templates/a.ts"];
    let listed = files.list("**").unwrap();
    assert!(found.iter().all(|path| listed.contains(&(*path).to_owned())), "{listed:?}");
    assert_eq!(listed.len(), found.len(), "{listed:?}");
    assert_eq!(files.list(".agent/workflows").unwrap(), [".agent/workflows/templates/"]);
    let Tree::Files { files: kept, .. } = files.tree(".", 100).unwrap() else { panic!() };
    assert_eq!(kept.len(), 3, "{kept:?}");
    // Whoever names it gets it.
    let named = files.list(&format!("{RUNS}/7")).unwrap();
    assert_eq!(named, [format!("{RUNS}/7/metadata.json")]);
}

#[test]
fn a_folder_with_a_repository_below_is_not_removed() {
    let place = Place::new();
    fs::create_dir_all(place.at("vendor/deep/nested/.git")).unwrap();
    fs::write(place.at("vendor/a"), "a").unwrap();
    protected(place.files.remove("vendor", true), "vendor/deep/nested/.git");
    assert!(place.at("vendor/deep/nested/.git").exists() && place.at("vendor/a").exists());
}

#[test]
fn however_many_folders_there_are_few_are_open() {
    let limit = getrlimit(Resource::Nofile);
    let current = Some(limit.current.map_or(256, |current| current.min(256)));
    setrlimit(Resource::Nofile, Rlimit { current, ..limit }).unwrap();
    let place = Place::new();
    for number in 0..400 {
        fs::create_dir_all(place.at(&format!("many/{number}"))).unwrap();
    }
    fs::write(place.at("many/300/last.ts"), "").unwrap();
    assert_eq!(place.files.list("many/**/*.ts").unwrap(), ["many/300/last.ts"]);
    let Tree::Files { files, .. } = place.files.tree("many", 10).unwrap() else { panic!() };
    assert_eq!(files.len(), 1);
    assert!(place.files.remove("many", true).unwrap());
}

#[test]
fn what_is_too_deep_is_told_and_not_left_out() {
    let place = Place::new();
    let levels = |count: usize| vec!["d"; count].join("/");
    place.write(&format!("deep/{}/last.ts", levels(WALK_DEPTH - 1)), "").unwrap();
    assert_eq!(place.files.list("deep/**/*.ts").unwrap().len(), 1);
    place.write(&format!("deep/{}/last.ts", levels(WALK_DEPTH)), "").unwrap();
    for error in [
        place.files.list("deep/**/*.ts").map(drop).unwrap_err(),
        place.files.tree("deep", 10).map(drop).unwrap_err(),
    ] {
        let words = "stands for more than 128 levels of folders; name a smaller part";
        assert!(error.to_string().contains(words), "{error}");
    }
    assert_eq!(place.files.list("*/*/*.ts").unwrap(), ["src/inner/b.ts"], "it goes no deeper");
    assert_eq!(place.files.list("{src,d}/{a,inner/b}.ts").unwrap().len(), 2);
}

#[test]
fn what_is_not_there_is_no_mistake_whatever_is_in_its_way() {
    let place = Place::new();
    symlink("circle", place.at("circle")).unwrap();
    for path in ["src/a.ts/b", "src/a.ts/b/c", "circle", "circle/x"] {
        assert!(!place.files.exists(path).unwrap(), "{path}");
    }
    assert!(!place.files.remove("src/a.ts/b", false).unwrap());
    assert_eq!(
        place.files.read("src/a.ts/b").unwrap_err().to_string(),
        "there is no `src/a.ts/b` in the workspace"
    );
    assert_eq!(
        place.write("src/a.ts/b", "").unwrap_err().to_string(),
        "`src/a.ts` is a file, and a folder is needed"
    );
    let circle = place.files.read("circle").unwrap_err().to_string();
    assert!(circle.starts_with("`circle` is a symbolic link that leads in a circle"), "{circle}");
    let wide = "y".repeat(300);
    for error in [
        place.files.exists(&wide).map(drop).unwrap_err(),
        place.files.read(&wide).map(drop).unwrap_err(),
        place.write(&format!("new/{wide}"), "").unwrap_err(),
        place.files.remove(&wide, false).map(drop).unwrap_err(),
    ] {
        assert!(error.is_refusal(), "{error:?}");
        assert!(error.to_string().contains("longer than the file system takes"), "{error}");
    }
}
