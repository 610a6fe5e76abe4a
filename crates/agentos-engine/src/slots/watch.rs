//! Looks who can come in, whenever somebody has left: one thread for all who wait in this process, and none if nobody does.
//!
//! Everybody who waits is told of everybody who leaves. The first in the queue looks at once and lets in whoever can come
//! in; those behind give it a moment, see that somebody has looked, and need not.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread;

use tokio::sync::watch;

use super::decide::Found;
use super::folder::Folder;
use bell::Bell;

/// After so long it is looked even if nothing was told, by each process at another time.
const LOOK_MS: i64 = 4_000;
const SPREAD_MS: i64 = 2_000;

/// How long those behind give those before, each, and at most.
const EACH_MS: i64 = 2;
const MOST_MS: i64 = 250;

/// The system tells of the end of a process a moment before its locks are free.
const DYING_MS: i64 = 30;
const DYING_LOOKS: u32 = 3;

/// See the module.
#[derive(Debug)]
pub(super) struct Watch {
    folder: Arc<Folder>,
    waiting: Mutex<Waiting>,
    told: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    tickets: BTreeSet<String>,
    is_listening: bool,
}

impl Watch {
    pub(super) fn new(folder: Arc<Folder>) -> Arc<Self> {
        Arc::new(Self { folder, waiting: Mutex::default(), told: watch::Sender::new(0) })
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        // Nothing in there is ever half done.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ticket waits.
    pub(super) fn begin(self: &Arc<Self>, name: &str) {
        let mut waiting = self.waiting();
        waiting.tickets.insert(name.to_owned());
        if !waiting.is_listening {
            let weak = Arc::downgrade(self);
            let thread = thread::Builder::new().name("slots".into());
            let started = thread.spawn(move || listen(&weak));
            if let Err(error) = &started {
                // Whoever looks again by his own clock is let in all the same.
                tracing::warn!(%error, "nobody watches the slots");
            }
            waiting.is_listening = started.is_ok();
        }
    }

    /// A ticket is in, or gone.
    pub(super) fn end(&self, name: &str) {
        self.waiting().tickets.remove(name);
    }

    /// The first of this process who waits. If nobody does, nobody listens any more.
    fn first(&self) -> Option<String> {
        let mut waiting = self.waiting();
        waiting.is_listening = !waiting.tickets.is_empty();
        waiting.tickets.first().cloned()
    }

    /// Lets in who can come in, and tells those who wait here; everybody who is there.
    fn look(&self) -> Vec<Found> {
        let found = self.folder.settle().unwrap_or_else(|error| {
            tracing::warn!(%error, folder = %self.folder.tickets().display(), "the slots can't be looked at");
            Vec::new()
        });
        self.tell();
        found
    }

    fn tell(&self) {
        self.told.send_modify(|count| *count = count.wrapping_add(1));
    }
}

fn listen(watch: &Weak<Watch>) {
    let Some(mut bell) = watch.upgrade().map(|watch| Bell::new(watch.folder.tickets())) else {
        return;
    };
    let usual = LOOK_MS + i64::from(std::process::id()) % SPREAD_MS;
    // What happened before the bell hung has to be looked for.
    let (mut pause, mut ahead, mut looks_more) = (0, 0, 0);
    let mut dying = Vec::new();
    loop {
        let left = bell.wait(pause);
        let Some(watch) = watch.upgrade() else { return };
        let Some(first) = watch.first() else { return };
        let looks = watch.folder.looks();
        if !left.is_empty() {
            bell.rest((ahead * EACH_MS).min(MOST_MS));
        }
        pause = usual;
        if !left.is_empty() && watch.folder.looks() != looks {
            watch.tell();
            continue;
        }
        if !left.is_empty() {
            (dying, looks_more) = (left, DYING_LOOKS);
        }
        let found = watch.look();
        let before = found.iter().filter(|found| !found.is_in && found.name < first);
        ahead = i64::try_from(before.count()).unwrap_or(i64::MAX / EACH_MS);
        dying.retain(|name| found.iter().any(|found| found.name == *name));
        if !dying.is_empty() && looks_more > 0 {
            (pause, looks_more) = (DYING_MS, looks_more - 1);
        }
    }
}

fn length(ms: i64) -> rustix::event::Timespec {
    rustix::event::Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 }
}

#[cfg(target_os = "linux")]
mod bell {
    //! inotify on the folder: a ticket is closed for good when its process ends, however it does.

    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::Path;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::inotify::{CreateFlags, Reader, WatchFlags, add_watch, init};

    use super::length;

    /// How often it is looked where the system does not tell.
    const UNTOLD_MS: i64 = 500;

    pub(super) struct Bell {
        inotify: Option<OwnedFd>,
    }

    impl Bell {
        pub(super) fn new(folder: &Path) -> Self {
            let flags = WatchFlags::CLOSE_WRITE | WatchFlags::DELETE | WatchFlags::ONLYDIR;
            let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
            let is_told = |inotify: &OwnedFd| add_watch(inotify, folder, flags).is_ok();
            Self { inotify: inotify.filter(is_told) }
        }

        /// Waits until a ticket is let go of or let in, or so long; which ones.
        pub(super) fn wait(&mut self, ms: i64) -> Vec<String> {
            let Some(inotify) = &self.inotify else {
                self.rest(ms.min(UNTOLD_MS));
                return Vec::new();
            };
            let mut fds = [PollFd::new(inotify, PollFlags::IN)];
            // Whoever is interrupted looks once too often.
            let _interrupted = poll(&mut fds, Some(&length(ms)));
            let mut buffer = [MaybeUninit::uninit(); 4_096];
            let mut reader = Reader::new(inotify, &mut buffer);
            let mut names = Vec::new();
            while let Ok(event) = reader.next() {
                let name = event.file_name().map(|name| name.to_string_lossy().into_owned());
                names.extend(name);
            }
            names
        }

        /// Waits so long.
        pub(super) fn rest(&self, ms: i64) {
            if ms > 0 {
                let _interrupted = poll(&mut [], Some(&length(ms)));
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod bell {
    //! No inotify: the clock is the bell.

    use std::path::Path;

    use rustix::event::poll;

    use super::length;

    const UNTOLD_MS: i64 = 500;

    pub(super) struct Bell;

    impl Bell {
        pub(super) const fn new(_folder: &Path) -> Self {
            Self
        }

        pub(super) fn wait(&mut self, ms: i64) -> Vec<String> {
            self.rest(ms.min(UNTOLD_MS));
            Vec::new()
        }

        pub(super) fn rest(&self, ms: i64) {
            if ms > 0 {
                let _interrupted = poll(&mut [], Some(&length(ms)));
            }
        }
    }
}
