//! Lists, all in one shape.

use serde::Serialize;
use utoipa::ToSchema;

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// Which page it is, counted from 1.
    #[schema(minimum = 1)]
    pub(crate) page: u64,
    /// How many are on a page at most.
    pub(crate) limit: u64,
    /// How many there are in all.
    pub(crate) total: u64,
    /// Where the next page begins: give it as `after`. Null if this was the last. New items do not shift it.
    pub(crate) next: Option<String>,
    /// Databases that could not be read, so that what is in them is missing here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) unreadable: Vec<Unreadable>,
}

impl<T> Page<T> {
    /// All of a list that fits on one page.
    pub(crate) fn whole(items: Vec<T>) -> Self {
        let total = items.len() as u64;
        Self { items, page: 1, limit: total.max(1), total, next: None, unreadable: Vec::new() }
    }
}

/// A database that can't be read, while the others can.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Unreadable {
    /// The file.
    pub(crate) path: String,
    /// Why.
    pub(crate) reason: String,
}

impl From<agentos_store::unified::Unreadable> for Unreadable {
    fn from(found: agentos_store::unified::Unreadable) -> Self {
        Self { path: found.path.display().to_string(), reason: found.reason }
    }
}
