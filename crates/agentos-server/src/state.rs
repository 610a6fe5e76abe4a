//! What every request stands on.

use std::sync::Arc;

use agentos_store::unified::{FindError, Found, UnifiedView};

use crate::asked::Named;
use crate::house::House;
use crate::live::Hub;
use crate::problem::Problem;
use crate::routes::metrics::Told;
use crate::traffic::Traffic;

/// What every request stands on. Clones are handles to the same.
#[derive(Clone)]
pub struct AppState {
    /// Everything that is not reading or streaming.
    pub house: Arc<dyn House>,
    /// What happens, as it happens.
    pub live: Arc<Hub>,
    /// Figures that were told a moment ago.
    pub(crate) figures: Told,
    /// What was answered so far.
    pub(crate) traffic: Arc<Traffic>,
}

impl AppState {
    /// A server for this house.
    #[must_use]
    pub fn new(house: Arc<dyn House>) -> Self {
        let live = Arc::new(Hub::new(Arc::clone(&house)));
        Self { house, live, figures: Told::default(), traffic: Arc::default() }
    }

    /// All databases as they are known now.
    #[must_use]
    pub fn view(&self) -> Arc<UnifiedView> {
        self.house.views().borrow().clone()
    }

    /// The run of this id or short name. Beginnings of names are for people at a keyboard: an address means one run for ever.
    ///
    /// # Errors
    /// 404 if there is none; 503 if the database that may have it can't be read.
    pub async fn find_run(&self, name: &str) -> Result<Found, Problem> {
        match self.view().find_run(name).await {
            Ok(found) if found.run.is_exact => Ok(found),
            Ok(_) | Err(FindError::Ambiguous { .. }) => Err(Named::RUN.none(name)),
            Err(FindError::NotFound { unreadable, .. }) => {
                let unreadable: Vec<String> =
                    unreadable.iter().map(|path| path.display().to_string()).collect();
                Err(Named::RUN.not_seen(name, &unreadable))
            }
        }
    }
}
