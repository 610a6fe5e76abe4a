//! Learning of commits as they happen, whoever makes them, without asking again and again.
//!
//! Whoever has committed touches the lock file, and inotify tells everybody who watches the folder. Because a process may
//! die between the two, writes to the write-ahead log are watched as well; they come a moment before the commit can be
//! seen, so they only start a short row of looks. A look asks SQLite's `data_version`, which changes exactly with what
//! others commit. While nothing happens nothing is done, and while much happens it is looked at every few milliseconds.
//!
//! Where there is no inotify (other systems, or none of its watches is left) the file is looked at every
//! [`LOOK_MS`] milliseconds, and only while somebody watches.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use rusqlite::Connection;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::sync::watch;

use super::connection;
use super::error::{Done, Fault};
use super::lock::FileIdentity;
use super::view::View;
use super::{migrate, restore};

/// How often the file is looked at where the system does not tell.
const LOOK_MS: i64 = 250;

/// How long the looks after a write to the write-ahead log are apart; each is twice as long as the one before.
const FIRST_LOOK_MS: i64 = 1;
const LAST_LOOK_MS: i64 = 1_000;

/// How long nobody listens after a commit was seen. A busy database rings a dozen times for each of its commits, and
/// hearing every one would cost the writers more than the commits themselves; what happened meanwhile is seen together.
const REST_MS: i64 = 5;

/// Says when something was committed.
#[derive(Debug, Clone)]
pub struct Watch {
    commits: watch::Receiver<u64>,
    _thread: Arc<WatchThread>,
}

impl Watch {
    /// Waits until something was committed since this was last asked (or since the watch began).
    ///
    /// What is there then is seen by [`tail`](crate::store::Store::tail). It may be that nothing is new: then somebody
    /// else has looked already.
    pub async fn changed(&mut self) {
        if self.commits.changed().await.is_err() {
            // Nobody tells any more, which has to look like silence and not like news.
            std::future::pending::<()>().await;
        }
    }
}

/// Ends the thread when the last watch is gone: the other end of the pipe is closed.
#[derive(Debug)]
struct WatchThread {
    _end: OwnedFd,
}

/// How the database is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Eyes {
    /// As by whoever writes to it.
    Writing,
    /// As by somebody who only looks, in a process where others may write.
    Following,
    /// Without leaving a trace, but for the index of a log that has lost it.
    Looking,
    /// Without leaving any trace: a file that is not ours to change.
    Untouched,
}

/// Begins to watch the database.
pub(super) fn watch(path: &Path, eyes: Eyes) -> Done<Watch> {
    let failed =
        |error: rustix::io::Errno| Fault::permanent(format!("it can't be watched: {error}"));
    let (closed, end) = rustix::pipe::pipe().map_err(failed)?;
    let (tell, commits) = watch::channel(0);
    let bell = bell::Bell::new(path);
    let look = match eyes {
        Eyes::Writing => Look::new(path)?,
        eyes => Look::of_view(path, eyes)?,
    };
    thread::Builder::new()
        .name("sqlite-watch".into())
        .spawn(move || listen(look, bell, &closed, &tell))
        .map_err(|error| Fault::permanent(format!("no thread could be started: {error}")))?;
    Ok(Watch { commits, _thread: Arc::new(WatchThread { _end: end }) })
}

/// Asks whether others have committed.
struct Look {
    source: Source,
    version: i64,
}

enum Source {
    Own { path: PathBuf, connection: Connection, identity: Option<FileIdentity>, store_id: String },
    View(View),
}

impl Look {
    fn new(path: &Path) -> Done<Self> {
        let path = path.to_owned();
        let connection = connection::reading(&path)?;
        let identity = FileIdentity::of_path(&path).ok().flatten();
        let version = version(&connection)?;
        let store_id = migrate::store_id(&connection)?;
        Ok(Self { source: Source::Own { path, connection, identity, store_id }, version })
    }

    fn of_view(path: &Path, eyes: Eyes) -> Done<Self> {
        let mut view = View::staying(path.to_owned(), eyes);
        let version = view.ask(version)?;
        Ok(Self { source: Source::View(view), version })
    }

    fn has_changed(&mut self) -> bool {
        let (found, is_other) = match &mut self.source {
            Source::Own { path, connection, identity, store_id } => {
                // Versions of two connections have nothing to do with each other, so first it is seen which one counts.
                let is_other = is_found_again(path, connection, identity, store_id);
                (version(connection), is_other)
            }
            // The file alone does not tell its version: there it is another whenever the file is.
            Source::View(view) => match view.is_other() {
                Ok(is_other) => (view.ask(version), is_other),
                Err(_) => return false,
            },
        };
        match found {
            Ok(found) if found != self.version || is_other => {
                self.version = found;
                true
            }
            _ => is_other,
        }
    }
}

/// Moves over to another file with this history if the path names one now.
fn is_found_again(
    path: &Path,
    connection: &mut Connection,
    identity: &mut Option<FileIdentity>,
    store_id: &str,
) -> bool {
    let found = FileIdentity::of_path(path).ok().flatten();
    if found.is_some()
        && found != *identity
        && restore::holds(path, store_id)
        && let Ok(other) = connection::reading(path)
    {
        (*connection, *identity) = (other, found);
        return true;
    }
    false
}

fn version(connection: &Connection) -> Done<i64> {
    let mut ask = connection.prepare_cached("PRAGMA data_version")?;
    Ok(ask.query_row((), |row| row.get(0))?)
}

fn listen(mut look: Look, mut bell: bell::Bell, closed: &OwnedFd, tell: &watch::Sender<u64>) {
    let mut pause: Option<i64> = bell.pause();
    loop {
        let rung = match wait(&mut bell, closed, pause) {
            Wake::Closed => return,
            Wake::Rung => true,
            Wake::Time => false,
        };
        // What happened while nobody listened has to be looked for.
        let rung = bell.hang_again() || rung;
        if look.has_changed() {
            tell.send_modify(|commits| *commits += 1);
            if is_closed_within(closed, REST_MS) {
                return;
            }
            pause = bell.pause();
        } else if rung {
            pause = Some(FIRST_LOOK_MS);
        } else {
            let longer = pause.map(|ms| ms * 2).filter(|ms| *ms <= LAST_LOOK_MS);
            pause = bell.pause().or(longer);
        }
    }
}

enum Wake {
    Closed,
    Rung,
    Time,
}

fn length(ms: i64) -> Timespec {
    Timespec { tv_sec: ms / 1_000, tv_nsec: ms % 1_000 * 1_000_000 }
}

/// Waits so long, unless nobody wants to know any more.
fn is_closed_within(closed: &OwnedFd, ms: i64) -> bool {
    let mut fds = [PollFd::new(closed, PollFlags::IN | PollFlags::HUP)];
    poll(&mut fds, Some(&length(ms))).is_ok_and(|ready| ready > 0)
}

fn wait(bell: &mut bell::Bell, closed: &OwnedFd, pause_ms: Option<i64>) -> Wake {
    let timeout = pause_ms.map(length);
    let mut fds = vec![PollFd::new(closed, PollFlags::IN | PollFlags::HUP)];
    fds.extend(bell.fd().map(|fd| PollFd::new(fd, PollFlags::IN)));
    if poll(&mut fds, timeout.as_ref()).is_err() {
        return Wake::Time;
    }
    if !fds[0].revents().is_empty() {
        return Wake::Closed;
    }
    let has_events = fds.get(1).is_some_and(|fd| !fd.revents().is_empty());
    if has_events && bell.drain() { Wake::Rung } else { Wake::Time }
}

#[cfg(target_os = "linux")]
mod bell {
    //! inotify on the folder: it survives that the files in it are replaced. It does not survive that the folder is, so
    //! after every event the folder is looked at, and while it or the file is gone the clock is the bell.

    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};

    use rustix::fs::inotify::{
        CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init, remove_watch,
    };

    use super::LOOK_MS;
    use crate::sqlite::lock::FileIdentity;

    pub(super) struct Bell {
        path: PathBuf,
        inotify: Option<OwnedFd>,
        /// The folder that is watched, and the number of the watch.
        hangs_in: Option<(FileIdentity, i32)>,
        names: Vec<Vec<u8>>,
    }

    impl Bell {
        pub(super) fn new(path: &Path) -> Self {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let names = ["", "-wal", ".lock"].map(|suffix| [name, suffix.as_bytes()].concat());
            let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).ok();
            let mut bell =
                Self { path: path.to_owned(), inotify, hangs_in: None, names: names.into() };
            bell.hang_again();
            bell
        }

        pub(super) const fn fd(&self) -> Option<&OwnedFd> {
            self.inotify.as_ref()
        }

        /// How long to wait when nothing is going on; for ever if the system tells.
        pub(super) fn pause(&self) -> Option<i64> {
            let is_told = self.hangs_in.is_some() && self.path.exists();
            if is_told { None } else { Some(LOOK_MS) }
        }

        /// Watches the folder that the path names now, if that is another than before. Whether it is.
        pub(super) fn hang_again(&mut self) -> bool {
            let (Some(inotify), Some(folder)) = (&self.inotify, self.path.parent()) else {
                return false;
            };
            let found = FileIdentity::of_path(folder).ok().flatten();
            if self.hangs_in.map(|(known, _)| known) == found {
                return false;
            }
            if let Some((_, watch)) = self.hangs_in.take() {
                // It has ended with its folder, if that is gone.
                let _removed = remove_watch(inotify, watch);
            }
            let flags = WatchFlags::MODIFY
                | WatchFlags::CREATE
                | WatchFlags::MOVED_TO
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF;
            let watch = found.and_then(|_| add_watch(inotify, folder, flags).ok());
            self.hangs_in = found.zip(watch);
            self.hangs_in.is_some()
        }

        /// Takes all events; whether one of them is about the database.
        pub(super) fn drain(&mut self) -> bool {
            let Some(inotify) = &self.inotify else { return false };
            let gone = ReadFlags::IGNORED | ReadFlags::DELETE_SELF | ReadFlags::MOVE_SELF;
            let mut buffer = [MaybeUninit::uninit(); 4_096];
            let mut reader = Reader::new(inotify, &mut buffer);
            let mut is_ours = false;
            while let Ok(event) = reader.next() {
                // An event without a name is about the folder.
                let name = event.file_name().map_or(&b""[..], std::ffi::CStr::to_bytes);
                is_ours |= name.is_empty() || self.names.iter().any(|ours| ours == name);
                // Another folder may have the number of the one that is gone.
                let is_current = self.hangs_in.is_some_and(|(_, watch)| watch == event.wd());
                if is_current && event.events().intersects(gone) {
                    self.hangs_in = None;
                }
            }
            is_ours
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod bell {
    //! No inotify: the clock is the bell.

    use std::os::fd::OwnedFd;
    use std::path::Path;

    use super::LOOK_MS;

    pub(super) struct Bell;

    impl Bell {
        pub(super) const fn new(_path: &Path) -> Self {
            Self
        }

        pub(super) const fn fd(&self) -> Option<&OwnedFd> {
            None
        }

        pub(super) const fn pause(&self) -> Option<i64> {
            Some(LOOK_MS)
        }

        pub(super) const fn drain(&mut self) -> bool {
            false
        }

        pub(super) const fn hang_again(&mut self) -> bool {
            false
        }
    }
}
