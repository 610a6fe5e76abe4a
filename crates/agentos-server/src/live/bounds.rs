//! Every limit of what is followed, in one place.

use std::time::Duration;

/// Most WebSockets at once.
pub(super) const CONNECTIONS: usize = 4_096;

/// Most subscriptions of one connection.
pub(super) const SUBSCRIPTIONS: usize = 256;

/// Largest message of a client, in bytes.
pub(super) const CLIENT_MESSAGE: usize = 16 << 10;

/// How many messages a client may send at once, and how many it may send in each second that follows.
pub(super) const CLIENT_BURST: u32 = 600;
pub(super) const CLIENT_RATE: u32 = 100;

/// What waits for one connection at most, in bytes.
pub(super) const MAILBOX: usize = 256 << 10;

/// What a connection keeps of what it was given to write, in bytes.
pub(super) const WRITE_BUFFER: usize = 32 << 10;

/// What a connection reads at once, in bytes.
pub(super) const READ_BUFFER: usize = 4 << 10;

/// A document that is longer is sent without its largest values, in bytes.
pub(super) const DOCUMENT: usize = 64 << 10;

/// How much of a log is read at once by somebody who is behind: so many commits, and not many more bytes than this if it
/// can be helped.
pub(super) const PAGE_CHUNKS: usize = 32;
pub(super) const PAGE_BYTES: usize = 256 << 10;

/// How many commits a follower reads at once.
pub(super) const FOLLOWED: usize = 256;

/// How many who are behind read at once.
pub(super) const READERS: usize = 8;

/// How often a client is asked whether it is still there, and how long it may be silent.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(25);
pub(super) const SILENCE: Duration = Duration::from_secs(80);

/// How long a client may take nothing of what is sent to it.
pub(super) const STALL: Duration = Duration::from_secs(60);

/// How long a client may take to hear why its connection ends. Who stops the server does not wait longer.
pub(super) const FAREWELL: Duration = Duration::from_millis(400);

/// How many runs a connection cancels at once.
pub(super) const CANCELS: usize = 16;

/// How long a follower waits for news before it looks whether anybody still wants them.
pub(super) const LOOK: Duration = Duration::from_secs(30);

/// How long a follower waits after it could not read.
pub(super) const AGAIN: Duration = Duration::from_secs(1);

/// How often a log file is looked at, and what of it is told at a time, in bytes.
pub(super) const PROGRESS: Duration = Duration::from_millis(250);
pub(super) const PROGRESS_BYTES: usize = 32 << 10;
