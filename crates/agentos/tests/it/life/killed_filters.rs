//! Filters that git starts once for many files, as those of git-lfs: killed by a signal, which is no failure of the run, and broken,
//! which is one.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use super::killed_git::{saving, waits_for_program};
use super::site::Site;

/// Leaves the content of files as it is. While there is a file `deadly` beside it, a signal ends it where `AT` says: as it
/// starts, or at its first file. If there is a file `once`, only once.
const FILTER: &str = r#"#!/bin/sh
here=${0%/*}
dies() {
  [ "$1" = AT ] && [ -e "$here/deadly" ] || return 0
  [ -e "$here/once" ] && rm "$here/deadly"
  echo 'there is no memory left' >&2
  kill -s SIGNAL $$
}
packet() {
  length=$(dd bs=1 count=4 2>/dev/null)
  [ -n "$length" ] || exit 0
  [ "$length" = 0000 ] || dd bs=1 count=$((0x$length - 4)) 2>/dev/null >> "$1"
}
packets() {
  : > "$1"
  while packet "$1" && [ "$length" != 0000 ]; do :; done
}
dies start
packets /dev/null
printf '0016git-filter-server\n000eversion=2\n0000'
packets /dev/null
printf '0015capability=clean\n0016capability=smudge\n0000'
while :; do
  packets /dev/null
  dies work
  content=$here/content.$$
  packets "$content"
  size=$(wc -c < "$content")
  printf '0013status=success\n0000'
  [ "$size" -eq 0 ] || printf '%04x' $((size + 4))
  cat "$content"
  rm "$content"
  printf '00000000'
done
"#;

/// Has the files with these names pass through a filter that is called like this.
fn filtered(site: &Site, names: &str, process: &str) {
    fs::write(site.root.join(".gitattributes"), format!("{names} filter=mine\n")).expect("a file");
    site.commit("a filter");
    site.git(&["config", "filter.mine.process", process]);
    site.git(&["config", "filter.mine.required", "true"]);
}

/// Such a filter that a signal ends.
fn deadly_filter(site: &Site, at: &str, signal: &str) -> PathBuf {
    let folder = site.stand.folder("filter");
    let path = folder.join("program");
    let text = FILTER.replace("AT", at).replace("SIGNAL", signal);
    fs::write(&path, text).expect("a program");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
    fs::write(folder.join("deadly"), "").expect("a file");
    path
}

/// A repository with a file that passes through a filter when it is checked out.
fn with_large_file(process: impl FnOnce(&Site) -> String) -> Site {
    let site = Site::new();
    fs::write(site.root.join("large.bin"), "large").expect("a file");
    let process = process(&site);
    filtered(&site, "*.bin", &process);
    site
}

#[test]
fn a_run_waits_while_a_long_running_filter_is_killed() {
    for (at, signal, number) in [("start", "KILL", 9), ("work", "KILL", 9), ("work", "TERM", 15)] {
        let site = saving();
        let program = deadly_filter(&site, at, signal);
        filtered(&site, "one.txt", program.to_str().expect("text"));
        waits_for_program(&site, &program, "there is no memory left", number);
    }
}

#[test]
fn a_long_running_filter_that_is_killed_once_while_a_workspace_is_made_is_no_failure() {
    for at in ["start", "work"] {
        let site = with_large_file(|site| {
            let program = deadly_filter(site, at, "KILL");
            fs::write(program.with_file_name("once"), "").expect("a file");
            program.to_str().expect("text").to_owned()
        });
        site.run(&["run", "work", "--json"]).exits(0);
        assert!(!site.stand.folder("filter").join("deadly").exists(), "it was killed");
    }
}

#[test]
fn where_a_filter_is_killed_each_time_a_workspace_is_made_its_last_words_are_told() {
    let site = with_large_file(|site| {
        deadly_filter(site, "work", "KILL").to_str().expect("text").to_owned()
    });
    let failed = site.run(&["workspace", "run", "box", "--", "true"]).exits(1);
    assert!(failed.err.contains("was ended by signal 9"), "{}", failed.err);
    assert!(failed.err.contains("there is no memory left"), "{}", failed.err);
    assert!(
        failed.err.contains("hint: try again; if it ends like this each time"),
        "{}",
        failed.err
    );
}

#[test]
fn a_filter_that_is_broken_fails_the_run_with_the_words_of_git() {
    let site = saving();
    filtered(&site, "one.txt", "cat");
    let failed = site.run(&["run", "save", "--json"]).exits(1).document();
    let told = failed["error"]["message"].as_str().expect("a message");
    assert!(told.contains("Unexpected line 'git-filter-client'"), "{told}");
    assert!(told.contains("initialization for subprocess 'cat' failed"), "{told}");
}

#[test]
fn a_workspace_whose_filter_is_broken_is_refused_with_the_words_of_git() {
    let site = with_large_file(|_| "cat".to_owned());
    let failed = site.run(&["workspace", "run", "box", "--", "true"]).exits(1);
    assert!(failed.err.contains("Unexpected line 'git-filter-client'"), "{}", failed.err);
    assert!(!failed.err.contains("memory"), "{}", failed.err);
}
