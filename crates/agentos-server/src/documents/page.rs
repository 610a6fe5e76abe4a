//! Lists, all in one shape.

use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::asked::Asked;
use crate::problem::Problem;

/// One page of a list.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub(crate) struct Page<T> {
    /// What is on it.
    pub(crate) items: Vec<T>,
    /// Which page it is, counted from 1; also 1 if it was asked for by `after`.
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

/// The parameters of [`Page::of`].
pub(crate) const PAGING: [&str; 3] = ["page", "limit", "after"];

/// How many are on a page of a short list, if nobody says, and at most.
const MOST: u64 = 1_000;

impl Page<Value> {
    /// The page that is asked for of a list that is short enough to be made whole. A place in it is the item before it, so
    /// what comes or goes elsewhere shifts nothing.
    pub(crate) fn of(mut items: Vec<Value>, asked: &Asked) -> Result<Self, Problem> {
        let total = items.len() as u64;
        let limit = asked.number("limit", 1..=MOST)?.unwrap_or(MOST);
        let number = asked.number("page", 1..=u64::from(u32::MAX))?;
        let skipped = match (asked.one("after")?, number) {
            (Some(_), Some(_)) => {
                return Err(Problem::parameter("after", "can't be given together with `page`"));
            }
            (Some(after), None) => {
                let place = items.iter().position(|item| id_of(item) == Some(after));
                let place = place.ok_or_else(|| {
                    Problem::parameter("after", "is no place in this list, or not any more")
                        .hint("begin with the first page again")
                })?;
                place + 1
            }
            (None, number) => {
                let skipped = (number.unwrap_or(1) - 1).saturating_mul(limit);
                usize::try_from(skipped).unwrap_or(usize::MAX)
            }
        };
        items.drain(..skipped.min(items.len()));
        let has_more = items.len() as u64 > limit;
        items.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
        let next = items.last().filter(|_| has_more).and_then(id_of).map(str::to_owned);
        let page = number.unwrap_or(1);
        Ok(Self { items, page, limit, total, next, unreadable: Vec::new() })
    }
}

fn id_of(item: &Value) -> Option<&str> {
    item.get("id").and_then(Value::as_str)
}

/// The parameters of lists that are short, for the description.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "it only describes what is asked for")]
pub(crate) struct Paging {
    /// Which page, counted from 1.
    #[param(minimum = 1, maximum = 4_294_967_295_u32, nullable = false)]
    page: Option<u64>,
    /// How many on a page; 1000 if left out.
    #[param(minimum = 1, maximum = 1_000, nullable = false)]
    limit: Option<u64>,
    /// Those behind this place: the `next` of another page. Instead of `page`.
    #[param(nullable = false)]
    after: Option<String>,
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
