//! `consolidate`: a range of changes is tidied, in git and in jj, or nothing is touched.

use std::fs;
use std::path::Path;

use agentos_testing::jj;
use agentos_testing::repo::Playground;
use serde_json::{Value, json};

use super::site::{Site, failure, steps};
use crate::pulls::program;
use crate::support::wait_until;

/// Answers with these groups, whatever is asked.
fn editor(groups: &Value) -> String {
    let answer = json!({ "groups": groups }).to_string();
    format!("[[session]]\nname = \"propose\"\nplay = [{{ say = '{answer}' }}]\n")
}

/// Three commits: a change, another one, and a fixup of the first.
fn messy() -> (Site, Vec<String>) {
    let site = Site::new();
    for (file, text, message) in [
        ("one.txt", "on\n", "one"),
        ("two.txt", "two\n", "wip"),
        ("one.txt", "one\n", "fixup! one"),
    ] {
        fs::write(site.root.join(file), text).expect("a file");
        site.git(&["add", "."]);
        site.git(&["commit", "--quiet", "--message", message]);
    }
    let listed = site.git(&["rev-list", "--reverse", "HEAD~3..HEAD"]);
    (site, listed.lines().map(ToOwned::to_owned).collect())
}

fn arguments<'a>(start: &'a str, end: &'a str) -> [&'a str; 7] {
    ["consolidate", "--workspace-id", "tidy", "--start-change", start, "--end-change", end]
}

#[test]
fn fixups_are_squashed_into_what_they_mend_and_the_files_stay_the_same() {
    let (site, ids) = messy();
    let [one, two, three] = &ids[..] else { panic!("{ids:?}") };
    let groups = json!([
        { "changes": [one, three], "message": "Add one\n\nIt was missing." },
        { "changes": [two], "message": "Add two" },
    ]);
    let before = site.git(&["rev-parse", "HEAD"]);
    let run = site.play(&editor(&groups), &arguments("HEAD~2", "HEAD")).done().exits(0).document();
    assert_eq!(steps(&run), ["inspect", "propose", "verify", "rewrite"]);
    assert_eq!(run["output"]["previousEnd"].as_str(), Some(before.as_str()));
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_eq!(site.subjects(&format!("main~3..{branch}")), ["Add one", "Add two"]);
    assert_eq!(site.git(&["diff", "main", branch]), "");
    assert_eq!(site.git(&["log", "-1", "--format=%b", &format!("{branch}~1")]), "It was missing.");
    let folder = run["workspace_dir"].as_str().expect("a folder");
    let status = site.stand.git(Path::new(folder), &["status", "--porcelain"]);
    assert_eq!(status, "");
    // The checkout is not touched.
    assert_eq!(site.git(&["rev-parse", "HEAD"]), before);
}

#[test]
fn killed_while_the_branch_moves_it_goes_on_and_the_branch_has_moved_once() {
    let (site, ids) = messy();
    let (reached, go) = (site.stand.at("reached"), site.stand.at("go"));
    // git asks this hook before anything moves; it waits where the end of the range is to be replaced.
    let wait =
        format!("touch {}; while [ ! -e {} ]; do sleep 0.1; done", reached.display(), go.display());
    let hook = format!("if [ \"$1\" = prepared ] && grep -q '^{} '; then {wait}; fi", ids[2]);
    program(&site.root.join(".git/hooks/reference-transaction"), &hook);
    let groups = json!([
        { "changes": [ids[0], ids[2]], "message": "Add one" },
        { "changes": [ids[1]], "message": "Add two" },
    ]);
    let mut process = site.play(&editor(&groups), &arguments("HEAD~2", "HEAD")).start();
    wait_until("the branch is about to move", || reached.exists() || process.has_ended().is_some());
    assert!(process.has_ended().is_none(), "it waits");
    process.kill();
    fs::write(&go, "").expect("a file");
    let run = site.call(&["resume", "--json", "consolidate"]).done().exits(0).document();
    assert_eq!(steps(&run), ["inspect", "propose", "verify", "rewrite"]);
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_eq!(site.subjects(&format!("main~3..{branch}")), ["Add one", "Add two"]);
    assert_eq!(site.git(&["diff", "main", branch]), "");
    let moves = site.git(&["log", "--walk-reflogs", "--format=%gs", branch]);
    assert_eq!(moves.matches("agentos: consolidate").count(), 1, "{moves}");
    assert_eq!(run["agent_sessions"].as_array().map(Vec::len), Some(1), "nobody is asked again");
}

#[test]
fn what_is_on_top_of_the_range_comes_along() {
    let (site, ids) = messy();
    let groups = json!([{ "changes": [ids[0], ids[1]], "message": "Both" }]);
    let run =
        site.play(&editor(&groups), &arguments("HEAD~2", "HEAD~1")).done().exits(0).document();
    let branch = run["branch_name"].as_str().expect("a branch");
    assert_eq!(site.subjects(&format!("main~3..{branch}")), ["Both", "fixup! one"]);
    assert_eq!(site.git(&["diff", "main", branch]), "");
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_is_changed() {
    let (site, ids) = messy();
    // The same line twice: the later change can't come first.
    fs::write(site.root.join("two.txt"), "2\n").expect("a file");
    fs::write(site.root.join("one.txt"), "1\n").expect("a file");
    site.git(&["commit", "--quiet", "--all", "--message=both"]);
    let last = site.git(&["rev-parse", "HEAD"]);
    let conflict = json!([
        { "changes": [ids[0], last], "message": "One" },
        { "changes": [ids[1], ids[2]], "message": "Two" },
    ]);
    let done = site.play(&editor(&conflict), &arguments("HEAD~3", "HEAD")).done();
    let run = done.document();
    let said = failure(done);
    assert!(said.contains("refused, and nothing was changed"), "{said}");
    let branch = run["branch_name"].as_str().expect("a branch").to_owned();
    assert_eq!(site.git(&["rev-parse", &branch]), last);

    let forgotten = json!([{ "changes": [ids[0]], "message": "One" }]);
    let said = failure(site.play(&editor(&forgotten), &arguments("HEAD~3", "HEAD")).done());
    assert!(said.contains("can't be used: the change"), "{said}");
    assert_eq!(site.git(&["rev-parse", &branch]), last);

    for (start, end, words) in [
        ("nothing", "HEAD", "there is no change `nothing`"),
        ("HEAD", "HEAD~2", "does not come after the first"),
    ] {
        let said = failure(site.play(&editor(&conflict), &arguments(start, end)).done());
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn changes_of_jj_keep_their_ids_and_their_files() {
    let mut site = Site::new();
    let playground = Playground::new();
    site.root = jj::repository(&playground, "jj");
    let jj = |arguments: &[&str]| jj::run(&playground, &site.root, arguments).trim().to_owned();
    jj(&["config", "set", "--repo", "user.name", "A. Tester"]);
    jj(&["config", "set", "--repo", "user.email", "tester@example.com"]);
    let change = |file: &str, text: &str, message: &str| {
        fs::write(site.root.join(file), text).expect("a file");
        jj(&["commit", "-m", message]);
        jj(&["log", "--no-graph", "-r", "@-", "-T", "change_id.short(16)"])
    };
    let ids = [
        change("one", "on\n", "one"),
        change("two", "two\n", "wip"),
        change("one", "one\n", "fix"),
    ];
    let groups = json!([
        { "changes": [ids[0], ids[2]], "message": "Add one" },
        { "changes": [ids[1]], "message": "Add two" },
    ]);
    let (start, end) = (ids[0].clone(), ids[2].clone());
    let path = jj::environment(&playground);
    let path = path.get(std::ffi::OsStr::new("PATH")).expect("a path");
    let call = site.play(&editor(&groups), &arguments(&start, &end)).env("PATH", path);
    let run = call.done().exits(0).document();
    assert_eq!(steps(&run), ["inspect", "propose", "verify", "rewrite"]);
    let template = "change_id.short(16) ++ \" \" ++ description.first_line() ++ \"\\n\"";
    let revisions = format!("{}::{}", ids[0], ids[1]);
    let listed = jj(&["log", "--no-graph", "--reversed", "-r", &revisions, "-T", template]);
    assert_eq!(listed, format!("{} Add one\n{} Add two", ids[0], ids[1]));
    assert_eq!(jj(&["file", "show", "-r", &ids[1], "one", "two"]), "one\ntwo");
    let before = run["output"]["previousEnd"].as_str().expect("a commit");
    assert_eq!(jj(&["diff", "--from", before, "--to", &ids[1], "--summary"]), "");
}
