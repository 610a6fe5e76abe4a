//! Comma-separated values as RFC 4180 has them: lines end with CR LF, what has a comma, a quote or a line break in it is
//! quoted. NULL is nothing, an empty text is a pair of quotes.

use agentos_store::unified::{Answer, Cell};

/// The answer with its column names first.
pub(super) fn written(answer: &Answer) -> String {
    let mut all = String::new();
    let names: Vec<String> = answer.columns.iter().map(|name| quoted(name)).collect();
    all.push_str(&names.join(","));
    all.push_str("\r\n");
    for row in &answer.rows {
        let fields: Vec<String> = row.iter().map(field).collect();
        all.push_str(&fields.join(","));
        all.push_str("\r\n");
    }
    all
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Null => String::new(),
        Cell::Integer(value) => value.to_string(),
        Cell::Real(value) => value.to_string(),
        Cell::Text(text) => quoted(text),
        Cell::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() || text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_misread_is_quoted() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let answer = Answer {
            columns: vec!["a,b".to_owned(), "c".to_owned(), "d".to_owned()],
            rows: vec![
                vec![text("one \"two\""), Cell::Null, text("")],
                vec![text("x\r\ny"), Cell::Real(1.5), Cell::Blob(vec![0, 255])],
            ],
            has_more: false,
            unreadable: Vec::new(),
        };
        assert_eq!(
            written(&answer),
            "\"a,b\",c,d\r\n\"one \"\"two\"\"\",,\"\"\r\n\"x\r\ny\",1.5,00ff\r\n"
        );
    }
}
