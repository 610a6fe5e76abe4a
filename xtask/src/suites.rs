//! Runs a list of suites to the end and sums them up.
//!
//! A failed suite does not stop the ones after it: whoever waited for a run wants to see everything
//! that is wrong, not the first thing.

use std::time::Duration;

use anyhow::{Result, bail};

use crate::shell::say;
use crate::stopwatch;

/// A length of time that is worth talking about.
#[derive(Clone, Copy)]
pub(crate) struct Minutes(pub(crate) u64);

/// One thing that passes or fails.
pub(crate) struct Suite {
    /// How the summary calls it.
    pub(crate) name: &'static str,
    /// How long it may take before somebody should look into it.
    pub(crate) budget: Minutes,
    /// Passes or says why not; what the user needs to see was printed by then.
    pub(crate) check: Box<dyn Fn() -> Result<()>>,
}

struct Outcome {
    name: &'static str,
    budget: Duration,
    elapsed: Duration,
    result: Result<()>,
}

/// Runs all suites in order, prints the summary, and fails if any of them failed.
pub(crate) fn run_all(suites: &[Suite]) -> Result<()> {
    let outcomes: Vec<Outcome> = suites.iter().map(run_one).collect();
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

fn run_one(suite: &Suite) -> Outcome {
    say(format!("\n== {}", suite.name));
    let (result, elapsed) = stopwatch::timed(|| (suite.check)());
    let outcome = Outcome {
        name: suite.name,
        budget: Duration::from_secs(suite.budget.0 * 60),
        elapsed,
        result,
    };
    say(format!("== {}: {} in {}", outcome.name, outcome.verdict(), stopwatch::shown(elapsed)));
    if let Err(error) = &outcome.result {
        say(format!("   {error:#}"));
    }
    if let Some(warning) = outcome.overrun() {
        say(warning);
    }
    outcome
}

impl Outcome {
    fn verdict(&self) -> &'static str {
        if self.result.is_ok() { "passed" } else { "FAILED" }
    }

    fn overrun(&self) -> Option<String> {
        let (elapsed, budget) = (stopwatch::shown(self.elapsed), stopwatch::shown(self.budget));
        (self.elapsed > self.budget)
            .then(|| format!("warning: {} took {elapsed}, over its budget of {budget}", self.name))
    }
}

fn summary(outcomes: &[Outcome]) -> Vec<String> {
    let head = format!("{:<8} {:<7} {:>8} {:>8}", "suite", "result", "elapsed", "budget");
    std::iter::once(head).chain(outcomes.iter().map(summary_row)).collect()
}

fn summary_row(outcome: &Outcome) -> String {
    let (name, verdict) = (outcome.name, outcome.verdict());
    let (elapsed, budget) = (stopwatch::shown(outcome.elapsed), stopwatch::shown(outcome.budget));
    let mark = if outcome.overrun().is_some() { "  over budget" } else { "" };
    format!("{name:<8} {verdict:<7} {elapsed:>8} {budget:>8}{mark}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;
    use std::cell::Cell;
    use std::rc::Rc;

    fn suite(name: &'static str, check: impl Fn() -> Result<()> + 'static) -> Suite {
        Suite { name, budget: Minutes(1), check: Box::new(check) }
    }

    #[test]
    fn a_failed_suite_does_not_stop_the_next_one() {
        let ran = Rc::new(Cell::new(false));
        let saw = Rc::clone(&ran);
        let suites = [
            suite("first", || Err(anyhow!("broken"))),
            suite("second", move || {
                saw.set(true);
                Ok(())
            }),
        ];
        let error = run_all(&suites).unwrap_err();
        assert_eq!(error.to_string(), "1 of 2 suites failed");
        assert!(ran.get());
    }

    #[test]
    fn all_passing_is_success() {
        run_all(&[suite("only", || Ok(()))]).unwrap();
    }

    #[test]
    fn an_overrun_is_marked_and_is_not_a_failure() {
        let outcomes = [
            Outcome {
                name: "tidy",
                budget: Duration::from_secs(60),
                elapsed: Duration::from_millis(300),
                result: Ok(()),
            },
            Outcome {
                name: "tests",
                budget: Duration::from_secs(600),
                elapsed: Duration::from_secs(601),
                result: Ok(()),
            },
        ];
        assert_eq!(
            summary(&outcomes),
            [
                "suite    result   elapsed   budget",
                "tidy     passed      0.3s   1m 00s",
                "tests    passed   10m 01s  10m 00s  over budget",
            ]
        );
    }
}
