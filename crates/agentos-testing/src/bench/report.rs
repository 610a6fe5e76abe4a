//! What came out, as a table for people and as JSON for everybody else.

use std::fmt;
use std::thread;

use serde::Serialize;

use super::case::{Case, Effort, count};
use super::stopwatch::Clock;
use super::summary::Summary;

/// Everything that one measurement found out.
#[derive(Debug, Serialize)]
pub struct Report {
    bench: &'static str,
    machine: Machine,
    rounds: u32,
    sample_ms: u128,
    /// Which time is meant: `processor`, or where the system does not tell it `wall`.
    clock: &'static str,
    took_s: f64,
    cases: Vec<Measured>,
    ratios: Vec<Ratio>,
    bars: Vec<Bar>,
}

#[derive(Debug, Serialize)]
struct Machine {
    cores: usize,
    os: &'static str,
    arch: &'static str,
    /// Whether this is an optimised build; the numbers of any other mean nothing.
    optimised: bool,
}

#[derive(Debug, Serialize)]
struct Measured {
    group: &'static str,
    name: String,
    unit: &'static str,
    units: usize,
    ns_per_unit: Summary,
    units_per_second: f64,
}

#[derive(Debug, Serialize)]
struct Ratio {
    name: String,
    /// Of the times per unit.
    ratio: Summary,
}

#[derive(Debug, Serialize)]
struct Bar {
    name: String,
    limit_ms: f64,
    ms: Summary,
    met: bool,
}

impl Report {
    /// A report of cases and their summaries, which stand in the same order.
    pub(super) fn new(
        bench: &'static str,
        effort: Effort,
        cases: &[Case<'_>],
        summaries: Vec<Summary>,
    ) -> Self {
        let measured = cases.iter().zip(summaries).map(|(case, ns_per_unit)| Measured {
            group: case.group,
            name: case.name.clone(),
            unit: case.unit,
            units: case.units,
            units_per_second: 1e9 / ns_per_unit.median,
            ns_per_unit,
        });
        Self {
            bench,
            machine: Machine {
                cores: thread::available_parallelism().map_or(1, usize::from),
                os: std::env::consts::OS,
                arch: std::env::consts::ARCH,
                optimised: !cfg!(debug_assertions),
            },
            rounds: effort.rounds,
            sample_ms: effort.sample.as_millis(),
            clock: "",
            took_s: 0.0,
            cases: measured.collect(),
            ratios: Vec::new(),
            bars: Vec::new(),
        }
    }

    /// Says which clock was used, and how long everything took by now.
    pub(super) fn measured_by(&mut self, clock: &Clock) {
        self.clock = if clock.is_processor() { "processor" } else { "wall" };
        self.took_s = clock.wall().as_secs_f64();
    }

    /// Compares two cases by their time per unit.
    pub(super) fn compare(&mut self, name: impl Into<String>, ours: usize, reference: usize) {
        let ratio = self.cases[ours].ns_per_unit.over(&self.cases[reference].ns_per_unit);
        self.ratios.push(Ratio { name: name.into(), ratio });
    }

    /// Holds the time of a whole case against a bar.
    pub(super) fn hold(&mut self, name: impl Into<String>, case: usize, limit_ms: f64) {
        let Measured { units, ns_per_unit, .. } = &self.cases[case];
        let ms = ns_per_unit.times(count(*units) / 1e6);
        let met = ms.median <= limit_ms;
        self.bars.push(Bar { name: name.into(), limit_ms, ms, met });
    }

    /// The report as JSON.
    ///
    /// # Panics
    /// Never: it holds only texts and numbers.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("texts and numbers have a JSON text")
    }
}

/// Times in the unit that keeps their median short.
fn times(nanoseconds: &Summary) -> (String, String) {
    let (unit, digits, factor) = match nanoseconds.median {
        ns if ns < 1e3 => ("ns", 0, 1.0),
        ns if ns < 1e6 => ("µs", 2, 1e-3),
        _ => ("ms", 2, 1e-6),
    };
    let Summary { median, lowest, highest, .. } = nanoseconds.times(factor);
    let spread = format!("({lowest:.digits$} to {highest:.digits$})");
    (format!("{median:.digits$} {unit}"), spread)
}

/// A rate, rounded to what the spread lets one see.
fn rate(per_second: f64) -> String {
    match per_second {
        rate if rate < 1e3 => format!("{rate:.0}"),
        rate if rate < 1e6 => format!("{:.0} k", rate / 1e3),
        rate => format!("{:.1} M", rate / 1e6),
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { cores, os, arch, optimised } = &self.machine;
        let Self { bench, rounds, clock, took_s, .. } = self;
        writeln!(f, "{bench}: {cores} cores, {os} {arch}; {rounds} rounds in {took_s:.0} s")?;
        writeln!(f, "{clock} time, median (lowest to highest)")?;
        if !optimised {
            writeln!(f, "NOT OPTIMISED: these numbers mean nothing")?;
        }
        self.write_cases(f)?;
        writeln!(f, "\nratios of times per unit, round by round")?;
        for Ratio { name, ratio } in &self.ratios {
            let Summary { median, lowest, highest, .. } = ratio;
            writeln!(f, "  {name:<58} {median:>6.2} ({lowest:.2} to {highest:.2})")?;
        }
        writeln!(f, "\nbars")?;
        for Bar { name, limit_ms, ms, met } in &self.bars {
            let verdict = if *met { "met" } else { "MISSED" };
            let Summary { median, lowest, highest, .. } = ms;
            let found = format!("{median:.1} ms ({lowest:.1} to {highest:.1})");
            writeln!(f, "  {name:<47} {found:<24} at most {limit_ms} ms: {verdict}")?;
        }
        Ok(())
    }
}

impl Report {
    fn write_cases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut group = "";
        for case in &self.cases {
            if case.group != group {
                group = case.group;
                writeln!(f, "\n{group}")?;
            }
            let Measured { name, unit, ns_per_unit, units_per_second, .. } = case;
            let (median, spread) = times(ns_per_unit);
            let rate = rate(*units_per_second);
            writeln!(f, "  {name:<47} {median:>8}/{unit:<9} {spread:<16} {rate:>6}/s")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_rates_are_short() {
        let shown = |samples: &[f64]| times(&Summary::of(samples.to_vec()));
        assert_eq!(shown(&[999.4, 1_001.0, 7.0]), ("999 ns".into(), "(7 to 1001)".into()));
        assert_eq!(shown(&[1_234.0]), ("1.23 µs".into(), "(1.23 to 1.23)".into()));
        assert_eq!(shown(&[5e7]).0, "50.00 ms");
        assert_eq!([rate(12.0), rate(12_345.0), rate(1.26e6)], ["12", "12 k", "1.3 M"]);
    }
}
