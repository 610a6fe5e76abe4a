//! Snapshots, and the way back: byte for byte, whatever somebody has done in between and whoever was killed.

mod basics;
mod kills;
mod random;
mod seen;
mod trouble;

/// One test for each promise and kind.
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
    basics::a_workspace_returns_to_every_snapshot,
    basics::a_workspace_is_made_from_a_snapshot,
    basics::the_same_label_is_the_same_snapshot,
    basics::what_nothing_has_changed_makes_no_new_tree,
    basics::a_difference_is_told,
    basics::what_is_overlooked_stays,
    kills::whoever_is_killed_while_taking_one_has_changed_nothing,
    kills::whoever_is_killed_on_the_way_back_can_go_on,
    random::whatever_was_done_every_snapshot_is_exact;
    git:
    basics::a_snapshot_outlives_its_workspace,
    trouble::whatever_is_half_done_comes_back,
    trouble::hidden_and_intended_files_come_back,
    trouble::repositories_inside_come_back,
    trouble::submodules_come_back,
    trouble::a_file_that_is_too_large_is_refused,
    trouble::rules_that_change_take_nothing_away,
}
