//! Workspaces on a disk that is too small, or that nobody may write to: a namespace of mounts, which goes with its holder.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};

use super::site::Site;
use crate::support::{Call, Done, Process, wait_until};

/// Somebody who holds a file system of a few megabytes at the place for workspaces.
struct SmallDisk {
    site: Site,
    holder: Process,
    root: PathBuf,
}

impl SmallDisk {
    /// A disk with these options of tmpfs, and a repository with a file of three megabytes.
    fn new(options: &str) -> Self {
        let site = Site::new();
        fs::write(site.root.join("large.bin"), vec![7; 3 << 20]).expect("a file");
        site.commit("a large file");
        let root = site.stand.folder("workspaces");
        let script = format!(
            "mount -t tmpfs -o {options} none {} && echo mounted && exec sleep 1000",
            root.display()
        );
        let unshare = Path::new("/usr/bin/unshare");
        let call = site.stand.call_program(unshare, &site.root, &["-rm", "sh", "-c", &script]);
        let mut holder = call.start();
        let mut said = String::new();
        let out = holder.child().stdout.take().expect("it can be read");
        BufReader::new(out).read_line(&mut said).expect("it can be read");
        assert_eq!(said, "mounted\n", "a file system can be mounted in a namespace of one's own");
        Self { site, holder, root }
    }

    /// The binary where that disk is seen.
    fn call(&mut self, arguments: &[&str]) -> Call {
        let binary = env!("CARGO_BIN_EXE_agentos");
        self.call_program(&[&[binary], arguments].concat())
    }

    fn call_program(&mut self, words: &[&str]) -> Call {
        let pid = self.holder.pid().to_string();
        let enter = ["-t", &pid, "-U", "-m", "--preserve-credentials", "--"];
        let folder = format!("--wd={}", self.site.root.display());
        let words = [&[&*folder][..], &enter[..], words].concat();
        let nsenter = Path::new("/usr/bin/nsenter");
        let call = self.site.stand.call_program(nsenter, &self.site.root, &words);
        call.without("AGENTOS_WORKSPACE_KIND").env("AI_WORKSPACES_ROOT", &self.root)
    }

    fn run(&mut self, arguments: &[&str]) -> Done {
        self.call(arguments).done()
    }

    fn resize(&mut self, size: &str) {
        let root = self.root.to_string_lossy().into_owned();
        let how = format!("remount,size={size}");
        self.call_program(&["mount", "-o", &how, &root]).done().exits(0);
    }
}

#[test]
fn a_run_that_does_not_fit_waits_until_there_is_room() {
    let mut disk = SmallDisk::new("size=1m");
    let started = disk.run(&["run", "work", "--detach"]).exits(0);
    assert!(started.err.contains("there is no room for the workspace"), "{}", started.err);
    let id = started.out.trim().to_owned();
    disk.site.until_it_waits(&id, "disk");
    let shown = disk.site.run(&["show", &id]).exits(0).out;
    assert!(
        shown.contains("it takes about 3.") && shown.contains("agentos workspace gc"),
        "{shown}"
    );
    assert!(disk.site.show(&id)["waiting"]["until"].is_string(), "it is looked at again");
    assert_eq!(disk.site.git(&["worktree", "list"]).lines().count(), 1, "nothing is half made");
    // What is committed meanwhile is not what it was started with.
    let base = disk.site.git(&["rev-parse", "HEAD"]);
    disk.site.git(&["commit", "--quiet", "--allow-empty", "-m", "later"]);
    disk.resize("64m");
    let run = disk.site.until_status(&id, "COMPLETED");
    assert_eq!(run["output"], run["workspace_dir"]);
    assert_eq!(disk.site.git(&["rev-parse", &format!("agentos/{id}")]), base);
    let told = disk.site.comments(&id).join("\n");
    assert!(told.contains("was made when there was room for it"), "{told}");
}

/// Says which files it finds, makes one, and stays until the test lets it go on.
const STAYS: &str = r#"
  const dir = "$AGENT_WORKSPACE_REPO_ROOT/.git";
  return await ctx.run("make", async (ctx) =>
    (await ctx.shell(`ls made 2>/dev/null; touch made ${dir}/begun; until [ -e ${dir}/go-on ]; do sleep 0.05; done`)).stdout);
"#;

#[test]
fn files_are_kept_before_the_first_command_in_a_workspace_that_was_made_late() {
    let site = Site::new();
    site.template("stays", STAYS);
    site.commit("stays");
    site.configure("[workspace]\nmin_free_disk = \"900000 GB\"\n");
    let id = site.run(&["run", "stays", "--detach"]).exits(0).out.trim().to_owned();
    site.until_it_waits(&id, "disk");
    site.configure("");
    wait_until("its command has made a file", || site.root.join(".git/begun").exists());
    site.stand.kill_executors();
    site.run(&["resume", &id, "--detach"]).exits(0);
    let run = site.show(&id)["id"].as_str().expect("an id").to_owned();
    let reference = format!("refs/agentos/runs/{run}");
    wait_until("its files are kept", || !site.git(&["for-each-ref", &reference]).is_empty());
    fs::write(site.root.join(".git/go-on"), "").expect("a file");
    assert_eq!(site.until_status(&id, "COMPLETED")["output"], "");
    let fork = site.run(&["fork", &id, "--from-step", "make", "--json"]).exits(0).document();
    assert_eq!(fork["output"], "", "the file was made by the step itself");
}

#[test]
fn a_command_that_does_not_fit_is_refused() {
    let mut disk = SmallDisk::new("size=1m");
    let refused = disk.run(&["workspace", "run", "box", "--", "true"]).exits(4);
    assert!(refused.err.contains("there is no room for the workspace"), "{}", refused.err);
    disk.resize("8m");
    disk.run(&["workspace", "run", "box", "--", "true"]).exits(0);
    disk.site.configure("[workspace]\nmin_free_disk = \"100 MB\"\n");
    let refused = disk.run(&["workspace", "run", "other", "--", "true"]).exits(4);
    assert!(refused.err.contains("workspace.min_free_disk"), "{}", refused.err);
    assert_eq!(disk.site.git(&["branch", "--list", "agentos/*"]).lines().count(), 1);
}

/// The listing of its files has more bytes than any other answer of git may have. It is read only where disk is scarce.
#[test]
fn a_repository_with_a_long_list_of_files_gets_a_workspace_on_a_small_disk() {
    let mut disk = SmallDisk::new("size=256m");
    let deep: PathBuf = std::iter::repeat_n("d".repeat(200), 8).collect();
    let folder = disk.site.root.join(deep);
    fs::create_dir_all(&folder).expect("folders");
    for number in 0..2_600 {
        fs::write(folder.join(number.to_string()), "").expect("a file");
    }
    disk.site.commit("many files with long paths");
    let listed = disk.site.git(&["ls-tree", "-r", "-l", "HEAD"]);
    assert!(listed.len() > 4 << 20, "{} bytes", listed.len());
    disk.run(&["workspace", "run", "box", "--", "true"]).exits(0);
}

#[test]
fn a_disk_without_inodes_is_full_too() {
    let mut disk = SmallDisk::new("size=64m,nr_inodes=8");
    let refused = disk.run(&["workspace", "run", "box", "--", "true"]).exits(4);
    assert!(refused.err.contains("there is no room for the workspace"), "{}", refused.err);
    assert_eq!(disk.site.git(&["branch", "--list", "agentos/*"]), "");
}

#[test]
fn a_disk_that_is_full_after_all_leaves_nothing_half_made() {
    let mut disk = SmallDisk::new("size=16m");
    // A filter makes more of a file than anybody could have known.
    fs::write(disk.site.root.join(".gitattributes"), "*.bin filter=grow\n").expect("a file");
    disk.site.commit("a filter");
    disk.site.git(&["config", "filter.grow.smudge", "cat; head -c 30000000 /dev/zero"]);
    disk.site.git(&["config", "filter.grow.required", "true"]);
    let refused = disk.run(&["workspace", "run", "box", "--", "true"]).exits(4);
    assert!(refused.err.contains("there is no room for the workspace"), "{}", refused.err);
    assert_eq!(disk.site.git(&["branch", "--list", "agentos/*"]), "");
    assert_eq!(disk.site.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn what_can_not_be_backed_up_is_not_removed() {
    let site = Site::new();
    let git = site.root.join(".git");
    // The repository is on the small disk, and what is in the workspace does not fit into it.
    let script = format!(
        "set -e; cp -a {git} {git}.copy; mount -t tmpfs -o size=4m none {git}; cp -a {git}.copy/. {git}; \
         {agentos} workspace run box -- sh -c 'head -c 9000000 /dev/urandom > large.bin' >&2; \
         set +e; {agentos} workspace clean box --force; echo \"code $?\"; \
         find \"$HOME/.cache/ai-workspaces\" -name large.bin -not -path '*trash*' -printf '%s\n'",
        git = git.display(),
        agentos = env!("CARGO_BIN_EXE_agentos"),
    );
    let unshare = Path::new("/usr/bin/unshare");
    let call = site.stand.call_program(unshare, &site.root, &["-rm", "sh", "-c", &script]);
    let done = call.without("AGENTOS_WORKSPACE_KIND").done();
    assert!(done.out.contains("code 4") && done.out.contains("No space left"), "{done:#?}");
    assert!(done.out.trim_end().ends_with("9000000"), "it is all there: {done:#?}");
}

#[test]
fn a_root_that_nobody_may_write_to_is_said_so() {
    let site = Site::new();
    let root = site.stand.folder("workspaces");
    // Whoever is root may write anywhere but to a file system that is mounted for reading.
    let script = format!(
        "mount --bind {root} {root} && mount -o remount,ro,bind {root} && exec {} workspace run box -- true",
        env!("CARGO_BIN_EXE_agentos"),
        root = root.display(),
    );
    let unshare = Path::new("/usr/bin/unshare");
    let call = site.stand.call_program(unshare, &site.root, &["-rm", "sh", "-c", &script]);
    let call = call.without("AGENTOS_WORKSPACE_KIND").env("AI_WORKSPACES_ROOT", &root);
    let refused = call.done().exits(2);
    assert!(refused.err.contains("the folder for workspaces"), "{}", refused.err);
    assert!(refused.err.contains("Read-only file system"), "{}", refused.err);
    wait_until("nothing is left", || site.workspace("box").is_null());
    assert_eq!(site.git(&["branch", "--list", "agentos/*"]), "");
}
