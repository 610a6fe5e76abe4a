//! Where a property of an object stands in the text of a module.

use std::borrow::Cow;
use std::cmp::Reverse;

use oxc_ast::AstKind;
use oxc_semantic::Semantic;
use oxc_span::Span;

/// How many names of a path have to fit: the last one alone may stand anywhere.
const LEAST: usize = 2;

/// The byte at which the property begins whose name and those of the properties around it end like this path.
pub(super) fn property(semantic: &Semantic<'_>, path: &[&str]) -> Option<u32> {
    let nodes = semantic.nodes().iter();
    let properties: Vec<(Span, Cow<'_, str>)> = nodes
        .filter_map(|node| match node.kind() {
            AstKind::ObjectProperty(property) => Some((property.span, property.key.static_name()?)),
            _ => None,
        })
        .collect();
    let fitting = |inner: Span| {
        let is_around = |outer: Span| outer.start <= inner.start && inner.end <= outer.end;
        let mut around: Vec<_> = properties.iter().filter(|(outer, _)| is_around(*outer)).collect();
        around.sort_by_key(|(outer, _)| outer.start);
        let pairs = around.into_iter().rev().zip(path.iter().rev());
        pairs.take_while(|((_, name), part)| name == *part).count()
    };
    let places = properties.iter().map(|(span, _)| (fitting(*span), Reverse(span.start)));
    let (fitting, Reverse(start)) = places.max()?;
    (fitting >= LEAST.min(path.len())).then_some(start)
}
