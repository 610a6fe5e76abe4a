//! Tells whoever waits that something has changed in a directory, without asking again and again.
//!
//! There is one inotify instance in a process, however many directories are watched: a user has only some hundred of
//! them. Where there is none at all, directories are looked at every few milliseconds.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};

use crate::bounds::POLL;
use crate::directory::is_news;

/// Rings when something has changed, or when somebody rings it.
#[derive(Debug, Clone)]
pub struct Bell {
    line: Arc<Line>,
}

#[derive(Debug)]
struct Line {
    has_rung: Mutex<bool>,
    ringing: Condvar,
    /// What is watched for it, if the system tells of changes.
    watch: Option<i32>,
}

/// Everybody who waits for a directory, by the number of its watch.
type Lines = HashMap<i32, Vec<Weak<Line>>>;

/// The one watch of this process.
struct Notices {
    inotify: OwnedFd,
    lines: Mutex<Lines>,
}

static NOTICES: OnceLock<Option<Arc<Notices>>> = OnceLock::new();

impl Bell {
    /// A bell for this directory.
    pub(crate) fn hang_up(directory: &Path) -> Self {
        let notices = NOTICES.get_or_init(Notices::start);
        let line = notices.as_ref().and_then(|notices| notices.watch(directory));
        Self { line: line.unwrap_or_else(|| Line::new(None)) }
    }

    /// Makes whoever waits look.
    pub fn ring(&self) {
        self.line.ring();
    }

    /// Waits until it rings, or has rung since the last wait, or so much time has passed.
    pub(crate) fn wait(&self, longest: Duration) {
        let longest = if self.line.watch.is_some() { longest } else { longest.min(POLL) };
        let mut has_rung = locked(&self.line.has_rung);
        if !*has_rung {
            has_rung = match self.line.ringing.wait_timeout_while(has_rung, longest, |rung| !*rung)
            {
                Ok((has_rung, _)) => has_rung,
                Err(poisoned) => poisoned.into_inner().0,
            };
        }
        *has_rung = false;
    }
}

impl Line {
    fn new(watch: Option<i32>) -> Arc<Self> {
        Arc::new(Self { has_rung: Mutex::new(false), ringing: Condvar::new(), watch })
    }

    fn ring(&self) {
        *locked(&self.has_rung) = true;
        self.ringing.notify_all();
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let (Some(watch), Some(Some(notices))) = (self.watch, NOTICES.get()) {
            notices.forget(watch);
        }
    }
}

impl Notices {
    fn start() -> Option<Arc<Self>> {
        let inotify = inotify::init(CreateFlags::CLOEXEC).ok()?;
        let notices = Arc::new(Self { inotify, lines: Mutex::default() });
        let listening = Arc::clone(&notices);
        let thread = std::thread::Builder::new().name("process-notices".into());
        thread.spawn(move || listening.listen()).ok()?;
        Some(notices)
    }

    fn watch(&self, directory: &Path) -> Option<Arc<Line>> {
        let changes = WatchFlags::MODIFY | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
        // Under the lock: the watch must not be taken back by the last who had it in between.
        let mut lines = locked(&self.lines);
        let watch = inotify::add_watch(&self.inotify, directory, changes).ok()?;
        let line = Line::new(Some(watch));
        lines.entry(watch).or_default().push(Arc::downgrade(&line));
        Some(line)
    }

    fn forget(&self, watch: i32) {
        let mut lines = locked(&self.lines);
        let Some(of_watch) = lines.get_mut(&watch) else { return };
        of_watch.retain(|line| line.strong_count() > 0);
        if of_watch.is_empty() {
            lines.remove(&watch);
            // The directory may be gone, and the watch with it.
            let _removed = inotify::remove_watch(&self.inotify, watch);
        }
    }

    fn listen(&self) {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&self.inotify, &mut buffer);
        loop {
            match events.next() {
                Ok(event) => {
                    // Nobody is woken for what he does not read.
                    if event.file_name().is_none_or(|name| is_news(name.to_bytes())) {
                        self.tell(event.wd());
                    }
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }

    fn tell(&self, watch: i32) {
        // A negative number says that some were missed: everybody looks.
        let told: Vec<Arc<Line>> = {
            let lines = locked(&self.lines);
            let of = lines.iter().filter(|(number, _)| watch < 0 || **number == watch);
            of.flat_map(|(_, lines)| lines).filter_map(Weak::upgrade).collect()
        };
        for line in told {
            line.ring();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing in there is ever half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
