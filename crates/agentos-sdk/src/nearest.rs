//! What was meant by a name that is not known.

/// Names that differ more are something else.
const LIKENESS: f64 = 0.6;

/// The name that looks most like this one, if one does.
#[must_use]
pub fn nearest<'a>(found: &str, known: &[&'a str]) -> Option<&'a str> {
    let likeness = |name: &str| strsim::normalized_damerau_levenshtein(&found.to_lowercase(), name);
    let best = known
        .iter()
        .map(|name| (likeness(name), *name))
        .max_by(|one, other| one.0.total_cmp(&other.0));
    best.filter(|(likeness, _)| *likeness >= LIKENESS).map(|(_, name)| name)
}
