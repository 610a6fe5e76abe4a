//! Many samples of one thing, summed up: the middle and the ends.

use serde::Serialize;

/// The middle and the ends of some samples. The samples stay, for whoever wants to know more.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Summary {
    pub(super) median: f64,
    pub(super) lowest: f64,
    pub(super) highest: f64,
    pub(super) samples: Vec<f64>,
}

impl Summary {
    /// Sums up samples, of which there is at least one.
    pub(super) fn of(samples: Vec<f64>) -> Self {
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = if sorted.len() % 2 == 1 {
            sorted[middle]
        } else {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        };
        Self { median, lowest: sorted[0], highest: sorted[sorted.len() - 1], samples }
    }

    /// The ratio round by round: what disturbed both at the same time falls out.
    pub(super) fn over(&self, reference: &Self) -> Self {
        let pairs = self.samples.iter().zip(&reference.samples);
        Self::of(pairs.map(|(ours, theirs)| ours / theirs).collect())
    }

    /// The same in another unit.
    pub(super) fn times(&self, factor: f64) -> Self {
        Self {
            median: self.median * factor,
            lowest: self.lowest * factor,
            highest: self.highest * factor,
            samples: self.samples.iter().map(|sample| sample * factor).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends(samples: &[f64]) -> [f64; 3] {
        let summary = Summary::of(samples.to_vec());
        [summary.median, summary.lowest, summary.highest]
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "halves are exact")]
    fn the_median_is_the_middle() {
        assert_eq!(ends(&[9.0, 1.0, 2.0]), [2.0, 1.0, 9.0]);
        assert_eq!(ends(&[4.0, 1.0, 2.0, 9.0]), [3.0, 1.0, 9.0]);
        assert_eq!(ends(&[5.0]), [5.0; 3]);
    }

    #[test]
    #[expect(clippy::float_cmp, reason = "powers of two are exact")]
    fn a_ratio_is_taken_round_by_round() {
        let (ours, theirs) = (Summary::of(vec![2.0, 40.0]), Summary::of(vec![1.0, 20.0]));
        let ratio = ours.over(&theirs);
        assert_eq!([ratio.median, ratio.lowest, ratio.highest], [2.0; 3]);
        assert_eq!(ratio.times(2.0).median, 4.0);
    }
}
