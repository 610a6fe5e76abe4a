//! Repositories and machines that are not as one would wish.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use agentos_testing::repo::Playground;
use agentos_testing::wait::wait_until;
use agentos_workspace::workspace::isolation::IsolationError;
use agentos_workspace::workspace::occupy::{Ending, Work};
use agentos_workspace::workspace::points::NoPoints;
use agentos_workspace::workspace::policy::{Lfs, Submodules};
use agentos_workspace::workspace::yard::{OpenError, Opened, Wanted};
use agentos_workspace::workspace::{Kind, State, guard, include};

use crate::place::{Ground, NOW, Place, wanted};

/// A place of which nothing is left behind by whatever is done.
fn leaves_nothing(place: &Place, act: impl FnOnce(&Place)) {
    let before = place.traces();
    act(place);
    assert_eq!(place.traces(), before);
}

#[test]
fn a_git_that_is_killed_half_way_is_cleaned_up_after() {
    let place = Place::new(Kind::Worktree);
    fs::write(place.repo.join(".gitattributes"), "*.die filter=die\n").unwrap();
    fs::write(place.repo.join("a.die"), "x").unwrap();
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "a file that kills"]);
    place.git(&place.repo, &["config", "filter.die.smudge", "kill -9 $PPID; cat"]);
    leaves_nothing(&place, |place| {
        let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
        assert!(matches!(refused, OpenError::Isolation(IsolationError::Call(_))), "{refused}");
    });
    place.git(&place.repo, &["config", "--unset", "filter.die.smudge"]);
    assert_eq!(place.open("fix-1").1, Opened::Made);
}

#[test]
fn a_filter_that_is_missing_leaves_no_branch_behind() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        fs::write(place.repo.join(".gitattributes"), "*.bin filter=need\n").unwrap();
        fs::write(place.repo.join("a.bin"), "x").unwrap();
        place.git(&place.repo, &["add", "."]);
        place.git(&place.repo, &["commit", "--quiet", "-m", "a file"]);
        let home = place.playground.home().join("gitconfig");
        fs::write(&home, "[filter \"need\"]\n\tsmudge = no-such-program\n\trequired = true\n")
            .unwrap();
        let mut ground = place.ground();
        ground.surroundings.environment.insert("GIT_CONFIG_GLOBAL".into(), home.into());
        leaves_nothing(&place, |place| {
            let refused = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap_err();
            assert!(refused.to_string().contains("no-such-program"), "{refused}");
        });
    }
}

#[test]
fn hooks_do_not_run_while_a_workspace_is_made() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let hook = place.repo.join(".git/hooks/post-checkout");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\ntouch hooked\nexit 3\n").unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
        let (made, _) = place.open("fix-1");
        assert!(!made.path.join("hooked").exists());
    }
}

#[test]
fn without_a_commit_there_is_no_workspace() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let playground = Playground::new();
        let repo = playground.empty_repository("project");
        let place = Place { playground, kind, repo };
        leaves_nothing(&place, |place| {
            let refused = place.try_open(&place.wanted("fix-1")).unwrap_err();
            let is_it = matches!(refused, OpenError::Isolation(IsolationError::NoCommit { .. }));
            assert!(is_it, "{refused}");
        });
    }
}

#[test]
fn a_bare_repository_with_worktrees_has_workspaces_of_its_own() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let playground = Playground::new();
        let source = playground.repository("source");
        let bare = playground.at("project/.bare");
        let (from, to) = (source.to_string_lossy(), bare.to_string_lossy());
        playground.git(&source, ["clone", "--quiet", "--bare", &*from, &*to]);
        let repo = playground.at("project/main");
        playground.git(&bare, ["worktree", "add", "--quiet", &*repo.to_string_lossy(), "main"]);
        let place = Place { playground, kind, repo };
        assert_eq!(place.ground().repository.main_root, bare);
        let (made, _) = place.open("fix-1");
        assert!(made.path.join("README.md").exists());
        assert!(
            made.path
                .parent()
                .unwrap()
                .file_name()
                .unwrap()
                .to_string_lossy()
                .starts_with(".bare-")
        );
    }
}

#[test]
fn a_shallow_clone_and_a_detached_head_are_fine() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let playground = Playground::new();
        let source = playground.repository("source");
        fs::write(source.join("more.txt"), "more").unwrap();
        playground.git(&source, ["add", "."]);
        playground.git(&source, ["commit", "--quiet", "-m", "second"]);
        let repo = playground.at("project");
        let from = format!("file://{}", source.display());
        playground.git(&source, ["clone", "--quiet", "--depth=1", &from, &*repo.to_string_lossy()]);
        playground.git(&repo, ["checkout", "--quiet", "--detach"]);
        playground.git(&repo, ["commit", "--quiet", "--allow-empty", "-m", "on no branch"]);
        let place = Place { playground, kind, repo };
        let (made, _) = place.open("fix-1");
        assert_eq!(place.git(&made.path, &["rev-parse", "HEAD"]), made.base);
        let origin = place.git(&made.path, &["remote", "get-url", "origin"]);
        assert_eq!(origin, from, "a push goes where it would from the checkout");
    }
}

#[test]
fn a_clone_has_the_remotes_of_its_repository_and_nothing_else_of_its_configuration() {
    let place = Place::new(Kind::Clone);
    let upstream = place.playground.at("upstream.git");
    place.git(&place.repo, &["init", "--quiet", "--bare", &upstream.to_string_lossy()]);
    place.git(&place.repo, &["remote", "add", "origin", "../upstream.git"]);
    place.git(&place.repo, &["push", "--quiet", "origin", "main"]);
    place.git(&place.repo, &["config", "core.hooksPath", "/somewhere"]);
    place.git(&place.repo, &["config", "user.name", "Ada"]);
    let (made, _) = place.open("fix-1");
    let asked =
        |key: &str| place.git(&made.path, &["config", "--local", "--default", "", "--get", key]);
    assert_eq!(asked("remote.origin.url"), place.repo.join("../upstream.git").to_string_lossy());
    assert_eq!((asked("user.name").as_str(), asked("core.hooksPath").as_str()), ("Ada", ""));
    let known = place.git(&made.path, &["for-each-ref", "--format=%(refname)", "refs/remotes"]);
    assert_eq!(known, "refs/remotes/origin/main");
    place.commit_in(&made, "work.txt");
    place.git(&made.path, &["push", "--quiet", "origin", "HEAD"]);
    assert!(place.git(&upstream, &["branch", "--list"]).contains("agentos/fix-1"));
    assert!(!place.git(&place.repo, &["branch", "--list"]).contains("agentos/fix-1"));
}

#[test]
fn nothing_that_the_repository_cleans_up_is_missing_in_a_clone() {
    let place = Place::new(Kind::Clone);
    place.git(&place.repo, &["checkout", "--quiet", "-b", "side"]);
    place.git(&place.repo, &["commit", "--quiet", "--allow-empty", "-m", "side"]);
    let (made, _) = place.open("fix-1");
    place.git(&place.repo, &["checkout", "--quiet", "main"]);
    place.git(&place.repo, &["branch", "-D", "side"]);
    place.git(&place.repo, &["reflog", "expire", "--expire=now", "--all"]);
    place.git(&place.repo, &["gc", "--quiet", "--prune=now"]);
    assert_eq!(place.git(&made.path, &["fsck", "--connectivity-only"]), "");
}

#[test]
fn a_worktree_survives_a_prune_where_it_can_not_be_seen() {
    let place = Place::new(Kind::Worktree);
    let (made, _) = place.open("fix-1");
    let hidden = place.playground.at("hidden");
    fs::rename(&made.path, &hidden).unwrap();
    place.git(&place.repo, &["worktree", "prune", "--expire=now"]);
    fs::rename(&hidden, &made.path).unwrap();
    assert_eq!(place.open("fix-1").1, Opened::Found);
}

#[test]
fn a_sparse_checkout_stays_sparse() {
    let place = Place::new(Kind::Worktree);
    for name in ["one/a.txt", "two/b.txt"] {
        fs::create_dir_all(place.repo.join(name).parent().unwrap()).unwrap();
        fs::write(place.repo.join(name), name).unwrap();
    }
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "folders"]);
    place.git(&place.repo, &["sparse-checkout", "set", "one"]);
    let (made, _) = place.open("fix-1");
    assert!(made.path.join("one/a.txt").exists() && !made.path.join("two").exists());
    assert_eq!(place.changes(&made.path), "");
}

#[test]
fn a_root_that_can_not_be_used_is_said_so() {
    let place = Place::new(Kind::Worktree);
    let file = place.playground.at("a-file");
    fs::write(&file, "").unwrap();
    let mut ground = place.ground();
    ground.root = file.join("below");
    leaves_nothing(&place, |place| {
        let refused = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap_err();
        assert!(refused.to_string().contains("can't be made"), "{refused}");
    });
    let link = place.playground.at("link");
    symlink(place.playground.folder("real"), &link).unwrap();
    ground.root = link;
    leaves_nothing(&place, |place| {
        let refused = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap_err();
        assert!(refused.to_string().contains("leads elsewhere"), "{refused}");
    });
}

#[test]
fn a_workspace_for_a_run_that_never_came_to_be_is_taken_back() {
    for kind in Kind::ALL {
        let place = Place::new(kind);
        let before = place.traces();
        let wanted = Wanted { run: Some("a-run".to_owned()), ..place.wanted("fix-1") };
        let (made, _) = place.try_open(&wanted).unwrap();
        let run = place.playground.at("a-run");
        fs::write(&run, "").unwrap();
        assert!(place.ground().yard(&NoPoints).repair().unwrap().is_empty(), "it is there");
        fs::remove_file(&run).unwrap();
        assert_eq!(place.ground().yard(&NoPoints).repair().unwrap(), [made]);
        assert_eq!(place.traces(), before);
    }
}

#[test]
fn a_workspace_is_free_when_its_run_has_ended_whoever_was_killed_then() {
    let place = Place::new(Kind::Worktree);
    let (mut made, _) = place.open("fix-1");
    let ground = place.ground();
    let run = place.playground.at("a-run");
    fs::write(&run, "").unwrap();
    let work = Work { run: Some("a-run".to_owned()), ..Work::default() };
    ground.yard(&NoPoints).occupy(&mut made, &work, NOW).unwrap();
    assert!(ground.yard(&NoPoints).repair().unwrap().is_empty());
    fs::write(&run, "ended").unwrap();
    let repaired = ground.yard(&NoPoints).repair().unwrap();
    assert_eq!(repaired.iter().map(|found| found.state).collect::<Vec<_>>(), [State::Released]);
}

#[test]
fn what_breaks_the_repository_is_told_and_put_right() {
    let place = Place::new(Kind::Worktree);
    let (mut made, _) = place.open("fix-1");
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    yard.occupy(&mut made, &Work::default(), NOW).unwrap();
    place.commit_in(&made, "work.txt");
    // What a test suite does that runs in a hook and makes a repository.
    let private = place.git(&made.path, &["rev-parse", "--git-dir"]);
    let mut environment = place.playground.environment();
    environment.insert("GIT_DIR".into(), private.into());
    let init = place.playground.folder("init");
    place.playground.run_with(&environment, "git", &init, ["init", "--quiet"]);
    place.git(&made.path, &["branch", "stray"]);
    for key in ["user.name", "alias.hi"] {
        place.git(&place.repo, &["config", "--file", ".git/config", key, "x"]);
    }
    fs::create_dir_all(place.repo.join(".git/hooks")).unwrap();
    fs::write(place.repo.join(".git/hooks/pre-push"), "#!/bin/sh\n").unwrap();
    let bare = ["config", "--file", ".git/config", "core.bare"];
    assert_eq!(place.git(&place.repo, &bare), "true");
    let told = guard::end(&ground.surroundings, &made);
    assert_eq!(
        told,
        [
            "core.bare was false and is true",
            "changed in the configuration of the repository: alias.hi, user.name",
            "the hooks of the repository have changed",
            "changed outside of its branch: refs/heads/stray",
            "core.bare was put back",
        ]
    );
    assert_eq!(place.git(&place.repo, &bare), "false");
    yard.release(&mut made, &Ending::default(), NOW).unwrap();
    assert_eq!(place.git(&place.repo, &["status", "--porcelain"]), "");
    assert!(guard::end(&ground.surroundings, &made).is_empty(), "it is told once");
}

#[test]
fn what_a_push_sets_and_what_other_runs_do_is_no_news() {
    let place = Place::new(Kind::Worktree);
    let (mut made, _) = place.open("fix-1");
    let ground = place.ground();
    let yard = ground.yard(&NoPoints);
    let path = made.path.clone();
    let upstream = |key: &str, value: &str| {
        place.git(&path, &["config", &format!("branch.agentos/fix-1.{key}"), value]);
    };
    yard.occupy(&mut made, &Work::default(), NOW).unwrap();
    place.commit_in(&made, "work.txt");
    upstream("remote", "origin");
    upstream("merge", "refs/heads/agentos/fix-1");
    place.git(&made.path, &["branch", "agentos/of-another-run"]);
    assert!(guard::end(&ground.surroundings, &made).is_empty());
    yard.release(&mut made, &Ending::default(), NOW).unwrap();

    yard.occupy(&mut made, &Work::default(), NOW).unwrap();
    upstream("remote", "elsewhere");
    place.git(&made.path, &["config", "alias.st", "status"]);
    let told = guard::end(&ground.surroundings, &made);
    assert_eq!(told, ["changed in the configuration of the repository: alias.st"]);
}

#[test]
fn files_that_git_does_not_keep_are_copied_if_the_repository_asks_for_it() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let outside = place.playground.at("outside.txt");
        fs::write(&outside, "outside").unwrap();
        furnish_includes(&place, &outside);
        let (made, _) = place.open("fix-1");
        let read = |name: &str| fs::read_to_string(made.path.join(name)).unwrap();
        assert_eq!((read(".env").as_str(), read("data/local.db").as_str()), ("SECRET=1", "rows"));
        let mode = fs::metadata(made.path.join(".env")).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o600);
        assert_eq!(fs::read_link(made.path.join("data/link")).unwrap(), outside);
        assert!(!made.path.join("data/big.log").exists(), "it was taken out again");
        assert!(!made.path.join("nested").exists(), "a repository is not copied");
        assert_eq!(read("README.md"), "# It\n", "what git tracks is git's");
        assert_eq!(
            fs::read_to_string(&outside).unwrap(),
            "outside",
            "nothing is written through a link"
        );
        assert_eq!(place.changes(&made.path), "");
        let checkout = agentos_workspace::checkout::Checkout::of_folder(
            &place.ground().surroundings,
            &made.path,
        );
        let mut copied = include::load_included(&checkout.unwrap().unwrap().private).unwrap();
        copied.sort();
        assert_eq!(copied, [".env", "data/link", "data/local.db"]);
    }
}

/// A checkout with files that are wanted, and with everything that should not be touched.
fn furnish_includes(place: &Place, outside: &Path) {
    let repo = &place.repo;
    fs::create_dir(repo.join("data")).unwrap();
    fs::write(repo.join(".gitignore"), ".env\n/data/\n/nested/\n").unwrap();
    let wanted = ".env\n/data/*\n!/data/big.log\n/nested/\nthrough/\nREADME.md\n";
    fs::write(repo.join(".worktreeinclude"), wanted).unwrap();
    // A tracked link to a folder outside, in whose place the checkout has a folder with a file.
    let folder = outside.with_file_name("outside");
    fs::create_dir(&folder).unwrap();
    symlink(&folder, repo.join("through")).unwrap();
    place.git(repo, &["add", "."]);
    place.git(repo, &["commit", "--quiet", "-m", "what is wanted"]);
    fs::remove_file(repo.join("through")).unwrap();
    fs::create_dir(repo.join("through")).unwrap();
    fs::write(repo.join("through/file.txt"), "x").unwrap();
    fs::write(repo.join(".env"), "SECRET=1").unwrap();
    fs::set_permissions(repo.join(".env"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(repo.join("data/local.db"), "rows").unwrap();
    fs::write(repo.join("data/big.log"), "log").unwrap();
    symlink(outside, repo.join("data/link")).unwrap();
    place.playground.repository("project/nested");
}

#[test]
fn one_git_that_outlives_its_maker_is_waited_for() {
    let place = Place::new(Kind::Worktree);
    fs::write(place.repo.join(".gitattributes"), "*.slow filter=slow\n").unwrap();
    fs::write(place.repo.join("a.slow"), "x").unwrap();
    place.git(&place.repo, &["add", "."]);
    place.git(&place.repo, &["commit", "--quiet", "-m", "a slow file"]);
    let (began, go) = (place.playground.at("began"), place.playground.at("go"));
    let wait = format!(
        "touch {}; until [ -e {} ]; do sleep 0.01; done; cat",
        began.display(),
        go.display()
    );
    place.git(&place.repo, &["config", "filter.slow.smudge", &wait]);
    let mut maker = crate::part::make(&place, "fix-1", None);
    wait_until("git is at work", || began.exists());
    maker.kill().unwrap();
    maker.wait().unwrap();
    let mut second = crate::part::make(&place, "fix-2", None);
    // The second waits for the git of the first; nothing tells but that it has not ended.
    assert!(second.try_wait().unwrap().is_none());
    fs::write(&go, "").unwrap();
    assert!(second.wait().unwrap().success());
    let traces = place.traces();
    assert!(!traces.iter().any(|trace| trace.contains("fix-1")), "{traces:?}");
    assert_eq!(place.open("fix-2").1, Opened::Found);
}

#[test]
fn a_workspace_may_be_asked_for_from_another_worktree_with_a_ledger_of_its_own() {
    let place = Place::new(Kind::Worktree);
    place.open("fix-1");
    let other = place.playground.at("other");
    place.git(&place.repo, &["worktree", "add", "--quiet", "-b", "side", &other.to_string_lossy()]);
    let mut ground = Ground::new(&place.playground.path(), &other);
    // The first one's database is there, and this is another.
    fs::write(ground.ledger.file.with_file_name("runs.db"), "").unwrap();
    ground.ledger.file = other.join("ledger.json");
    let refused = ground.open(&wanted("fix-1", Kind::Worktree), &NoPoints).unwrap_err();
    assert!(matches!(refused, OpenError::BranchTaken { .. }), "{refused}");
    assert_eq!(place.open("fix-1").1, Opened::Found, "nobody has touched it");
}

#[test]
fn without_git_lfs_there_are_pointers_unless_it_is_required() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        fs::write(place.repo.join(".gitattributes"), "*.bin filter=lfs\n").unwrap();
        fs::write(place.repo.join("a.bin"), "pointer").unwrap();
        place.git(&place.repo, &["add", "."]);
        place.git(&place.repo, &["commit", "--quiet", "-m", "a large file"]);
        let home = place.playground.home().join("gitconfig");
        let filter = "[filter \"lfs\"]\n\tprocess = no-such-lfs\n\tsmudge = no-such-lfs\n\trequired = true\n";
        fs::write(&home, filter).unwrap();
        let mut ground = place.ground();
        ground.surroundings.environment.insert("GIT_CONFIG_GLOBAL".into(), home.into());
        ground.policy.lfs = Lfs::Require;
        leaves_nothing(&place, |place| {
            let refused = ground.open(&place.wanted("fix-1"), &NoPoints).unwrap_err();
            assert!(refused.to_string().contains("git-lfs is not installed"), "{refused}");
        });
        ground.policy.lfs = Lfs::Pull;
        let open = ground.yard(&NoPoints).open(&place.wanted("fix-1")).unwrap();
        assert!(open.notes[0].contains("pointers"), "{:?}", open.notes);
        assert_eq!(fs::read_to_string(open.workspace.path.join("a.bin")).unwrap(), "pointer");
    }
}

#[test]
fn submodules_are_checked_out_as_the_policy_says() {
    for kind in [Kind::Worktree, Kind::Clone] {
        let place = Place::new(kind);
        let mut environment = place.playground.environment();
        for (name, value) in
            [("COUNT", "1"), ("KEY_0", "protocol.file.allow"), ("VALUE_0", "always")]
        {
            environment.insert(format!("GIT_CONFIG_{name}").into(), value.into());
        }
        for name in ["one", "two"] {
            let source = place.playground.repository(&format!("sub-{name}"));
            let add = ["submodule", "--quiet", "add", &*source.to_string_lossy(), name];
            place.playground.run_with(&environment, "git", &place.repo, add);
        }
        place.git(&place.repo, &["commit", "--quiet", "-m", "submodules"]);
        let mut ground = Ground::with(&place.playground.path(), &place.repo, environment);
        let mut made = |id: &str, submodules: Submodules| {
            ground.policy.submodules = submodules;
            let open = ground.yard(&NoPoints).open(&place.wanted(id)).unwrap();
            let has = |name: &str| open.workspace.path.join(name).join("README.md").exists();
            (has("one"), has("two"), open.notes.join("\n"))
        };
        let (one, two, notes) = made("none", Submodules::None);
        assert!(!one && !two && notes.contains("not checked out: one, two"), "{notes}");
        let listed = Submodules::Listed(vec!["two".to_owned(), "three".to_owned()]);
        let (one, two, notes) = made("listed", listed);
        assert!(!one && two && notes.contains("no submodule `three`"), "{notes}");
        assert_eq!(made("all", Submodules::All), (true, true, String::new()));
    }
}
