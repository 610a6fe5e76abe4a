//! The suite that every store has to pass: one case for every promise of [`Store`](crate::store::Store).
//!
//! A backend brings a [`Fixture`] and has one test per case generated, in an integration test of its own:
//!
//! ```text
//! agentos_store::conformance_tests!(MyFixture::fresh());
//! ```
//!
//! The expression is evaluated anew for every case, inside an async block, and has to give a fixture around an empty
//! store. A backend that needs a certain executor names it: `conformance_tests!(MyFixture::fresh().await, block_on =
//! my_block_on)`.
//!
//! Cases panic when a promise is broken. They use the verbs only: what is kept where is nobody's business. That every
//! one of them can fail is shown by this crate's own tests, with stores that are broken on purpose.

mod claim;
mod commit;
mod due;
mod fixture;
mod given;
mod history;
mod inbox;
mod listing;
mod log;
mod outgoing;
mod outlook;
mod refusal;
mod release;
mod reopening;
mod runs;
mod tail;
mod threads;

pub use fixture::{Fixture, Pending, Work};
pub use pollster::block_on;

/// One promise, and how it is checked.
#[derive(Clone, Copy)]
pub struct Case {
    /// The promise, as a sentence.
    pub name: &'static str,
    /// Checks it on a store that is empty so far; panics if it is broken.
    pub check: for<'a> fn(&'a dyn Fixture) -> Pending<'a>,
}

/// The list of all cases: makes [`cases`] and the macro that turns each into a test.
macro_rules! suite {
    ($dollar:tt $($group:ident { $($case:ident,)* })*) => {
        /// Every case of the suite.
        #[must_use]
        pub fn cases() -> Vec<Case> {
            vec![$($(
                Case {
                    name: stringify!($case),
                    check: |fixture| Box::pin($group::$case(fixture)),
                },
            )*)*]
        }

        /// One `#[test]` per case of the [conformance suite](crate::conformance).
        #[macro_export]
        macro_rules! conformance_tests {
            ($dollar fixture:expr) => {
                $dollar crate::conformance_tests!(
                    $dollar fixture,
                    block_on = $dollar crate::conformance::block_on
                );
            };
            ($dollar fixture:expr, block_on = $dollar block_on:path) => {
                $($(
                    #[test]
                    fn $case() {
                        $dollar block_on(async {
                            let fixture = $dollar fixture;
                            $dollar crate::conformance::check(stringify!($case), &fixture).await;
                        });
                    }
                )*)*
            };
        }
    };
}

suite! { $
    runs {
        a_new_run_holds_its_first_entry_and_is_free,
        a_run_is_created_for_who_drives_it,
        a_run_created_for_the_dead_is_free,
        creating_a_run_again_changes_nothing,
        a_run_that_began_differently_is_a_conflict,
        a_readable_id_belongs_to_one_run,
        a_log_begins_with_its_own_run_started,
        an_input_over_a_bound_is_refused,
        an_unknown_run_is_not_found,
    }
    history {
        a_run_is_created_with_its_history,
        a_run_with_a_history_stands_as_that_says,
        messages_in_a_history_were_received,
        a_run_goes_on_from_its_history,
        a_history_with_a_gap_is_refused,
    }
    listing {
        a_listing_shows_every_run_once_latest_first,
        runs_created_meanwhile_do_not_shift_a_listing,
        a_filter_shows_only_what_stands_so,
        a_foreign_listing_cursor_is_refused,
    }
    claim {
        every_claim_makes_the_epoch_larger,
        a_living_owners_run_is_not_given_away,
        a_dead_owners_run_is_given_away,
        a_living_owner_is_taken_over_only_on_demand,
        an_owner_that_claims_again_shuts_out_its_older_self,
        a_dead_owner_claims_nothing,
        an_ended_run_is_not_claimed,
        a_claim_leaves_log_inbox_and_standing_alone,
    }
    release {
        a_released_run_is_free,
        a_released_run_takes_no_commit,
        releasing_twice_is_releasing_once,
        a_stale_release_changes_nothing,
    }
    commit {
        a_commit_appends_and_says_where_the_log_ends,
        commits_of_one_run_in_a_batch_are_applied_in_order,
        answers_come_in_the_order_of_the_batch,
        an_empty_batch_has_no_answers,
        a_commit_made_here_is_like_any_other,
        a_stale_commit_fails_alone_in_its_batch,
        a_conflicting_commit_fails_alone_in_its_batch,
        a_malformed_commit_fails_alone_in_its_batch,
        a_commit_carried_out_twice_is_applied_once,
        an_owner_presumed_dead_commits_until_somebody_claims,
        a_commit_that_ends_the_run_releases_it,
    }
    refusal {
        a_run_taken_over_takes_no_commit_of_the_old_owner,
        a_run_nobody_has_claimed_takes_no_commit,
        an_ended_run_takes_no_commit,
        a_commit_without_entries_is_malformed,
        a_commit_whose_entries_begin_elsewhere_is_malformed,
        a_commit_that_is_too_large_is_malformed,
        a_refused_commit_leaves_no_trace,
        after_a_refused_commit_the_next_of_its_run_conflicts,
    }
    inbox {
        messages_wait_in_the_order_of_their_arrival,
        reading_takes_nothing,
        a_commit_takes_exactly_what_it_consumes,
        a_message_sent_twice_waits_once,
        a_consumed_message_never_comes_back,
        a_key_belongs_to_one_run,
        what_does_not_wait_is_not_consumed,
        an_ended_run_hears_nothing_more,
        a_message_over_a_bound_is_refused,
        a_full_inbox_refuses_until_something_is_consumed,
    }
    outgoing {
        a_commit_sends_to_other_runs,
        a_commit_sends_once_under_one_key,
        a_commit_is_applied_though_nobody_hears_it,
        a_message_of_a_commit_is_bounded,
        a_refused_commit_sends_nothing,
    }
    due {
        a_run_nobody_holds_is_due_while_it_works,
        a_run_held_by_a_living_owner_is_not_due,
        an_interrupted_run_is_due_when_its_owner_has_died,
        a_parked_run_is_due_when_its_time_has_come,
        a_parked_run_is_due_while_a_message_waits,
        an_ended_run_is_never_due,
        whoever_claims_what_is_due_sees_the_others_next,
        those_left_out_make_room_for_the_others,
    }
    outlook {
        an_owner_is_told_of_messages_for_its_runs,
        an_owner_is_told_when_the_next_parked_run_has_its_time,
    }
    log {
        a_log_is_read_back_as_it_was_committed,
        paging_through_a_log_shows_every_entry_once,
        a_page_of_a_log_never_cuts_a_chunk,
        a_log_read_past_its_end_is_empty,
    }
    reopening {
        a_run_survives_reopening,
        an_inbox_survives_reopening,
        an_owner_survives_reopening,
        a_tail_cursor_survives_reopening,
    }
    tail {
        the_tail_shows_every_chunk_once,
        the_tail_shows_late_what_others_have_overtaken,
        the_tail_keeps_the_order_within_a_run,
        a_page_of_the_tail_is_bounded,
        the_same_tail_cursor_may_be_used_again,
        a_refused_commit_is_not_in_the_tail,
        a_foreign_tail_cursor_is_refused,
    }
    threads {
        of_many_that_create_a_run_at_once_one_is_first,
        of_many_that_claim_at_once_one_gets_the_run,
        of_many_that_send_one_message_at_once_one_is_first,
        of_many_commits_to_one_head_one_is_applied,
        many_that_commit_at_once_lose_nothing,
        messages_sent_while_others_are_consumed_are_taken_once,
        a_claim_shuts_out_every_commit_that_is_not_in_yet,
        a_tail_read_while_many_commit_misses_nothing,
    }
}

/// Checks one case on a store that is empty so far.
///
/// # Panics
/// If the promise is broken, or if there is no such case.
pub async fn check(name: &str, fixture: &dyn Fixture) {
    let case = cases().into_iter().find(|case| case.name == name);
    let case = case.unwrap_or_else(|| panic!("there is no case `{name}`"));
    (case.check)(fixture).await;
}
