//! What every keeper of a history promises in the same words: a workflow need not know whether git or jj keeps its files.

mod branches;
mod commits;
mod questions;
mod remotes;

use std::fs;
use std::path::{Path, PathBuf};

use agentos_testing::jj;
use agentos_testing::repo::Playground;
use agentos_workspace::surroundings::Surroundings;
use agentos_workspace::version_control::{
    self, Committed, Halt, NewBranch, NewCommit, Status, StatusRequest, VersionControl,
    VersionControlError,
};

use super::mark;

/// Who keeps the files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keeper {
    Git,
    Jj,
}

/// A worktree of git's or a workspace of jj's, on a branch of its own beside a main checkout.
pub(crate) struct Desk {
    pub(crate) playground: Playground,
    /// The main checkout, where git can be asked.
    pub(crate) main: PathBuf,
    /// Where work is done.
    pub(crate) root: PathBuf,
}

impl Desk {
    /// With one commit, and on the branch `work`.
    pub(crate) fn new(keeper: Keeper) -> Self {
        let playground = Playground::new();
        let main = playground.repository("repo");
        let root = playground.at("desk");
        match keeper {
            Keeper::Git => {
                playground.git(&main, ["worktree", "add", "--quiet", "-b", "work", "../desk"]);
            }
            Keeper::Jj => {
                jj::run(&playground, &main, &["git", "init", "--colocate"]);
                jj::run(&playground, &main, &["workspace", "add", "-r", "main", "../desk"]);
            }
        }
        let desk = Self { playground, main, root };
        desk.history().ensure_branch(&named("work")).unwrap();
        desk
    }

    pub(crate) fn surroundings(&self) -> Surroundings {
        Surroundings {
            cwd: Some(self.root.clone()),
            home: Some(self.playground.home()),
            environment: jj::environment(&self.playground),
        }
    }

    pub(crate) fn history(&self) -> Box<dyn VersionControl> {
        self.history_in(self.surroundings())
    }

    pub(crate) fn history_in(&self, surroundings: Surroundings) -> Box<dyn VersionControl> {
        let scratch = self.playground.at("scratch/of-this");
        version_control::open(&self.root, scratch, surroundings, Halt::default()).unwrap()
    }

    /// What git says in the main checkout.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        self.playground.git(&self.main, arguments).trim_end().to_owned()
    }

    /// The commit that a branch is at, as git knows it.
    pub(crate) fn tip(&self, branch: &str) -> String {
        self.git(&["rev-parse", &format!("refs/heads/{branch}")])
    }

    /// How many commits a branch has, as git knows it.
    pub(crate) fn count(&self, branch: &str) -> usize {
        self.git(&["rev-list", "--count", &format!("refs/heads/{branch}")]).parse().unwrap()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, content: &str) {
        let path = self.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn commit(&self, commit: &NewCommit) -> Result<Committed, VersionControlError> {
        self.history().commit(commit, &mark())
    }

    pub(crate) fn status(&self) -> Status {
        self.history().status(&StatusRequest::default()).unwrap()
    }
}

pub(crate) fn named(branch: &str) -> NewBranch {
    NewBranch { branch: branch.to_owned(), ..NewBranch::default() }
}

/// One test for each promise and keeper.
macro_rules! promises {
    ($($room:ident :: $promise:ident),* $(,)?) => {
        promises!(@ with_git, Git, $($room :: $promise),*);
        promises!(@ with_jj, Jj, $($room :: $promise),*);
    };
    (@ $name:ident, $keeper:ident, $($room:ident :: $promise:ident),*) => {
        mod $name {
            use super::{Desk, Keeper};
            $(#[test] fn $promise() { super::$room::$promise(&Desk::new(Keeper::$keeper)); })*
        }
    };
}

promises! {
    branches::a_branch_is_made_once_and_takes_the_changes_along,
    branches::a_branch_begins_where_it_is_told_to_unless_it_is_there,
    branches::what_is_no_name_of_a_branch_is_refused,
    branches::a_branch_of_others_and_one_that_would_cost_changes_are_refused,
    commits::everything_is_committed_with_its_author_and_trailers,
    commits::an_operation_commits_once_however_often_it_is_asked_for,
    commits::where_nothing_is_to_be_committed_the_wish_is_fulfilled,
    commits::a_commit_moves_its_branch_and_no_other,
    commits::without_a_name_for_whoever_commits_there_is_no_commit_unless_an_author_is_named,
    commits::a_repository_among_the_files_is_not_committed_in_silence,
    commits::only_what_has_changed_since_is_committed_and_nothing_is_staged_by_asking,
    commits::what_can_not_be_a_commit_is_refused,
    questions::every_kind_of_change_is_told,
    questions::files_are_compared_with_the_latest_commit_new_ones_included,
    questions::commits_paths_and_the_common_past_can_be_compared,
    questions::a_long_text_is_cut_and_says_so,
    questions::commits_are_listed_with_all_that_is_known_of_them,
    questions::odd_revisions_are_refused,
    questions::whoever_is_told_to_stop_starts_nothing_more,
    remotes::a_branch_is_pushed_once_and_follows_what_is_done,
    remotes::what_was_rewritten_here_replaces_what_was_ours_over_there,
    remotes::somebody_elses_commits_are_never_overwritten,
    remotes::what_the_remote_rejects_is_told_with_its_reason,
    remotes::remotes_that_there_are_not_are_named,
    remotes::the_usual_remote_is_the_one_that_is_configured_origin_or_the_only_one,
    remotes::a_branch_is_compared_with_its_base_as_the_remote_has_it,
    remotes::a_rebase_is_done_whole_or_not_at_all,
}
