//! Whoever drives the runs of a project in this process, while the seat of its database is free.

use std::sync::Arc;
use std::time::Duration;

use agentos_engine::background::{Attended, Depart, Standby};
use tokio::sync::watch;

use super::room::Room;
use crate::error::Result;
use crate::executor;
use crate::signals::Wish;

/// How long an engine that has nothing to do is kept: starting one takes longer than a first step should.
const LINGER: Duration = Duration::from_secs(120);

/// How often the seat is tried for while another process has it.
const TRY_AGAIN: Duration = Duration::from_millis(500);

/// How often it is looked whether something is at work, while an engine is to be replaced.
const LOOK: Duration = Duration::from_millis(500);

/// How long an engine that is to be replaced waits for what is at work.
const AT_MOST: Duration = Duration::from_secs(10);

/// How long nothing is tried after it went wrong.
const REST: Duration = Duration::from_secs(5);

/// Attends to the room until it is told to go.
pub(super) async fn attend(room: Arc<Room>, wish: watch::Receiver<Option<Wish>>) {
    let mut standby = None;
    let mut commits = room.store().watch().ok();
    loop {
        if standby.is_none() {
            // An executor that waits for the end of another one may have it.
            standby = Standby::begin(room.store().path()).ok().flatten();
        }
        let pause = match attend_once(&room, wish.clone()).await {
            Ok(Attended::Told) if is_over(&room, &wish) => return,
            // The configuration is another: whoever comes next goes by that.
            Ok(Attended::Told) => continue,
            Ok(Attended::Idle) => None,
            Ok(Attended::Another) => Some(TRY_AGAIN),
            Err(error) => {
                tracing::error!(project = %room.path.display(), error = %error.message, "its runs are not driven");
                Some(REST)
            }
        };
        let news = async {
            match (pause, &mut commits) {
                (Some(pause), _) => tokio::time::sleep(pause).await,
                (None, Some(commits)) => commits.changed().await,
                (None, None) => tokio::time::sleep(TRY_AGAIN).await,
            }
        };
        let known = *room.reconfigured.borrow();
        tokio::select! {
            () = news => {}
            () = room.kick.notified() => {}
            _ = told(&room, wish.clone(), known) => {
                if is_over(&room, &wish) {
                    return;
                }
            }
        }
    }
}

/// On a thread of its own: an engine's start reads files.
async fn attend_once(room: &Arc<Room>, wish: watch::Receiver<Option<Wish>>) -> Result<Attended> {
    let room = Arc::clone(room);
    let attended = tokio::task::spawn_blocking(move || {
        // In this order: a change in between is seen once too often rather than never.
        let known = *room.reconfigured.borrow();
        let session = room.session();
        let told = told(&room, wish, known);
        tokio::runtime::Handle::current().block_on(executor::attend_until(
            &session,
            room.store(),
            LINGER,
            (told, &room.kick),
        ))
    });
    attended.await.unwrap_or_else(|error| {
        Err(crate::error::CommandError::failed(format!("an attendant has broken off: {error}")))
    })
}

fn is_over(room: &Room, wish: &watch::Receiver<Option<Wish>>) -> bool {
    room.stop.is_cancelled() || wish.borrow().is_some()
}

/// Waits until the configuration is another than it was, and nothing is at work, so that nothing is interrupted; but not
/// for ever where there always is something. What can go on without an engine does, and the next one finds it.
async fn reconfigured(room: &Room, known: u64) {
    let mut times = room.reconfigured.subscribe();
    if times.wait_for(|times| *times != known).await.is_err() {
        return std::future::pending().await;
    }
    let rests = async {
        while room.store().is_at_work().await.unwrap_or(true) {
            tokio::time::sleep(LOOK).await;
        }
    };
    let _rests = tokio::time::timeout(AT_MOST, rests).await;
}

/// Waits until the server is to end, the project is served no more, or it is time for a new engine.
async fn told(room: &Room, mut wish: watch::Receiver<Option<Wish>>, known: u64) -> Depart {
    tokio::select! {
        () = room.stop.cancelled() => Depart::Leave,
        () = reconfigured(room, known) => Depart::Leave,
        wish = wish.wait_for(Option::is_some) => match wish.ok().and_then(|wish| *wish) {
            Some(Wish::Stop) => Depart::Stop,
            _ => Depart::Leave,
        },
    }
}
