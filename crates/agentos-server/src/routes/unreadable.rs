//! Databases that can't be read while others can: they are named, and take nothing from the rest.

use std::fmt::Display;
use std::path::Path;

use agentos_store::unified::{Source, UnifiedView, Unreadable as Told};
use axum::http::StatusCode;

use crate::documents::Unreadable;
use crate::problem::Problem;

/// What is missing from an answer.
pub(super) struct Missing(Vec<Unreadable>);

impl Missing {
    /// The databases that could not be opened.
    pub(super) fn of(view: &UnifiedView) -> Self {
        Self(view.unreadable().iter().cloned().map(Unreadable::from).collect())
    }

    /// One more, that was open and did not answer.
    pub(super) fn add(&mut self, source: &Source, why: &impl Display) {
        let told = Told { path: source.path().to_owned(), reason: why.to_string() };
        self.0.push(told.into());
    }

    pub(super) const fn count(&self) -> usize {
        self.0.len()
    }

    /// For a page.
    pub(super) fn listed(self) -> Vec<Unreadable> {
        self.0
    }

    /// Where they are.
    pub(super) fn paths(&self) -> Vec<String> {
        self.0.iter().map(|found| found.path.clone()).collect()
    }
}

/// The same problem; if it is that the database can't be used, with which one: there are several.
pub(super) fn naming<E: Into<Problem>>(database: &Path) -> impl Fn(E) -> Problem {
    let name = database.display().to_string();
    move |error| {
        let mut problem = error.into();
        if problem.status == StatusCode::SERVICE_UNAVAILABLE && !problem.detail.contains(&name) {
            problem.detail = format!("{name}: {}", problem.detail);
        }
        problem
    }
}
