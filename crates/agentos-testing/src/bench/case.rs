//! Cases that take turns.

use std::time::Duration;

use super::stopwatch::Stopwatch;
use super::summary::Summary;

/// How thoroughly is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// How many samples each case gets.
    pub rounds: u32,
    /// How long one sample takes at least; shorter work is repeated.
    pub sample: Duration,
}

impl Default for Effort {
    fn default() -> Self {
        Self { rounds: 11, sample: Duration::from_millis(20) }
    }
}

/// A piece of work that is measured.
pub(super) struct Case<'a> {
    pub(super) group: &'static str,
    pub(super) name: String,
    /// What is counted: a step, an entry, an operation.
    pub(super) unit: &'static str,
    /// How many of them one execution of the work has.
    pub(super) units: usize,
    /// Prepares, has the stopwatch measure the work itself, and cleans up.
    pub(super) work: Box<dyn FnMut(&mut Stopwatch) + 'a>,
}

/// So many executions find out how often to repeat; they also warm up.
const TRIALS: u32 = 5;

impl Case<'_> {
    /// How often the work is repeated for one sample. The fastest trial decides: others may have been disturbed.
    fn repeats(&mut self, at_least: Duration, watch: &mut Stopwatch) -> u32 {
        let mut trial = || {
            (self.work)(watch);
            watch.take()
        };
        let fastest = (0..TRIALS).map(|_| trial()).min().unwrap_or_default();
        let repeats = at_least.as_nanos().div_ceil(fastest.as_nanos().max(1));
        u32::try_from(repeats).unwrap_or(u32::MAX).clamp(1, 10_000)
    }

    /// Nanoseconds per unit.
    fn sample(&mut self, repeats: u32, watch: &mut Stopwatch) -> f64 {
        for _ in 0..repeats {
            (self.work)(watch);
        }
        let nanoseconds = watch.take().as_secs_f64() * 1e9;
        nanoseconds / f64::from(repeats) / count(self.units)
    }
}

/// A count to calculate with.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
pub(super) fn count(of: usize) -> f64 {
    of as f64
}

/// Measures all cases: every round has one sample of each, and begins with another case. The result is in nanoseconds
/// per unit.
pub(super) fn measure(
    cases: &mut [Case<'_>],
    effort: Effort,
    watch: &mut Stopwatch,
) -> Vec<Summary> {
    let repeats: Vec<u32> =
        cases.iter_mut().map(|case| case.repeats(effort.sample, watch)).collect();
    let mut samples = vec![Vec::new(); cases.len()];
    for round in 0..effort.rounds.max(1) as usize {
        for turn in 0..cases.len() {
            let index = (round + turn) % cases.len();
            samples[index].push(cases[index].sample(repeats[index], watch));
        }
    }
    samples.into_iter().map(Summary::of).collect()
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;
    use crate::bench::stopwatch::Clock;

    #[test]
    fn cases_take_turns_and_every_round_begins_with_another() {
        let order = RefCell::new(String::new());
        let log = &order;
        let case = |name: char| Case {
            group: "",
            name: name.to_string(),
            unit: "",
            units: 1,
            work: Box::new(move |watch| watch.time(|| log.borrow_mut().push(name))),
        };
        let mut cases = [case('a'), case('b'), case('c')];
        let effort = Effort { rounds: 3, sample: Duration::ZERO };
        let mut watch = Stopwatch::new(Rc::new(Clock::new()));
        let summaries = measure(&mut cases, effort, &mut watch);
        let trials = "aaaaa bbbbb ccccc";
        assert_eq!(*order.borrow(), format!("{trials} abc bca cab").replace(' ', ""));
        assert!(summaries.iter().all(|summary| summary.samples.len() == 3));
    }
}
