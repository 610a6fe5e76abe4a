//! Samples, summed up: the middle and the ends, as a table and as JSON.

use std::fmt;

use serde::Serialize;

#[derive(Debug, Serialize)]
struct Line {
    case: String,
    unit: String,
    median: f64,
    lowest: f64,
    highest: f64,
    samples: Vec<f64>,
}

/// Everything that was measured, in the order in which it was first seen.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Report {
    measured: Vec<Line>,
    ratios: Vec<Line>,
}

impl Report {
    pub(crate) fn add(&mut self, case: &str, unit: &str, sample: f64) {
        let known = self.measured.iter_mut().find(|line| line.case == case && line.unit == unit);
        match known {
            Some(line) => line.samples.push(sample),
            None => self.measured.push(Line::new(case, unit, vec![sample])),
        }
        if let Some(line) =
            self.measured.iter_mut().find(|line| line.case == case && line.unit == unit)
        {
            line.sum_up();
        }
    }

    /// The ratio of two cases, round by round.
    pub(crate) fn ratio(&mut self, ours: &str, theirs: &str, unit: &str) {
        let find =
            |case: &str| self.measured.iter().find(|line| line.case == case && line.unit == unit);
        let (Some(mine), Some(reference)) = (find(ours), find(theirs)) else { return };
        let ratios =
            mine.samples.iter().zip(&reference.samples).map(|(mine, theirs)| mine / theirs);
        let mut line = Line::new(&format!("{ours} / {theirs}"), unit, ratios.collect());
        line.sum_up();
        self.ratios.push(line);
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers and names have a JSON text")
    }
}

impl Line {
    fn new(case: &str, unit: &str, samples: Vec<f64>) -> Self {
        Self {
            case: case.into(),
            unit: unit.into(),
            median: 0.0,
            lowest: 0.0,
            highest: 0.0,
            samples,
        }
    }

    fn sum_up(&mut self) {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        self.median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        (self.lowest, self.highest) = (sorted[0], sorted[sorted.len() - 1]);
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "median (lowest to highest)\n")?;
        for (lines, digits) in [(&self.measured, 1), (&self.ratios, 2)] {
            for Line { case, unit, median, lowest, highest, .. } in lines {
                writeln!(
                    f,
                    "  {case:<62} {unit:<10} {median:>11.digits$} ({lowest:.digits$} to {highest:.digits$})"
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}
