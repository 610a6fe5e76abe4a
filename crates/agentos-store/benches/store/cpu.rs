//! Processor time, for every bench that asks what something costs.

use std::time::Duration;

/// Processor time that this process has used.
pub(crate) fn cpu() -> Duration {
    let used = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(used.tv_sec.unsigned_abs(), u32::try_from(used.tv_nsec).unwrap_or(0))
}
