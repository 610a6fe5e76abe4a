//! Many scenarios, one after the other; a failure is shrunk until it can be understood.

use std::fmt;

use super::check::{Mismatch, check};
use super::scenario::Scenario;
use crate::script::{shrinks, size};

/// A scenario that failed, as small as it could be made.
#[derive(Debug, Clone)]
pub struct Finding {
    /// The seed that found it.
    pub seed: u64,
    /// The smallest scenario that fails in the same way.
    pub scenario: Scenario,
    /// How it fails.
    pub mismatch: Mismatch,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, scenario, mismatch } = self;
        writeln!(f, "seed {seed} fails: {mismatch}")?;
        writeln!(f, "  program  {}", scenario.program)?;
        let mail: Vec<String> =
            scenario.mail.iter().map(|mail| format!("{} at {}", mail.name, mail.at)).collect();
        writeln!(f, "  mail     [{}]", mail.join(", "))?;
        let Scenario { seed, grace, timeout, deadline, turn_entries, parks, .. } = scenario;
        writeln!(
            f,
            "  world    `{seed}`, grace {grace}, timeout {timeout}, deadline {deadline}, turns of {turn_entries}, parks {parks}"
        )?;
        for (name, child) in &scenario.children {
            writeln!(f, "  {name:8} {child}")?;
        }
        Ok(())
    }
}

/// What a campaign looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Programs.
    pub programs: u64,
    /// Executions of programs, each under its own plan.
    pub schedules: u64,
    /// Entries in the logs of the uninterrupted runs.
    pub entries: u64,
    /// Switches to changed sources.
    pub switches: u64,
    /// Bodies that were played in them.
    pub played: u64,
}

impl Tally {
    /// Both together.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self {
            programs: self.programs + other.programs,
            schedules: self.schedules + other.schedules,
            entries: self.entries + other.entries,
            switches: self.switches + other.switches,
            played: self.played + other.played,
        }
    }
}

/// Scenarios from consecutive seeds.
#[derive(Debug, Clone, Copy)]
pub struct Campaign {
    /// The first seed.
    pub seed: u64,
    /// The distance to the next: several campaigns can share the work.
    pub stride: u64,
    /// How many schedules to execute at least.
    pub schedules: u64,
}

impl Campaign {
    /// Looks at scenarios until there were enough schedules, or one fails.
    ///
    /// # Errors
    /// The first failure, shrunk.
    pub fn run(&self) -> Result<Tally, Box<Finding>> {
        let mut tally = Tally::default();
        let mut seed = self.seed;
        while tally.schedules < self.schedules {
            let scenario = Scenario::generate(seed);
            match check(&scenario) {
                Ok(check) => {
                    tally.programs += 1;
                    tally.schedules += check.schedules;
                    tally.entries += check.entries;
                    tally.switches += check.switches;
                    tally.played += check.played;
                }
                Err(mismatch) => return Err(Box::new(shrink(seed, scenario, mismatch))),
            }
            seed += self.stride;
        }
        Ok(tally)
    }
}

/// Takes away whatever the failure does not need.
fn shrink(seed: u64, scenario: Scenario, mismatch: Mismatch) -> Finding {
    let mut best = Finding { seed, scenario, mismatch };
    while let Some((scenario, mismatch)) = smaller(&best) {
        best.scenario = scenario;
        best.mismatch = mismatch;
    }
    best
}

fn smaller(finding: &Finding) -> Option<(Scenario, Mismatch)> {
    let Finding { scenario, mismatch, .. } = finding;
    let fewer_mail = (0..scenario.mail.len()).map(|cut| {
        let mut fewer = scenario.clone();
        fewer.mail.remove(cut);
        fewer
    });
    let mut programs = shrinks(&scenario.program);
    programs.sort_by_key(size);
    let shorter = programs
        .into_iter()
        .map(|program| Scenario { program: std::rc::Rc::new(program), ..scenario.clone() });
    fewer_mail.chain(shorter).find_map(|candidate| match check(&candidate) {
        Err(found) if found.rule == mismatch.rule => Some((candidate, found)),
        _ => None,
    })
}
