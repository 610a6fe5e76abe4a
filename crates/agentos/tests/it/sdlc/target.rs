//! Where a pull request goes, and that what would keep it from being opened is known before an agent costs money.

use super::site::{Site, failure, scenario, simple, steps};
use crate::support::Call;

/// Fails before anybody works; why.
#[track_caller]
fn refused(call: Call) -> String {
    let done = call.done();
    let run = done.document();
    assert_eq!(steps(&run), ["load-spec", "setup-branch FAILED"]);
    assert_eq!(run["agent_sessions"].as_array().map(Vec::len), Some(0));
    let said = failure(done);
    assert!(said.contains("`build-feature` builds the same without a pull request"), "{said}");
    said
}

#[test]
fn what_would_keep_a_pull_request_from_being_opened_is_told_before_an_agent_begins() {
    let site = Site::new();
    let play = |more: &[&'static str]| site.play(&scenario(), &simple(more));
    let said = refused(play(&[]).without("GITHUB_TOKEN"));
    assert!(said.contains("wants a token") && said.contains("GITHUB_TOKEN"), "{said}");
    let said = refused(play(&[]).env("GITHUB_TOKEN", "an-old-one"));
    assert!(said.contains("does not accept the token (401)"), "{said}");
    assert!(!said.contains("an-old-one"), "{said}");
    let said = refused(play(&["--input", "base=nowhere"]));
    assert!(said.contains("has no branch `nowhere`"), "{said}");
    let said = refused(play(&["--remote", "elsewhere"]));
    assert!(said.contains("there is no remote `elsewhere` (there is origin)"), "{said}");
    site.git(&["remote", "rename", "origin", "mine"]);
    site.git(&["remote", "add", "theirs", "https://github.com/acme/other.git"]);
    let said = refused(play(&[]));
    assert!(said.contains("several remotes (mine, theirs)"), "{said}");
    // The branch that the work begins at follows one of them.
    site.git(&["config", "branch.main.remote", "mine"]);
    play(&[]).done().exits(0);
    assert_eq!(site.forge.pulls().len(), 1);
    site.git(&["remote", "remove", "mine"]);
    site.git(&["remote", "remove", "theirs"]);
    assert!(refused(play(&[])).contains("there is no remote"));
    assert_eq!(site.forge.pulls().len(), 1);
}

#[test]
fn a_remote_of_any_name_will_do_if_it_is_the_only_one_or_named() {
    let site = Site::new();
    site.git(&["remote", "rename", "origin", "upstream"]);
    let run = site.simple(&scenario(), &[]).exits(0).document();
    let branch = run["branch_name"].as_str().expect("a branch").to_owned();
    assert_eq!(site.forge.pulls().len(), 1);
    assert_ne!(site.git(&["ls-remote", "upstream", &format!("refs/heads/{branch}")]), "");

    site.git(&["remote", "add", "origin", "https://github.com/acme/nobody.git"]);
    site.simple(&scenario(), &["--remote", "upstream"]).exits(0);
    assert_eq!(site.forge.pulls().len(), 2);
}

#[test]
fn where_no_forge_is_known_the_branch_is_pushed_and_that_is_said_first_and_last() {
    let site = Site::new();
    let remote = site.stand.at("remotes/shop.git");
    site.git(&["remote", "set-url", "origin", &remote.display().to_string()]);
    let done = site.play(&scenario(), &simple(&[])).without("GITHUB_TOKEN").done().exits(0);
    let run = done.document();
    assert_eq!((&run["pr_url"], &run["output"]["prUrl"]), (&().into(), &().into()));
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_ne!(site.git(&["ls-remote", "origin", &format!("refs/heads/{branch}")]), "");
    let note =
        "note: no pull request is opened, the branch is only pushed: its remote is on no forge";
    let told: Vec<usize> = done.err.match_indices(note).map(|(at, _)| at).collect();
    let [first, last] = told[..] else { panic!("{}", done.err) };
    let (began, ended) = (done.err.find("generate-plan: started"), done.err.rfind("completed in"));
    assert!(Some(first) < began && Some(last) > ended, "{}", done.err);
}
