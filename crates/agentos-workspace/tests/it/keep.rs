//! No work is lost: what is in a workspace, what becomes of it, and how it comes back.

pub(crate) mod deeds;
mod estranged;
mod findings;
mod hunt;
pub(crate) mod kills;
mod look;
mod losses;
pub(crate) mod mess;
mod mounted;
mod owned;
mod private;
pub(crate) mod state;
mod there_and_back;

/// One test for each promise and kind. What is the same for all kinds is not asked of jj, which takes its time.
macro_rules! promises {
    (all: $($room:ident :: $promise:ident),*; git: $($git_room:ident :: $git_promise:ident),* $(,)?) => {
        promises!(@ worktree, Worktree, $($room :: $promise,)* $($git_room :: $git_promise),*);
        promises!(@ clone, Clone, $($room :: $promise,)* $($git_room :: $git_promise),*);
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
    all:
    look::a_new_workspace_has_nothing_to_lose,
    look::what_would_be_lost_is_named_and_refused,
    look::commits_stay_on_their_branch,
    there_and_back::what_was_cleaned_by_force_comes_back_as_it_was,
    owned::a_link_in_its_place_is_not_removed,
    hunt::nothing_is_lost_whatever_state_it_is_in,
    kills::whoever_is_killed_while_removing_loses_nothing,
    kills::whoever_is_killed_while_restoring_loses_nothing,
    kills::two_who_are_killed_while_restoring_lose_nothing,
    owned::nothing_is_left_of_what_is_cleaned;
    git:
    look::files_that_vanish_meanwhile_are_no_reason_to_give_up,
    there_and_back::a_snapshot_leaves_everything_as_it_is,
    there_and_back::whoever_goes_on_finds_what_was_removed,
    there_and_back::an_older_backup_can_be_chosen,
    there_and_back::what_can_be_made_again_is_not_kept,
    there_and_back::too_much_for_the_archive_is_refused,
    there_and_back::a_damaged_archive_is_refused,
    there_and_back::what_is_in_the_way_stays,
    there_and_back::whether_there_is_room_is_asked_before_anything_is_restored,
    owned::another_folder_in_its_place_is_not_removed,
    owned::whoever_stands_in_it_is_not_swept_away,
    owned::a_process_inside_is_respected,
}
