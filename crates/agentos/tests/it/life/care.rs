//! What is shared with the repository is put right at once, and results are never lost; whoever is refused is told why.

use std::fs;

use super::site::{COMMIT, Site, name_of};

#[test]
fn what_breaks_the_repository_is_put_right_before_the_next_command() {
    let site = Site::new();
    let body = "await ctx.shell('git config core.bare true'); \
                return (await ctx.shell('git -C \"$AGENT_WORKSPACE_REPO_ROOT\" status --porcelain; \
                git config core.bare')).stdout;";
    site.template("break", body);
    site.commit("break");
    let done = site.run(&["run", "break", "--json"]).exits(0);
    assert_eq!(done.document()["output"], "false\n");
    let begin = "While it ran, in the repository: ";
    let told = ["core.bare was false and is true", "core.bare was put back"];
    assert_eq!(site.comments(&name_of(&done)), told.map(|line| format!("{begin}{line}")));
    assert!(done.err.contains("core.bare was put back"), "{}", done.err);
}

#[test]
fn results_of_a_clone_are_kept_aside_where_its_branch_is_checked_out() {
    let site = Site::new();
    let body = format!("await ctx.shell('date +%N > made.txt; git add .; {COMMIT} made');");
    site.template("make", &body);
    site.commit("make");
    let arguments = ["run", "make", "--json", "--workspace", "clone", "--workspace-id", "fix"];
    site.run(&arguments).exits(0);
    site.git(&["checkout", "--quiet", "agentos/fix"]);
    let before = site.git(&["rev-parse", "HEAD"]);
    let done = site.run(&arguments).exits(0);
    let told = site.comments(&name_of(&done)).join("\n");
    let root = site.root.display();
    assert!(told.contains(&format!("it is checked out in {root}")), "{told}");
    assert!(done.err.contains("refs/agentos/collected/fix-"), "{}", done.err);
    assert_eq!(site.git(&["rev-parse", "HEAD"]), before, "nobody's checkout is moved");
    assert_eq!(site.git(&["status", "--porcelain"]), "");
    let kept = site.git(&["for-each-ref", "--format=%(refname)", "refs/agentos/collected"]);
    let inside = done.document()["workspace_dir"].as_str().expect("a path").to_owned();
    let head = site.stand.git(inside.as_ref(), &["rev-parse", "HEAD"]);
    assert_eq!(site.git(&["rev-parse", &kept]), head.trim_end());
}

#[test]
fn an_adopted_worktree_is_spoken_of_as_what_it_is() {
    let site = Site::new();
    let mine = site.stand.at("mine");
    let path = mine.to_string_lossy();
    site.git(&["worktree", "add", "--quiet", "-b", "feature", &path]);
    let told = site.run(&["workspace", "adopt", &path]).exits(0).err;
    assert!(told.contains("it stays yours"), "{told}");
    site.git(&["worktree", "remove", &path]);
    let gone = site.run(&["run", "work", "--workspace-id", "mine"]).exits(4).err;
    assert!(gone.contains("adopted as mine is gone"), "{gone}");
    assert!(!mine.exists(), "what is not ours is not made again");
    site.git(&["worktree", "add", "--quiet", &path, "feature"]);
    site.run(&["workspace", "adopt", &path]).exits(0);
    site.run(&["run", "work", "--workspace-id", "mine"]).exits(0);
    site.run(&["workspace", "run", "ours", "--", "true"]).exits(0);
    let ours = site.workspace("ours")["path"].as_str().expect("a path").to_owned();
    let told = site.run(&["workspace", "adopt", &ours]).exits(0).err;
    assert!(told.contains("AgentOS has made it itself") && !told.contains("stays yours"), "{told}");
}

#[test]
fn whoever_asks_wrongly_is_told_so_and_whoever_would_lose_work_is_refused() {
    let site = Site::new();
    let long = "x".repeat(300);
    for id in ["../x", "a/b", "", &long] {
        for verb in [
            &["workspace", "run", id, "--", "true"][..],
            &["workspace", "shell", id],
            &["workspace", "restore", id],
            &["run", "work", "--workspace-id", id],
        ] {
            let wrong = site.run(verb).exits(2);
            assert!(wrong.err.starts_with("error: "), "{verb:?}: {wrong:#?}");
        }
    }
    for verb in [
        &["workspace", "shell", "nope"][..],
        &["workspace", "clean", "nope"],
        &["workspace", "snapshot", "nope"],
        &["workspace", "status", "nope"],
        &["workspace", "restore", "nope"],
        &["workspace", "adopt", "no/such/folder"],
    ] {
        site.run(verb).exits(3);
    }
    // Branches that are in the way of one another.
    site.git(&["branch", "agentos/taken"]);
    let refused = site.run(&["run", "work", "--workspace-id", "taken"]).exits(4).err;
    assert!(refused.contains("there is a branch agentos/taken already"), "{refused}");
    site.git(&["branch", "agentos/above/below"]);
    let refused = site.run(&["run", "work", "--workspace-id", "above"]).exits(4).err;
    assert!(refused.contains("there is a branch `agentos/above/below`"), "{refused}");
    for branch in ["agentos/taken", "agentos/above/below"] {
        site.git(&["branch", "-D", branch]);
    }
    site.git(&["branch", "agentos"]);
    let refused = site.run(&["run", "work", "--workspace-id", "any"]).exits(4).err;
    assert!(refused.contains("there is a branch `agentos`"), "{refused}");
    assert_eq!(site.git(&["worktree", "list"]).lines().count(), 1);
    assert!(site.workspace("any").is_null() && site.stand.runs(&site.root).is_empty());
    site.git(&["branch", "-D", "agentos"]);
    // A failing hook is nobody's business while a workspace is made.
    let hook = site.root.join(".git/hooks/post-checkout");
    fs::write(&hook, "#!/bin/sh\nexit 3\n").expect("a hook");
    fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("a mode");
    site.run(&["run", "work"]).exits(0);
}

#[test]
fn without_git_nothing_is_made_and_it_is_said_why() {
    let site = Site::new();
    let empty = site.stand.folder("no-programs");
    for arguments in [&["run", "work"][..], &["workspace", "run", "box", "--", "true"]] {
        let refused = site.call(arguments).env("PATH", &empty).done();
        assert!(refused.code.is_some_and(|code| code != 0), "{refused:#?}");
        assert!(refused.err.contains("git can't be asked"), "{refused:#?}");
    }
    assert!(!site.root.join(".agentos").exists(), "no second history is begun");
}
