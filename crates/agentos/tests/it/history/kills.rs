//! SIGKILL around every operation of git: what was done is done once, and nothing is left at work.

use std::fs;
use std::path::PathBuf;

use rustix::process::Signal;
use serde_json::Value;

use super::Site;
use crate::support::{is_alive, kill, wait_until};

/// Waits for the file `go.mark`, after saying that it has begun and who it is.
const WAITS: &str =
    "echo $$ > hook.mark; touch begun.mark; while [ ! -e go.mark ]; do sleep 0.02; done";

impl Site {
    /// Begins a run, kills AgentOS once something of git's has begun to wait, and gives back who waits.
    fn kill_within(&self, workflow: &str) -> i32 {
        let process = self.begin(&["run", workflow, "--workspace", "none"]);
        wait_until("it has begun", || self.has("begun.mark"));
        process.kill();
        let pid = fs::read_to_string(self.root.join("hook.mark")).expect("who it is");
        pid.trim().parse().expect("a number")
    }

    fn resume(&self, workflow: &str) -> Value {
        self.call(&["resume", workflow, "--json"]).exits(0).document()
    }

    /// The folders of calls of git, among those of the commands of all runs.
    fn files_of_git(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.root.join(".agentos")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let is_of_git = entry.file_name().to_string_lossy().starts_with("git-");
                if is_of_git {
                    found.push(entry.path());
                } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    folders.push(entry.path());
                }
            }
        }
        found
    }

    fn go(&self) {
        self.write("go.mark", "");
    }
}

const COMMIT: &str =
    "  const made = await ctx.git.commit(\"work\", { all: true });\n  return made.created;";

#[test]
fn killed_before_the_commit_is_made() {
    let site = Site::new();
    site.write("work", "1\n");
    site.hook("pre-commit", WAITS);
    site.workflow("save", COMMIT);
    let hook = site.kill_within("save");
    assert_eq!(site.files_of_git().len(), 1, "what a killed one leaves is where it is found again");
    site.go();
    let resumed = site.resume("save");
    assert_eq!(resumed["output"], true);
    assert!(!is_alive(hook));
    assert_eq!(site.files_of_git(), Vec::<PathBuf>::new());
    assert_eq!((site.count(), site.git(&["status", "--porcelain"])), (2, String::new()));
    assert_eq!(resumed["commit_sha"], site.git(&["rev-parse", "HEAD"]));
}

#[test]
fn what_a_killed_agentos_left_at_work_is_ended_before_it_is_done_again() {
    let site = Site::new();
    site.write("work", "1\n");
    site.hook("pre-commit", WAITS);
    site.workflow("save", COMMIT);
    let hook = site.kill_within("save");
    assert!(is_alive(hook), "nobody has ended it yet");
    // From now on the hook agrees at once; the old one still waits.
    site.hook("pre-commit", "exit 0");
    assert_eq!(site.resume("save")["output"], true);
    assert!(!is_alive(hook), "two never work at once");
    assert_eq!(site.count(), 2);
}

#[test]
fn killed_after_the_commit_was_made() {
    let site = Site::new();
    site.hook("post-commit", WAITS);
    site.workflow("save", &COMMIT.replace("all", "allowEmpty"));
    site.kill_within("save");
    assert_eq!(site.count(), 2, "it is made, and the run does not know");
    site.go();
    let resumed = site.resume("save");
    assert_eq!(resumed["output"], true);
    assert_eq!(site.count(), 2, "it is made once");
    assert_eq!(resumed["commit_sha"], site.git(&["rev-parse", "HEAD"]));
}

#[test]
fn killed_together_with_git_which_leaves_its_lock() {
    let site = Site::new();
    site.write("work", "1\n");
    // A filter waits while git holds the lock of its index.
    site.write(".gitattributes", "work filter=slow\n");
    site.git(&["config", "filter.slow.clean", &format!("{WAITS}; cat")]);
    site.workflow("save", COMMIT);
    let filter = site.kill_within("save");
    let stat = fs::read_to_string(format!("/proc/{filter}/stat")).expect("it waits");
    let parent = stat.rsplit_once(") ").expect("fields").1.split(' ').nth(1).expect("a parent");
    let git: i32 = parent.parse().expect("a number");
    kill(git, Signal::KILL);
    kill(filter, Signal::KILL);
    wait_until("git is dead", || !is_alive(git) && !is_alive(filter));
    assert!(site.has(".git/index.lock"), "nobody took it away");
    site.go();
    assert_eq!(site.resume("save")["output"], true);
    assert_eq!((site.count(), site.git(&["status", "--porcelain"])), (2, String::new()));
}

#[test]
fn killed_while_everything_is_staged() {
    let site = Site::new();
    site.write("work", "1\n");
    site.write(".gitattributes", "work filter=slow\n");
    site.git(&["config", "filter.slow.clean", &format!("{WAITS}; cat")]);
    site.workflow("stage", "  return (await ctx.git.stageAll()).staged;");
    site.kill_within("stage");
    site.go();
    assert_eq!(site.resume("stage")["output"], 2);
    assert_eq!(site.git(&["diff", "--cached", "--name-only"]), ".gitattributes\nwork");
}

#[test]
fn killed_while_a_branch_is_made() {
    let site = Site::new();
    site.hook("post-checkout", WAITS);
    site.workflow("branch", "  return (await ctx.git.ensureBranch(\"topic\")).branch;");
    site.kill_within("branch");
    site.go();
    let resumed = site.resume("branch");
    assert_eq!((&resumed["output"], &resumed["branch_name"]), (&"topic".into(), &"topic".into()));
    assert_eq!(site.git(&["branch", "--show-current"]), "topic");
    assert_eq!(site.git(&["branch", "--format=%(refname:short)"]), "main\ntopic");
}

#[test]
fn killed_again_and_again_a_run_makes_each_of_its_commits_once() {
    const COMMITS: usize = 12;
    let site = Site::new();
    site.workflow(
        "many",
        &format!(
            "  for (let n = 1; n <= {COMMITS}; n++) {{\n\
             if (n === {half}) await ctx.shell(\"while [ ! -e half.mark ]; do sleep 0.02; done\");\n\
             await ctx.run(`save ${{n}}`, async () => {{\n\
             await ctx.git.ensureBranch(`topic-${{n % 3}}`);\n\
             await ctx.files.write(`file-${{n}}`, `${{n}}\\n`);\n\
             await ctx.git.stageAll();\n\
             await ctx.git.commit(`number ${{n}}`);\n\
             await ctx.git.commit(`empty ${{n}}`, {{ allowEmpty: true }});\n\
             }}, {{ retry: {{ maxAttempts: 1 }} }});\n\
             }}\n  await ctx.shell(\"while [ ! -e go.mark ]; do sleep 0.02; done\");\n  return \"done\";",
            half = COMMITS / 2 + 1,
        ),
    );
    site.write(".git/info/exclude", "*.mark\n");
    // Somewhere in the middle of each third commit, wherever that is. It does not get past its half before it was killed
    // twice, nor to its end before it was killed four times.
    let mut process = site.begin(&["run", "many", "--workspace", "none", "--json"]);
    for kills in 1..=4 {
        wait_until("it has come some way", || site.count() > kills * 5);
        process.kill();
        if kills == 2 {
            site.write("half.mark", "");
        }
        process = site.begin(&["resume", "many", "--json"]);
    }
    site.go();
    assert_eq!(process.done().exits(0).document()["output"], "done");
    let subjects = site.git(&["log", "--all", "--format=%s"]);
    let mut subjects: Vec<&str> = subjects.lines().collect();
    subjects.sort_unstable();
    let mut expected: Vec<String> = (1..=COMMITS)
        .flat_map(|number| [format!("number {number}"), format!("empty {number}")])
        .chain(["first".to_owned()])
        .collect();
    expected.sort_unstable();
    assert_eq!(subjects, expected);
}

#[test]
fn killed_together_with_git_which_leaves_the_lock_of_its_branch() {
    let site = Site::new();
    // This hook runs while git holds the lock of the branch.
    site.hook("reference-transaction", &format!("[ \"$1\" = prepared ] || exit 0; {WAITS}"));
    site.workflow("save", &COMMIT.replace("all", "allowEmpty"));
    let hook = site.kill_within("save");
    let stat = fs::read_to_string(format!("/proc/{hook}/stat")).expect("it waits");
    let parent = stat.rsplit_once(") ").expect("fields").1.split(' ').nth(1).expect("a parent");
    let git: i32 = parent.parse().expect("a number");
    kill(git, Signal::KILL);
    kill(hook, Signal::KILL);
    wait_until("git is dead", || !is_alive(git) && !is_alive(hook));
    assert!(site.has(".git/refs/heads/main.lock"), "nobody took it away");
    site.go();
    assert_eq!(site.resume("save")["output"], true);
    assert_eq!(site.count(), 2);
}

#[test]
fn killed_after_a_commit_whose_trailers_git_would_write_in_another_way() {
    let site = Site::new();
    site.git(&["config", "trailer.separators", "="]);
    site.hook("post-commit", WAITS);
    site.workflow("save", &COMMIT.replace("all", "allowEmpty"));
    site.kill_within("save");
    site.go();
    assert_eq!(site.resume("save")["output"], true);
    assert_eq!(site.count(), 2, "it is made once");
}
