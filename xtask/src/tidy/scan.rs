//! A light scanner of Rust sources: the few things the rules ask about, with their lines.
//!
//! It works on tokens, so comments and the insides of strings never count as code, and it looks
//! into macro calls, where a parser would see nothing. `use` trees are spelt out:
//! `use std::{fs, io}` is seen as `std::fs` and `std::io`. It resolves no names: a rule matches what
//! is written, and clippy closes the same doors by type.

use proc_macro2::{Delimiter, Group, Literal, Spacing, TokenStream, TokenTree};

/// Everything noticed in one file, in reading order.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The things seen.
    pub(crate) sights: Vec<Sight>,
}

/// One thing seen at one place.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Sight {
    /// Counted from one.
    pub(crate) line: usize,
    /// Whether it is compiled for tests only.
    pub(crate) in_test: bool,
    /// The thing.
    pub(crate) what: What,
}

/// The things worth noticing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A path of at least two segments, such as `std::fs`; `*` ends a glob import.
    Path(Vec<String>),
    /// A macro call, by the macro's last name.
    Macro(String),
    /// A string literal without its quotes; escapes are left as written.
    Text(String),
    /// An attribute with every name inside it: `#[cfg_attr(test, ignore)]` is `cfg_attr`, `test`,
    /// `ignore`.
    Attribute(Vec<String>),
    /// The definition of a struct, enum, union or trait.
    Type(String),
    /// The definition of a function that has a body.
    Function(Function),
    /// A module for tests only that is written in this file.
    TestModule(Lines),
}

/// A function and where its body is.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: String,
    /// The lines of its body, those of the braces included.
    pub(crate) body: Lines,
}

/// A range of lines, both ends included and counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The first line.
    pub(crate) first: usize,
    /// The last line.
    pub(crate) last: usize,
}

/// Scans a file. `in_test` says that the whole file is test code.
pub(crate) fn scan(text: &str, in_test: bool) -> Result<Scan, String> {
    let tokens: TokenStream =
        text.parse().map_err(|error: proc_macro2::LexError| error.to_string())?;
    let mut scan = Scan::default();
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    Level { scan: &mut scan, tokens: &tokens, prefix: &[], in_test, item_in_test: false }.walk();
    Ok(scan)
}

/// A walk over the tokens between one pair of delimiters.
struct Level<'a> {
    scan: &'a mut Scan,
    tokens: &'a [TokenTree],
    /// The path in front of a braced `use` tree; empty elsewhere.
    prefix: &'a [String],
    in_test: bool,
    /// An attribute has marked the item that begins here as test code. The mark lasts to the
    /// item's body or `;`.
    item_in_test: bool,
}

impl<'a> Level<'a> {
    fn walk(mut self) {
        let mut at = 0;
        while at < self.tokens.len() {
            at = self.step(at);
        }
    }

    /// Looks at the token at `at` and returns where to look next.
    fn step(&mut self, at: usize) -> usize {
        match &self.tokens[at] {
            TokenTree::Punct(punct) if punct.as_char() == '#' => self.attribute(at),
            TokenTree::Punct(punct) => {
                if punct.as_char() == ';' {
                    self.item_in_test = false;
                }
                at + 1
            }
            TokenTree::Ident(_) => self.word(at),
            TokenTree::Literal(literal) => {
                self.literal(at, literal);
                at + 1
            }
            TokenTree::Group(group) => {
                self.inside(group, &[]);
                if group.delimiter() == Delimiter::Brace {
                    self.item_in_test = false;
                }
                at + 1
            }
        }
    }

    /// `#[…]` or `#![…]`.
    fn attribute(&mut self, at: usize) -> usize {
        let is_inner = self.punct(at + 1) == Some('!');
        let body = at + 1 + usize::from(is_inner);
        let Some(group) = self.group(body, Delimiter::Bracket) else {
            return at + 1;
        };
        let names = names(group.stream());
        // Doc comments are attributes too, and their text is prose.
        if names.first().is_some_and(|name| name == "doc") {
            return body + 1;
        }
        if marks_test(&names) {
            if is_inner {
                self.in_test = true;
            } else {
                self.item_in_test = true;
                self.test_module(body + 1);
            }
        }
        self.see(at, What::Attribute(names));
        body + 1
    }

    fn test_module(&mut self, from: usize) {
        let first_word = self.tokens[from..].iter().find_map(|token| match token {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        });
        if first_word.as_deref() == Some("mod")
            && let Some(body) = self.body_after(from)
        {
            self.see(
                from - 1,
                What::TestModule(Lines { last: body.last, first: self.line(from - 1) }),
            );
        }
    }

    /// A word: the start of a definition, a macro call or a path.
    fn word(&mut self, at: usize) -> usize {
        let word = self.ident(at).unwrap_or_default();
        match (word.as_str(), self.ident(at + 1)) {
            ("struct" | "enum" | "union" | "trait", Some(name)) => {
                self.see(at, What::Type(name));
                return at + 2;
            }
            ("fn", Some(name)) => {
                if let Some(body) = self.body_after(at) {
                    self.see(at, What::Function(Function { name, body }));
                }
                return at + 2;
            }
            // In `use std::{io as fs}` the new name is no path.
            ("as", Some(_)) if !self.prefix.is_empty() => return at + 2,
            _ => {}
        }
        self.path(at, word)
    }

    fn path(&mut self, at: usize, first: String) -> usize {
        let mut segments = self.prefix.to_vec();
        if first != "self" || segments.is_empty() {
            segments.push(first);
        }
        let mut end = at + 1;
        while self.is_path_separator(end) {
            let next = end + 2;
            if let Some(name) = self.ident(next) {
                segments.push(name);
            } else if self.punct(next) == Some('*') {
                segments.push("*".to_owned());
            } else if let Some(group) = self.group(next, Delimiter::Brace) {
                self.inside(group, &segments);
                return next + 1;
            } else {
                break;
            }
            end = next + 1;
        }
        if self.is_macro_bang(end) {
            self.see(at, What::Macro(segments.last().cloned().unwrap_or_default()));
        }
        if segments.len() > 1 {
            self.see(at, What::Path(segments));
        }
        end
    }

    fn literal(&mut self, at: usize, literal: &Literal) {
        let shown = literal.to_string();
        let unprefixed = shown.trim_start_matches(['b', 'c', 'r', '#']);
        if let Some(text) = unprefixed.strip_prefix('"') {
            let text = text.trim_end_matches('#').trim_end_matches('"').to_owned();
            self.see(at, What::Text(text));
        }
    }

    fn inside(&mut self, group: &Group, prefix: &[String]) {
        let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
        let in_test = self.in_test || self.item_in_test;
        Level { scan: self.scan, tokens: &tokens, prefix, in_test, item_in_test: false }.walk();
    }

    /// The braces that follow, unless the item ends before.
    fn body_after(&self, at: usize) -> Option<Lines> {
        let end = self.tokens[at..].iter().find(|token| match token {
            TokenTree::Punct(punct) => punct.as_char() == ';',
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            _ => false,
        })?;
        match end {
            TokenTree::Group(group) => Some(Lines {
                first: group.span_open().start().line,
                last: group.span_close().end().line,
            }),
            _ => None,
        }
    }

    fn see(&mut self, at: usize, what: What) {
        let in_test = self.in_test || self.item_in_test;
        self.scan.sights.push(Sight { line: self.line(at), in_test, what });
    }

    fn line(&self, at: usize) -> usize {
        self.tokens[at].span().start().line
    }

    fn ident(&self, at: usize) -> Option<String> {
        match self.tokens.get(at)? {
            TokenTree::Ident(word) => Some(word.to_string()),
            _ => None,
        }
    }

    fn punct(&self, at: usize) -> Option<char> {
        match self.tokens.get(at)? {
            TokenTree::Punct(punct) => Some(punct.as_char()),
            _ => None,
        }
    }

    fn group(&self, at: usize, delimiter: Delimiter) -> Option<&'a Group> {
        match self.tokens.get(at)? {
            TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
            _ => None,
        }
    }

    fn is_path_separator(&self, at: usize) -> bool {
        self.punct(at) == Some(':') && self.punct(at + 1) == Some(':')
    }

    /// A `!` that is not the start of `!=`.
    fn is_macro_bang(&self, at: usize) -> bool {
        match self.tokens.get(at) {
            Some(TokenTree::Punct(punct)) => {
                punct.as_char() == '!' && punct.spacing() == Spacing::Alone
            }
            _ => false,
        }
    }
}

/// Every word in an attribute, at any depth.
fn names(tokens: TokenStream) -> Vec<String> {
    tokens
        .into_iter()
        .flat_map(|token| match token {
            TokenTree::Ident(word) => vec![word.to_string()],
            TokenTree::Group(group) => names(group.stream()),
            _ => Vec::new(),
        })
        .collect()
}

/// `#[cfg(test)]` and its like, `#[test]`, `#[tokio::test]`; not `#[cfg(not(test))]`.
fn marks_test(names: &[String]) -> bool {
    let says_test = names.iter().any(|name| name == "test");
    let negated = names.iter().any(|name| name == "not");
    let is_conditional_attribute = names.first().is_some_and(|name| name == "cfg_attr");
    says_test && !negated && !is_conditional_attribute
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<String> {
        let sights = scan(text, false).unwrap().sights;
        sights
            .into_iter()
            .filter_map(|sight| {
                if let What::Path(path) = sight.what { Some(path.join("::")) } else { None }
            })
            .collect()
    }

    fn only(text: &str) -> Sight {
        let mut sights = scan(text, false).unwrap().sights;
        assert_eq!(sights.len(), 1, "{sights:?}");
        sights.remove(0)
    }

    #[test]
    fn use_trees_are_spelt_out() {
        assert_eq!(
            paths("use std::{fs, io::{self, Read as fs}, net::*};"),
            ["std::fs", "std::io", "std::io::Read", "std::net::*"]
        );
    }

    #[test]
    fn paths_are_seen_inside_macro_calls() {
        assert_eq!(paths("fn f() { assert!(std::env::var(\"A\").is_ok()); }"), ["std::env::var"]);
    }

    #[test]
    fn comments_and_strings_are_not_code() {
        let seen = paths("/// std::fs\n// std::fs\nconst A: &str = \"std::fs\"; /* std::fs */");
        assert!(seen.is_empty(), "{seen:?}");
    }

    #[test]
    fn a_comparison_is_not_a_macro_call() {
        assert_eq!(scan("fn f() -> bool { todo != 1 }", false).unwrap().sights.len(), 1);
        let sights = scan("fn f() { todo!() }", false).unwrap().sights;
        assert_eq!(sights[1].what, What::Macro("todo".to_owned()));
    }

    #[test]
    fn test_code_is_marked_and_the_mark_ends_with_the_item() {
        let text = "#[cfg(test)]\nmod tests {\n  fn f() { a::b() }\n}\nfn g() { c::d() }";
        let sights = scan(text, false).unwrap().sights;
        let marks: Vec<(bool, usize)> = sights
            .iter()
            .filter(|sight| matches!(sight.what, What::Path(_)))
            .map(|sight| (sight.in_test, sight.line))
            .collect();
        assert_eq!(marks, [(true, 3), (false, 5)]);
        let module = What::TestModule(Lines { first: 1, last: 4 });
        assert!(sights.iter().any(|sight| sight.what == module), "{sights:?}");
    }

    #[test]
    fn code_for_everything_but_tests_is_not_test_code() {
        let sights = scan("#[cfg(not(test))]\nfn g() { c::d() }", false).unwrap().sights;
        assert!(sights.iter().all(|sight| !sight.in_test), "{sights:?}");
    }

    #[test]
    fn literals_of_every_kind_give_their_text() {
        assert_eq!(only("\"a\\n\"").what, What::Text("a\\n".to_owned()));
        assert_eq!(only("r#\"say \"a\" b\"#").what, What::Text("say \"a\" b".to_owned()));
        assert!(scan("'a' 1 2.0", false).unwrap().sights.is_empty());
    }

    #[test]
    fn functions_know_their_body_and_signatures_have_none() {
        let function = Function { name: "f".to_owned(), body: Lines { first: 1, last: 3 } };
        assert_eq!(only("fn f() {\n\n}").what, What::Function(function));
        assert!(scan("fn f();", false).unwrap().sights.is_empty());
    }

    #[test]
    fn types_are_seen_by_name() {
        assert_eq!(only("pub struct Run;").what, What::Type("Run".to_owned()));
    }
}
