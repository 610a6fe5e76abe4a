//! What is left out when there are more rows than the screen is high.
//!
//! First what is done, the oldest first; then what has not begun, the last first; then why something failed; then what
//! failed. Neighbours that are left out become one line that counts them. What is active goes last, and the heading never.

use super::outline::{Row, Stage, What};

/// A line of the folded tree.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shown<'a, 'b> {
    Row(&'b Row<'a>),
    Folded { depth: usize, count: usize, what: Folded },
}

/// What all rows of a fold have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Folded {
    Done,
    Pending,
    Mixed,
}

impl Folded {
    pub(super) const fn words(self, count: usize) -> &'static str {
        match (self, count) {
            (Self::Done, 1) => "step done",
            (Self::Done, _) => "steps done",
            (Self::Pending, 1) => "step pending",
            (Self::Pending, _) => "steps pending",
            (Self::Mixed, 1) => "step more",
            (Self::Mixed, _) => "steps more",
        }
    }

    fn of(row: &Row<'_>) -> Self {
        match row.stage {
            Stage::Done => Self::Done,
            Stage::Pending => Self::Pending,
            Stage::Heading | Stage::Active | Stage::Failed => Self::Mixed,
        }
    }
}

/// The rows in at most so many lines, at least the heading.
pub(super) fn fitted<'a, 'b>(rows: &'b [Row<'a>], height: usize) -> Vec<Shown<'a, 'b>> {
    if rows.len() <= height {
        return rows.iter().map(Shown::Row).collect();
    }
    let order = order(rows);
    let folding = |count: usize| {
        let mut folded = vec![false; rows.len()];
        order[..count].iter().for_each(|at| folded[*at] = true);
        joined(rows, &folded)
    };
    // Folding one row more never makes more lines, so the fewest that are enough can be searched for.
    let (mut too_few, mut enough) = (0, order.len());
    while too_few + 1 < enough {
        let middle = usize::midpoint(too_few, enough);
        if folding(middle).len() <= height {
            enough = middle;
        } else {
            too_few = middle;
        }
    }
    cut(folding(enough), height.max(1))
}

/// In which order rows are given up.
fn order(rows: &[Row<'_>]) -> Vec<usize> {
    let is_why = |row: &Row<'_>| matches!(row.what, What::Why(_)) && row.stage != Stage::Heading;
    let of = |stage: Stage| {
        (0..rows.len()).filter(move |at| rows[*at].stage == stage && !is_why(&rows[*at]))
    };
    let reasons = (0..rows.len()).filter(|at| is_why(&rows[*at]));
    of(Stage::Done)
        .chain(of(Stage::Pending).rev())
        .chain(reasons)
        .chain(of(Stage::Failed))
        .collect()
}

fn joined<'a, 'b>(rows: &'b [Row<'a>], folded: &[bool]) -> Vec<Shown<'a, 'b>> {
    let mut shown = Vec::new();
    let mut open: Vec<&Row<'_>> = Vec::new();
    for (row, is_folded) in rows.iter().zip(folded) {
        if *is_folded {
            open.push(row);
        } else {
            shown.extend(fold(&open));
            open.clear();
            shown.push(Shown::Row(row));
        }
    }
    shown.extend(fold(&open));
    shown
}

/// One line for neighbours; none if there is no step and no run among them.
fn fold<'a, 'b>(rows: &[&Row<'_>]) -> Option<Shown<'a, 'b>> {
    let counted: Vec<_> = rows.iter().filter(|row| is_counted(row)).collect();
    let depth = rows.iter().map(|row| row.depth).min()?;
    let first = Folded::of(counted.first()?);
    let is_one = counted.iter().all(|row| Folded::of(row) == first);
    let what = if is_one { first } else { Folded::Mixed };
    Some(Shown::Folded { depth, count: counted.len(), what })
}

const fn is_counted(row: &Row<'_>) -> bool {
    matches!(row.what, What::Step { .. } | What::Run(_))
}

/// The last resort: more is active than there are lines. One line counts everything that is left out.
fn cut<'a, 'b>(shown: Vec<Shown<'a, 'b>>, height: usize) -> Vec<Shown<'a, 'b>> {
    if shown.len() <= height {
        return shown;
    }
    let count_of = |shown: &Shown<'_, '_>| match shown {
        Shown::Row(row) => usize::from(is_counted(row)),
        Shown::Folded { count, .. } => *count,
    };
    let total: usize = shown.iter().map(count_of).sum();
    let rows = shown.into_iter().filter(|shown| matches!(shown, Shown::Row(_)));
    let mut kept: Vec<_> = rows.take(height.saturating_sub(1).max(1)).collect();
    let count = total - kept.iter().map(count_of).sum::<usize>();
    if height > 1 && count > 0 {
        kept.push(Shown::Folded { depth: 1, count, what: Folded::Mixed });
    }
    kept
}
