//! Who plays which role, and what is said when somebody is not there.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::site::{Site, scenario, simple};

/// A folder with git, node and these programs, and nothing else.
fn path_with(site: &Site, programs: &[&str]) -> PathBuf {
    let folder = site.stand.folder("bin");
    let found = |name: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
    };
    for name in ["git", "node", "sh"] {
        let link = folder.join(name);
        let target = found(name).expect("it is installed");
        std::os::unix::fs::symlink(target, link).expect("a link");
    }
    for name in programs {
        fs::write(folder.join(name), "#!/bin/sh\nexit 1\n").expect("a program");
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(folder.join(name), mode).expect("a program");
    }
    folder
}

#[test]
fn a_missing_agent_is_told_before_the_run_starts_with_those_that_are_there() {
    let site = Site::new();
    let path = path_with(&site, &["claude"]);
    let run = ["run", "simple-sdlc", "--feature-name", "D", "--spec-path", "specs/discounts.md"];
    let done = site.call(&run).env("PATH", &path).done().exits(2);
    let words = "codex is not installed, and is to be the implementer of simple-sdlc; installed: claude, scripted";
    assert!(done.err.contains(words), "{}", done.err);
    assert!(done.err.contains("--agent implementer=claude"), "{}", done.err);
    assert!(!site.root.join(".agentos").exists(), "nothing was started");
}

#[test]
fn a_role_is_given_to_another_agent_by_flag_and_by_configuration() {
    let site = Site::new();
    let file = site.stand.at("roles.toml");
    fs::write(&file, scenario()).expect("a scenario");
    let config = format!(
        "[agents.mine]\nkind = \"scripted\"\nscenario = \"{}\"\n[roles]\nplanner = \"mine\"\n",
        file.display()
    );
    fs::create_dir_all(site.root.join(".agent")).expect("a folder");
    fs::write(site.root.join(".agent/config.toml"), config).expect("a configuration");
    let path = path_with(&site, &[]);
    let mut arguments = vec!["run"];
    arguments.extend(simple(&["--json", "--agent", "implementer=mine"]));
    let run = site.call(&arguments).env("PATH", &path).done().exits(0).document();
    let agents: Vec<&str> = run["agent_sessions"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|session| session["agent"].as_str())
        .collect();
    assert_eq!(agents, ["mine", "mine", "mine"]);

    let wrong = site.simple(&scenario(), &["--agent", "painter=mine"]).exits(2).err;
    assert!(wrong.contains("there is no role or agent `painter`"), "{wrong}");
    assert!(wrong.contains("implementer, planner, claude"), "{wrong}");
}
