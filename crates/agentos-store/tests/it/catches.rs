//! Every broken store is caught, by the case that is about what it breaks; and every case catches one.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

use agentos_store::conformance::{block_on, cases, check};
use agentos_store::simulated::SimulatedStore;

use crate::broken::Defect::{Commits, Messages, Owners, Reads, Runs, Volatile};
use crate::broken::{BadCommits, BadMessages, BadOwners, BadReads, BadRuns, Defect, breaking};
use crate::fixture::SimulatedFixture;

/// Each defect with cases that have to fail because of it.
const CATCHES: &[(Defect, &[&str])] = &[
    (Runs(BadRuns::NamesShared), &["a_readable_id_belongs_to_one_run"]),
    (Runs(BadRuns::BornOwned), &["a_new_run_holds_its_first_entry_and_is_free"]),
    (Runs(BadRuns::CreatorIgnored), &["a_run_is_created_for_who_drives_it"]),
    (Runs(BadRuns::CreatorUnseen), &["a_run_created_for_the_dead_is_free"]),
    (
        Runs(BadRuns::AlwaysNew),
        &["creating_a_run_again_changes_nothing", "of_many_that_create_a_run_at_once_one_is_first"],
    ),
    (Runs(BadRuns::BeginsAnew), &["creating_a_run_again_changes_nothing"]),
    (Runs(BadRuns::AnyFirstEntry), &["a_run_that_began_differently_is_a_conflict"]),
    (
        Runs(BadRuns::FirstEntryRepaired),
        &["a_log_begins_with_its_own_run_started", "an_input_over_a_bound_is_refused"],
    ),
    (
        Runs(BadRuns::HistoryLost),
        &["a_run_is_created_with_its_history", "a_run_goes_on_from_its_history"],
    ),
    (Runs(BadRuns::HistoryWorks), &["a_run_with_a_history_stands_as_that_says"]),
    (Runs(BadRuns::HistoryUnheard), &["messages_in_a_history_were_received"]),
    (Runs(BadRuns::GapClosed), &["a_history_with_a_gap_is_refused"]),
    (Runs(BadRuns::OldestFirst), &["a_listing_shows_every_run_once_latest_first"]),
    (Runs(BadRuns::Offset), &["runs_created_meanwhile_do_not_shift_a_listing"]),
    (Runs(BadRuns::NoFilter), &["a_filter_shows_only_what_stands_so"]),
    (Runs(BadRuns::GuessedCursor), &["a_foreign_listing_cursor_is_refused"]),
    (Owners(BadOwners::NothingIsUnknown), &["an_unknown_run_is_not_found"]),
    (
        Owners(BadOwners::SameEpoch),
        &[
            "every_claim_makes_the_epoch_larger",
            "an_owner_that_claims_again_shuts_out_its_older_self",
        ],
    ),
    (
        Owners(BadOwners::AlwaysTakesOver),
        &["a_living_owners_run_is_not_given_away", "an_owner_survives_reopening"],
    ),
    (Owners(BadOwners::AsksThenTakes), &["of_many_that_claim_at_once_one_gets_the_run"]),
    (Owners(BadOwners::NeverTakesOver), &["a_living_owner_is_taken_over_only_on_demand"]),
    (Owners(BadOwners::DeadKeep), &["a_dead_owners_run_is_given_away"]),
    (Owners(BadOwners::DeadClaim), &["a_dead_owner_claims_nothing"]),
    (Owners(BadOwners::EndedIsClaimed), &["an_ended_run_is_not_claimed"]),
    (Owners(BadOwners::ClaimForgetsStanding), &["a_claim_leaves_log_inbox_and_standing_alone"]),
    (Owners(BadOwners::NeverReleases), &["a_released_run_is_free"]),
    (Owners(BadOwners::ReleasesOnce), &["releasing_twice_is_releasing_once"]),
    (Owners(BadOwners::AnybodyReleases), &["a_stale_release_changes_nothing"]),
    (Owners(BadOwners::EndKeepsOwner), &["a_commit_that_ends_the_run_releases_it"]),
    (
        Commits(BadCommits::NeighboursFail),
        &[
            "a_stale_commit_fails_alone_in_its_batch",
            "a_conflicting_commit_fails_alone_in_its_batch",
            "a_malformed_commit_fails_alone_in_its_batch",
        ],
    ),
    (Commits(BadCommits::HereLost), &["a_commit_made_here_is_like_any_other"]),
    (Commits(BadCommits::BatchReversed), &["commits_of_one_run_in_a_batch_are_applied_in_order"]),
    (Commits(BadCommits::AnswersReversed), &["answers_come_in_the_order_of_the_batch"]),
    (Commits(BadCommits::EmptyBatchAnswered), &["an_empty_batch_has_no_answers"]),
    (
        Commits(BadCommits::AnyEpoch),
        &[
            "a_run_taken_over_takes_no_commit_of_the_old_owner",
            "a_stale_commit_fails_alone_in_its_batch",
            "a_dead_owners_run_is_given_away",
        ],
    ),
    (
        Commits(BadCommits::HeldByNobody),
        &["a_released_run_takes_no_commit", "a_run_nobody_has_claimed_takes_no_commit"],
    ),
    (
        Commits(BadCommits::AnyPosition),
        &[
            "a_conflicting_commit_fails_alone_in_its_batch",
            "a_commit_carried_out_twice_is_applied_once",
            "after_a_refused_commit_the_next_of_its_run_conflicts",
            "of_many_commits_to_one_head_one_is_applied",
        ],
    ),
    (Commits(BadCommits::Repositioned), &["a_commit_whose_entries_begin_elsewhere_is_malformed"]),
    (Commits(BadCommits::LargeEntryIsLeftOut), &["a_commit_that_is_too_large_is_malformed"]),
    (Commits(BadCommits::EmptyIsFine), &["a_commit_without_entries_is_malformed"]),
    (
        Commits(BadCommits::ChecksThenApplies),
        &["a_claim_shuts_out_every_commit_that_is_not_in_yet"],
    ),
    (Commits(BadCommits::EndedGoesOn), &["an_ended_run_takes_no_commit"]),
    (
        Commits(BadCommits::DeadAreShutOut),
        &["an_owner_presumed_dead_commits_until_somebody_claims"],
    ),
    (Commits(BadCommits::HeadMiscounted), &["a_commit_appends_and_says_where_the_log_ends"]),
    (Commits(BadCommits::FifthIsLost), &["many_that_commit_at_once_lose_nothing"]),
    (Commits(BadCommits::ConsumesAll), &["a_commit_takes_exactly_what_it_consumes"]),
    (
        Commits(BadCommits::ConsumesNothing),
        &[
            "a_commit_takes_exactly_what_it_consumes",
            "messages_sent_while_others_are_consumed_are_taken_once",
        ],
    ),
    (Commits(BadCommits::ConsumesLeniently), &["what_does_not_wait_is_not_consumed"]),
    (Commits(BadCommits::RefusedConsumes), &["a_refused_commit_leaves_no_trace"]),
    (
        Commits(BadCommits::RefusedSends),
        &["a_refused_commit_sends_nothing", "a_refused_commit_leaves_no_trace"],
    ),
    (Commits(BadCommits::RefusedIsShown), &["a_refused_commit_is_not_in_the_tail"]),
    (Commits(BadCommits::NothingSent), &["a_commit_sends_to_other_runs"]),
    (Commits(BadCommits::SentTwice), &["a_commit_sends_once_under_one_key"]),
    (Commits(BadCommits::HasToBeHeard), &["a_commit_is_applied_though_nobody_hears_it"]),
    (Commits(BadCommits::LargeIsLeftOut), &["a_message_of_a_commit_is_bounded"]),
    (Messages(BadMessages::ReadingTakes), &["reading_takes_nothing"]),
    (Messages(BadMessages::LatestFirst), &["messages_wait_in_the_order_of_their_arrival"]),
    (
        Messages(BadMessages::SentTwice),
        &["a_message_sent_twice_waits_once", "of_many_that_send_one_message_at_once_one_is_first"],
    ),
    (
        Messages(BadMessages::ComesBack),
        &["a_consumed_message_never_comes_back", "an_inbox_survives_reopening"],
    ),
    (Messages(BadMessages::OneKeyForAll), &["a_key_belongs_to_one_run"]),
    (Messages(BadMessages::EndedHears), &["an_ended_run_hears_nothing_more"]),
    (Messages(BadMessages::EndedForgets), &["an_ended_run_hears_nothing_more"]),
    (Messages(BadMessages::NoBound), &["a_message_over_a_bound_is_refused"]),
    (Messages(BadMessages::NeverFull), &["a_full_inbox_refuses_until_something_is_consumed"]),
    (Reads(BadReads::WorkingIsNotDue), &["a_run_nobody_holds_is_due_while_it_works"]),
    (
        Reads(BadReads::HeldIsDue),
        &[
            "a_run_held_by_a_living_owner_is_not_due",
            "whoever_claims_what_is_due_sees_the_others_next",
        ],
    ),
    (Reads(BadReads::DeadHold), &["an_interrupted_run_is_due_when_its_owner_has_died"]),
    (Reads(BadReads::DueEarly), &["a_parked_run_is_due_when_its_time_has_come"]),
    (Reads(BadReads::NobodyLeftOut), &["those_left_out_make_room_for_the_others"]),
    (Reads(BadReads::DueLate), &["a_parked_run_is_due_when_its_time_has_come"]),
    (Reads(BadReads::MessagesDoNotWake), &["a_parked_run_is_due_while_a_message_waits"]),
    (Reads(BadReads::EndedIsDue), &["an_ended_run_is_never_due"]),
    (Reads(BadReads::TellsEverybody), &["an_owner_is_told_of_messages_for_its_runs"]),
    (Reads(BadReads::WorkersUnheard), &["an_owner_is_told_of_messages_for_its_runs"]),
    (Reads(BadReads::WakesHeld), &["an_owner_is_told_when_the_next_parked_run_has_its_time"]),
    (Reads(BadReads::WakesWorking), &["an_owner_is_told_when_the_next_parked_run_has_its_time"]),
    (Reads(BadReads::TimesLost), &["a_log_is_read_back_as_it_was_committed"]),
    (Reads(BadReads::PagesOverlap), &["paging_through_a_log_shows_every_entry_once"]),
    (Reads(BadReads::ChunksCut), &["a_page_of_a_log_never_cuts_a_chunk"]),
    (Reads(BadReads::ChunksSkipped), &["a_page_of_a_log_never_cuts_a_chunk"]),
    (Reads(BadReads::EndRepeats), &["a_log_read_past_its_end_is_empty"]),
    (Reads(BadReads::UnknownIsEmpty), &["an_unknown_run_is_not_found"]),
    (Reads(BadReads::LargestSeen), &["the_tail_shows_late_what_others_have_overtaken"]),
    (
        Reads(BadReads::ShowsAgain),
        &["the_tail_shows_every_chunk_once", "a_tail_read_while_many_commit_misses_nothing"],
    ),
    (Reads(BadReads::PageReversed), &["the_tail_keeps_the_order_within_a_run"]),
    (Reads(BadReads::NoLimit), &["a_page_of_the_tail_is_bounded"]),
    (Reads(BadReads::OneReader), &["the_same_tail_cursor_may_be_used_again"]),
    (Reads(BadReads::GuessedCursor), &["a_foreign_tail_cursor_is_refused"]),
    (
        Volatile,
        &[
            "a_run_survives_reopening",
            "an_inbox_survives_reopening",
            "an_owner_survives_reopening",
            "a_tail_cursor_survives_reopening",
        ],
    ),
];

/// Races are not met every time; the others are.
const TRIES: usize = 20;

fn catches(defect: Defect, case: &str) -> bool {
    (0..TRIES).any(|_try| {
        let store = SimulatedStore::new(1);
        let fixture = SimulatedFixture::wrapped(store, breaking(defect));
        catch_unwind(AssertUnwindSafe(|| block_on(check(case, &fixture)))).is_err()
    })
}

#[test]
fn every_broken_store_is_caught() {
    for (defect, cases) in CATCHES {
        for case in *cases {
            assert!(catches(*defect, case), "`{case}` passes with {defect:?}");
        }
    }
}

#[test]
fn every_case_catches_a_broken_store() {
    let all: BTreeSet<&str> = cases().iter().map(|case| case.name).collect();
    let catching: BTreeSet<&str> = CATCHES.iter().flat_map(|(_, cases)| *cases).copied().collect();
    assert_eq!(all, catching);
}
