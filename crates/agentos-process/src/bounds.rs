//! Every limit of this crate, in one place: whatever a command can make grow has a number here.

use std::time::Duration;

/// How much is read from a pipe at once, in bytes. It is also the largest frame.
pub const CHUNK_BYTES: usize = 64 * 1024;

/// How much of a command's output is kept on disk unless the command says otherwise, in bytes.
pub const KEPT_BYTES: u64 = 64 * 1024 * 1024;

/// The least that can be asked for: below this the head and the tail would not hold a frame each.
pub const LEAST_KEPT_BYTES: u64 = 4 * 1024;

/// How much of each stream is returned unless the caller says otherwise, in bytes.
pub const RETURNED_BYTES: usize = 256 * 1024;

/// Largest input that a command is given, in bytes.
pub const INPUT_BYTES: usize = 16 * 1024 * 1024;

/// Largest document of the protocol that is read, in bytes: a command with its input, escaped.
pub const DOCUMENT_BYTES: u64 = 128 * 1024 * 1024;

/// Shortest secret that is masked, in bytes: a shorter one would mask half of every line and hide nothing.
pub const SECRET_BYTES: usize = 4;

/// Most secrets that are looked for in one command's output.
pub const SECRETS: usize = 1_000;

/// How long processes have between TERM and KILL unless the command says otherwise.
pub const GRACE: Duration = Duration::from_secs(5);

/// How long the pipes of a command that has ended are read on while somebody else still holds them.
pub const DRAIN: Duration = Duration::from_millis(500);

/// How often a short tool is run that a signal ends each time.
pub const RUNS_WHEN_KILLED: u32 = 4;

/// Between the first two of these runs; four times as long between the next two.
pub const PAUSE_WHEN_KILLED: Duration = Duration::from_millis(100);

/// How much is read of git's record of the programs that it has started, in bytes.
pub const RECORD_BYTES: u64 = 64 << 20;

/// How long the folder of such a record may stay that a killed process has left, and how many names in the temporary directory
/// are looked at to find one.
pub const RECORD_STAYS: Duration = Duration::from_hours(48);
/// See [`RECORD_STAYS`].
pub const RECORD_FOLDERS: usize = 10_000;

/// How much of the call of a program is its name, in bytes.
pub const PROGRAM_NAME_BYTES: usize = 200;

/// How much of what a tool said last is told if a signal ended it, in bytes.
pub const LAST_WORDS_BYTES: usize = 2_000;

/// How long apart two rounds of KILL are.
pub const KILL_ROUND: Duration = Duration::from_millis(10);

/// How long a process that is being replaced by another program is waited for, and how long apart two looks at it are.
pub const EXEC_WAIT: Duration = Duration::from_secs(2);
/// See [`EXEC_WAIT`].
pub const EXEC_ROUND: Duration = Duration::from_millis(1);

/// How long leftovers of a dead supervisor may resist KILL before that is an error.
pub const LEFTOVERS: Duration = Duration::from_secs(30);

/// How often a supervisor looks for what it is not told of: a `stop` file made by hand, and whether anybody is attached.
pub const LOOK: Duration = Duration::from_secs(1);

/// How often somebody attached looks whether the supervisor lives.
pub const PROBE: Duration = Duration::from_millis(250);

/// How often files are looked at where the system does not tell of changes.
pub const POLL: Duration = Duration::from_millis(20);

/// How long a supervisor that does not get its lock waits before it leaves the command to whoever holds it.
pub const LOCK_WAIT: Duration = Duration::from_secs(1);

/// How long a supervisor that has recorded the end of its command may take to leave, on a machine that is busy.
pub const LEAVING: Duration = Duration::from_secs(10);

/// How long a process that only looks at a lock may have it.
pub const LOOKING: Duration = Duration::from_millis(20);

/// How often a supervisor is started that dies before it has begun.
pub const STARTS: u32 = 5;

/// How long a supervisor waits for room on the disk unless the command says otherwise: for what the command wrote, and then
/// again for the record of how it ended.
pub const ROOM: Duration = Duration::from_secs(60);

/// How often a supervisor that waits for room tries to write.
pub const ROOM_ROUND: Duration = Duration::from_millis(200);

/// Most files that one command's output is cut into, however small a file may be here.
pub const OUTPUT_FILES: u64 = 4 * 1024;
