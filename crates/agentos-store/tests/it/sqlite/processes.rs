//! Many processes on one file.

use super::child;
use super::crowd::Crowd;
use super::fixture::SqliteFixture;

#[test]
fn processes_that_commit_at_once_and_are_killed_lose_nothing() {
    let fixture = SqliteFixture::new();
    let crowd = Crowd { processes: 12, commits: 40, seed: 7 };
    let outcome = crowd.gather(&fixture.path(), &|words| child::command(&[], "crowd", words));
    assert!(outcome.killed > 0, "some were killed: {outcome:?}");
    assert!(outcome.messages > 0, "some were heard: {outcome:?}");
    assert!(outcome.worst_wait <= outcome.took, "nobody waits longer than it takes: {outcome:?}");
}
