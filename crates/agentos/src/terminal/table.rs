//! Tables: columns aligned, and on a terminal never wider than it.
//!
//! What does not fit is cut cell by cell, the widest columns first; what somebody will copy (ids) stays whole, and if that
//! is not enough, the lines are cut at the right. Elsewhere nothing is cut: whoever reads a pipe wants all of it.

use super::paint::{Paint, Tone};
use super::text::Line;

/// Between two columns.
const GAP: usize = 2;

/// No column gets narrower than this; then the line itself is cut.
const NARROWEST: usize = 4;

/// A column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    to_the_right: bool,
    precious: bool,
}

impl Column {
    /// A column of text.
    pub(crate) const fn text(title: &'static str) -> Self {
        Self { title, to_the_right: false, precious: false }
    }

    /// A column of numbers, aligned at the right.
    pub(crate) const fn number(title: &'static str) -> Self {
        Self { title, to_the_right: true, precious: false }
    }

    /// A column of names that are copied: its cells are not cut.
    pub(crate) const fn precious(title: &'static str) -> Self {
        Self { title, to_the_right: false, precious: true }
    }
}

/// Rows under titles.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Line>>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: &[Column]) -> Self {
        let titles = columns.iter().map(|column| Line::of(Tone::Faint, column.title)).collect();
        Self { columns: columns.to_vec(), rows: vec![titles] }
    }

    /// Adds a row; missing cells are empty, cells without a column are left out.
    pub(crate) fn row(&mut self, mut cells: Vec<Line>) {
        cells.resize(self.columns.len(), Line::default());
        self.rows.push(cells);
    }

    /// The lines, titles first, fitted into a width if there is one.
    pub(crate) fn lines(&self, width: Option<usize>, paint: Paint) -> Vec<String> {
        let widths = self.widths(width);
        let lines = self.rows.iter().map(|cells| self.line(cells, &widths, paint));
        lines.map(|line| line.fitted(width.unwrap_or(usize::MAX), paint)).collect()
    }

    /// How wide each column is.
    fn widths(&self, width: Option<usize>) -> Vec<usize> {
        let widest = |at: usize| self.rows.iter().map(|cells| cells[at].width()).max();
        let wanted = (0..self.columns.len()).map(|at| widest(at).unwrap_or(0));
        let wanted: Vec<usize> = wanted.collect();
        let Some(width) = width.filter(|width| total(&wanted) > *width) else { return wanted };
        let capped = |cap: usize| -> Vec<usize> {
            let columns = self.columns.iter().zip(&wanted);
            let cap_of = |precious: bool| if precious { usize::MAX } else { cap };
            columns.map(|(column, wanted)| (*wanted).min(cap_of(column.precious))).collect()
        };
        let mut by_cap = (NARROWEST..width).rev().map(capped);
        by_cap.find(|widths| total(widths) <= width).unwrap_or_else(|| capped(NARROWEST))
    }

    fn line(&self, cells: &[Line], widths: &[usize], paint: Paint) -> Line {
        let mut line = Line::default();
        let mut owed = 0;
        for ((cell, column), width) in cells.iter().zip(&self.columns).zip(widths) {
            let cell = cell.cut(*width, paint);
            let space = width - cell.width();
            let (before, after) = if column.to_the_right { (space, 0) } else { (0, space) };
            // What follows the last text of a line is never written.
            if cell.width() > 0 {
                line.push(Tone::Plain, &" ".repeat(owed + before));
                line.append(cell);
                owed = after + GAP;
            } else {
                owed += width + GAP;
            }
        }
        line
    }
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::super::text::width;
    use super::*;

    fn table() -> Table {
        let columns = [
            Column::precious("RUN"),
            Column::text("WORKFLOW"),
            Column::number("STEPS"),
            Column::text("ERROR"),
        ];
        let mut table = Table::new(&columns);
        let cell = |text: &str| Line::of(Tone::Plain, text);
        table.row(vec![
            cell("implement-abcdef"),
            cell("implement"),
            cell("12"),
            cell("the tests of the parser failed"),
        ]);
        table.row(vec![cell("plan-ghijkl"), cell("plan"), cell("3"), cell("")]);
        table.row(vec![cell("名前-mnopqr"), cell(""), cell("1000")]);
        table
    }

    fn shown(width: Option<usize>) -> String {
        let lines = table().lines(width, Paint::PLAIN);
        if let Some(most) = width {
            assert!(lines.iter().all(|line| self::width(line) <= most), "{lines:?}");
        }
        lines.join("\n")
    }

    #[test]
    fn a_table_has_aligned_columns() {
        insta::assert_snapshot!(shown(None), @r#"
        RUN               WORKFLOW   STEPS  ERROR
        implement-abcdef  implement     12  the tests of the parser failed
        plan-ghijkl       plan           3
        名前-mnopqr                   1000
        "#);
    }

    #[test]
    fn a_narrow_table_keeps_what_people_copy() {
        insta::assert_snapshot!(shown(Some(50)), @r#"
        RUN               WORKFLOW   STEPS  ERROR
        implement-abcdef  implement     12  the tests of …
        plan-ghijkl       plan           3
        名前-mnopqr                   1000
        "#);
    }

    #[test]
    fn a_table_fits_into_twenty_columns_and_into_one() {
        insta::assert_snapshot!(shown(Some(20)), @r#"
        RUN               W…
        implement-abcdef  i…
        plan-ghijkl       p…
        名前-mnopqr        …
        "#);
        assert_eq!(shown(Some(1)), "…\n…\n…\n…");
        assert_eq!(shown(Some(0)), "\n\n\n");
    }
}
