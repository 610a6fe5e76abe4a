//! Runs a list of suites to the end and prints a summary: result, time and budget of each.
//!
//! A failed suite does not stop the ones after it: a person who waited for a run wants to see everything that is wrong, not
//! the first thing. In CI a suite that takes more than [`TOLERANCE`] of its budget fails: a suite that grows slowly is
//! noticed while the cause can still be told.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use crate::shell::say;
use crate::stopwatch::{self, Stopwatch};

/// How much of its budget a suite may take in CI, in percent.
const TOLERANCE: u32 = 150;

/// One thing that passes or fails.
pub(crate) struct Suite {
    /// Its name in the summary.
    name: &'static str,
    /// How long it may take on two cores with nothing built before.
    budget: Duration,
    /// Passes or says why not. It has printed what the user needs to see.
    pub(crate) check: Box<dyn Fn() -> Result<()>>,
}

impl Suite {
    pub(crate) fn new(
        name: &'static str,
        budget: Duration,
        check: impl Fn() -> Result<()> + 'static,
    ) -> Self {
        Self { name, budget, check: Box::new(check) }
    }
}

struct Outcome {
    name: &'static str,
    budget: Duration,
    elapsed: Duration,
    result: Result<()>,
}

/// Runs all suites in order, prints the summary, and fails if any of them failed. With `is_strict`, a suite that takes far
/// longer than its budget has failed.
pub(crate) fn run_all(suites: &[Suite], is_strict: bool) -> Result<()> {
    let outcomes: Vec<Outcome> = suites.iter().map(|suite| run_one(suite, is_strict)).collect();
    say("");
    for line in summary(&outcomes) {
        say(line);
    }
    let failed = outcomes.iter().filter(|outcome| outcome.result.is_err()).count();
    if failed > 0 {
        bail!("{failed} of {} suites failed", outcomes.len());
    }
    Ok(())
}

fn run_one(suite: &Suite, is_strict: bool) -> Outcome {
    let Suite { name, budget, check } = suite;
    say(format!("\n== {name}"));
    let clock = Stopwatch::start();
    let result = check();
    let elapsed = clock.elapsed();
    let result = result.and_then(|()| match is_strict && is_far_over(elapsed, *budget) {
        true => Err(anyhow!(
            "took {}, more than {TOLERANCE} % of its budget of {}",
            stopwatch::shown(elapsed),
            stopwatch::shown(*budget)
        )),
        false => Ok(()),
    });
    let outcome = Outcome { name, budget: *budget, elapsed, result };
    say(format!("== {name}: {} in {}", outcome.verdict(), stopwatch::shown(elapsed)));
    if let Err(error) = &outcome.result {
        say(format!("   {error:#}"));
    }
    outcome
}

fn is_far_over(elapsed: Duration, budget: Duration) -> bool {
    elapsed > budget * TOLERANCE / 100
}

impl Outcome {
    fn verdict(&self) -> &'static str {
        if self.result.is_ok() { "passed" } else { "FAILED" }
    }
}

fn summary(outcomes: &[Outcome]) -> Vec<String> {
    let head = format!("{:<8} {:<7} {:>8} {:>8}", "suite", "result", "time", "budget");
    let time = |time: fn(&Outcome) -> Duration| outcomes.iter().map(time).sum::<Duration>();
    let total = format!(
        "{:<16} {:>8} {:>8}",
        "total",
        stopwatch::shown(time(|outcome| outcome.elapsed)),
        stopwatch::shown(time(|outcome| outcome.budget))
    );
    std::iter::once(head).chain(outcomes.iter().map(summary_row)).chain([total]).collect()
}

fn summary_row(outcome: &Outcome) -> String {
    let (name, verdict) = (outcome.name, outcome.verdict());
    let (elapsed, budget) = (stopwatch::shown(outcome.elapsed), stopwatch::shown(outcome.budget));
    let mark = if outcome.elapsed > outcome.budget { "  over budget" } else { "" };
    format!("{name:<8} {verdict:<7} {elapsed:>8} {budget:>8}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    const MINUTE: Duration = Duration::from_secs(60);

    #[test]
    fn a_failed_suite_does_not_stop_the_next_one() {
        let ran = Rc::new(Cell::new(false));
        let saw = Rc::clone(&ran);
        let suites = [
            Suite::new("first", MINUTE, || Err(anyhow!("broken"))),
            Suite::new("second", MINUTE, move || {
                saw.set(true);
                Ok(())
            }),
        ];
        let error = run_all(&suites, false).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 suites failed");
        assert!(ran.get());
    }

    #[test]
    fn all_passing_is_success() {
        run_all(&[Suite::new("only", MINUTE, || Ok(()))], true).unwrap();
    }

    #[test]
    fn a_suite_far_over_its_budget_fails_in_ci_only() {
        let slow = || [Suite::new("slow", Duration::ZERO, || Ok(()))];
        run_all(&slow(), false).unwrap();
        assert_eq!(run_all(&slow(), true).unwrap_err().to_string(), "1 of 1 suites failed");
        assert!(!is_far_over(MINUTE * 3 / 2, MINUTE));
        assert!(is_far_over(MINUTE * 3 / 2 + Duration::from_millis(1), MINUTE));
    }

    #[test]
    fn the_summary_marks_what_is_over_its_budget_and_adds_up() {
        let outcome = |name, seconds, elapsed| Outcome {
            name,
            budget: Duration::from_secs(seconds),
            elapsed: Duration::from_millis(elapsed),
            result: Ok(()),
        };
        assert_eq!(
            summary(&[outcome("tidy", 60, 300), outcome("tests", 600, 601_000)]),
            [
                "suite    result      time   budget",
                "tidy     passed      0.3s   1m 00s",
                "tests    passed   10m 01s  10m 00s  over budget",
                "total             10m 01s  11m 00s",
            ]
        );
    }
}
