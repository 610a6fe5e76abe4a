//! What every kind of workspace promises, checked for each of them with the real tools.

mod identity;
mod leftovers;
mod making;

/// One test for each promise and kind.
macro_rules! promises {
    ($($room:ident :: $promise:ident),* $(,)?) => {
        promises!(@ worktree, Worktree, $($room :: $promise),*);
        promises!(@ clone, Clone, $($room :: $promise),*);
        promises!(@ jj, Jj, $($room :: $promise),*);
    };
    (@ $name:ident, $kind:ident, $($room:ident :: $promise:ident),*) => {
        mod $name {
            use agentos_workspace::workspace::Kind;
            use crate::place::Place;
            $(#[test] fn $promise() { super::$room::$promise(&Place::new(Kind::$kind)); })*
        }
    };
}

promises! {
    making::a_workspace_is_a_checkout_of_the_base_on_a_branch_of_its_own,
    making::nothing_of_ours_is_seen_by_whoever_looks_for_changes,
    making::changes_in_the_checkout_are_not_taken_along,
    making::a_base_may_be_named,
    making::somebody_inside_finds_the_makers_database,
    making::a_git_dir_in_the_environment_changes_nothing,
    making::all_checkouts_of_a_repository_have_one_namespace,
    making::work_on_the_branch_comes_into_the_repository,
    identity::the_same_id_is_the_same_workspace,
    identity::another_base_or_kind_is_refused,
    identity::what_is_gone_is_made_again_from_its_branch,
    identity::a_link_in_its_place_is_refused,
    identity::a_plain_folder_in_its_place_is_refused,
    identity::another_one_in_its_place_is_refused,
    leftovers::a_base_that_is_none_leaves_nothing,
    leftovers::a_taken_place_is_left_alone,
    leftovers::a_taken_branch_is_left_alone,
    leftovers::whoever_is_killed_while_making_is_cleaned_up_after,
}
