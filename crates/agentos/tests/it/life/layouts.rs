//! Repositories of other shapes: bare ones with worktrees, and those of jj.

use std::fs;

use agentos_testing::jj;

use super::site::Site;
use crate::support::Call;

#[test]
fn runs_work_in_a_worktree_of_a_bare_repository() {
    let site = Site::new();
    let (bare, main) = (site.stand.at("project/.bare"), site.stand.at("project/main"));
    let (from, to) = (site.root.to_string_lossy(), bare.to_string_lossy());
    site.git(&["clone", "--quiet", "--bare", &from, &to]);
    site.stand.git(&bare, &["worktree", "add", "--quiet", &main.to_string_lossy(), "main"]);
    let run = site.call_in(&main, &["run", "work", "--json"]).done().exits(0).document();
    let path = run["workspace_dir"].as_str().expect("a path");
    assert_eq!(run["output"], path);
    assert_eq!(run["work_dir"], *main.to_string_lossy());
    let namespace = path.rsplit('/').nth(1).expect("a folder").to_owned();
    assert!(namespace.starts_with(".bare-"), "{namespace}");
    // Clones, retries and cleaning too.
    let arguments = ["run", "work", "--json", "--workspace", "clone"];
    site.call_in(&main, &arguments).done().exits(0);
    site.call_in(&main, &["workspace", "clean", "--all"]).done().exits(0);
    let listed = site.stand.git(&bare, &["worktree", "list"]);
    assert_eq!(listed.lines().count(), 2, "{listed}");
    // The repository itself has no files, and says where there are some.
    let wrong = site.call_in(&bare, &["run", "work"]).done().exits(2);
    assert!(wrong.err.contains("change into one of its worktrees"), "{}", wrong.err);
}

/// With jj to be found.
fn with_jj(call: Call) -> Call {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(jj::folder()).chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("no colons");
    call.env("PATH", path).env("JJ_USER", "A").env("JJ_EMAIL", "a@b")
}

#[test]
fn a_jj_repository_with_submodules_or_lfs_has_git_worktrees_and_says_so() {
    let site = Site::new();
    let program = jj::folder().join("jj");
    let init = ["git", "init", "--colocate"];
    with_jj(site.stand.call_program(&program, &site.root, &init)).done().exits(0);
    fs::write(site.root.join(".gitattributes"), "*.bin filter=lfs\n").expect("a file");
    let done = with_jj(site.call(&["run", "work", "--json"])).done().exits(0);
    assert!(done.err.contains("uses git LFS, which jj does not know"), "{}", done.err);
    let id = done.document()["workspace_id"].as_str().expect("an id").to_owned();
    assert_eq!(site.workspace(&id)["kind"], "worktree");
    fs::remove_file(site.root.join(".gitattributes")).expect("it is there");
    fs::write(site.root.join(".gitmodules"), "").expect("a file");
    let done = with_jj(site.call(&["run", "work", "--json"])).done().exits(0);
    assert!(done.err.contains("has submodules, which jj does not check out"), "{}", done.err);
    fs::remove_file(site.root.join(".gitmodules")).expect("it is there");
    let done = with_jj(site.call(&["run", "work", "--json"])).done().exits(0);
    let id = done.document()["workspace_id"].as_str().expect("an id").to_owned();
    assert_eq!(site.workspace(&id)["kind"], "jj");
    // Whoever asks for jj by name is not given something else.
    fs::write(site.root.join(".gitmodules"), "").expect("a file");
    with_jj(site.call(&["run", "work", "--workspace", "jj"])).done().exits(2);
}
