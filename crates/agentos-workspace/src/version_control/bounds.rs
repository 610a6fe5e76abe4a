//! Every limit of this room, in one place.

use std::time::Duration;

/// How long a question may take. The status of a large repository on a slow disk takes seconds.
pub const READ: Duration = Duration::from_secs(120);

/// How long staging or switching may take: filters and large files are part of it.
pub const WRITE: Duration = Duration::from_secs(600);

/// How long a commit may take with its hooks unless the workflow says otherwise.
pub const COMMIT: Duration = Duration::from_secs(600);

/// How long an exchange with a remote may take, hooks included, unless the workflow says otherwise.
pub const EXCHANGE: Duration = Duration::from_secs(600);

/// How often a remote that can't be reached is tried.
pub const EXCHANGE_TRIES: u32 = 4;
/// Between the first two tries; it doubles each time.
pub const EXCHANGE_PAUSE: Duration = Duration::from_secs(1);

/// Among how many of the latest positions of a branch one that a remote has is looked for.
pub const POSITIONS: usize = 1_000;

/// How long somebody else's lock is waited for, and how often it is looked at.
pub const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two looks at a lock.
pub const LOCK_LOOK: Duration = Duration::from_millis(100);

/// How long another AgentOS that changes the same worktree is waited for: no verb takes longer.
pub const ALONE_TIMEOUT: Duration = Duration::from_secs(1_200);
/// Between two looks whether it is done.
pub const ALONE_LOOK: Duration = Duration::from_millis(10);

/// Most that git may say in a list, in bytes: half a million names.
pub const LIST_BYTES: usize = 64 << 20;

/// Most changed files that are named in an answer, and how many unless it is said otherwise.
pub const FILES: usize = 10_000;
/// How many changed files are named unless it is said otherwise.
pub const FILES_DEFAULT: usize = 1_000;

/// Most that the names in an answer may take, in bytes. An answer has to fit into the log.
pub const NAMES_BYTES: usize = 1 << 20;

/// Longest text of a diff, in bytes, and how long it is unless it is said otherwise.
pub const TEXT_BYTES: usize = 1 << 20;
/// How long the text of a diff is unless it is said otherwise.
pub const TEXT_BYTES_DEFAULT: usize = 256 << 10;

/// Most commits in an answer, and how many unless it is said otherwise.
pub const COMMITS: usize = 500;
/// How many commits are listed unless it is said otherwise.
pub const COMMITS_DEFAULT: usize = 20;

/// How much of a commit's message is in an answer, in bytes.
pub const MESSAGE_BYTES: usize = 4 << 10;

/// Longest message of a new commit with its trailers, in bytes.
pub const NEW_MESSAGE_BYTES: usize = 256 << 10;

/// Most trailers of a new commit.
pub const TRAILERS: usize = 100;

/// How many paths a request may name, and how long each may be, in bytes.
pub const PATHS: usize = 1_000;
/// Longest path or name in a request, in bytes.
pub const PATH_BYTES: usize = 4_096;
/// Most that all paths of a request may take, in bytes: they are arguments of a program, which have to fit.
pub const PATHS_BYTES: usize = 256 << 10;

/// Among how many of the latest commits one with a certain mark is looked for.
pub const MARKED_AMONG: usize = 1_000;

/// Among how much of their messages, in bytes.
pub const MARKED_BYTES: usize = 16 << 20;

/// How much of what git or a hook said last is in a message, in bytes.
pub const SAID_BYTES: usize = 4_000;
