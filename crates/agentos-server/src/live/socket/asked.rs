//! What a client asks for, and what it is answered.

use agentos_core::id::RunId;
use agentos_store::log::ReadError;
use agentos_store::projection::Touched;
use agentos_store::registry::Scope;
use agentos_store::unified::Found;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Client, Done, End, Subscription, complaint};
use crate::asked::Named;
use crate::live::batch::{UPDATED, text};
use crate::live::bounds::SUBSCRIPTIONS;
use crate::live::document::document;
use crate::live::page::Place;
use crate::live::wish::{Ask, Target, Wish};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

impl Client {
    pub(super) async fn fulfil(&mut self, Wish { id, ask }: Wish) -> Done {
        let (name, done) = match ask {
            Ask::Subscribe(Target::Run { name, after, progress }) => {
                let done = self.subscribe(id.as_ref(), &name, after, progress).await;
                (Some(name), done)
            }
            Ask::Subscribe(Target::Project(project)) => {
                (None, self.subscribe_project(id.as_ref(), project).await)
            }
            Ask::Unsubscribe(target) => {
                let done = self.unsubscribe(id.as_ref(), &target).await;
                let Target::Run { name, .. } = target else { return answered(done) };
                (Some(name), done)
            }
            Ask::Cancel { run, reason } => {
                let done = self.cancel(id.as_ref(), &run, reason).await;
                (Some(run), done)
            }
        };
        match done {
            Err(Refused::Problem(problem)) => {
                self.complain(id.as_ref(), name.as_deref(), &problem).await
            }
            other => answered(other),
        }
    }

    fn has_room(&self) -> Result<(), Refused> {
        if self.runs.len() + self.projects.len() < SUBSCRIPTIONS {
            return Ok(());
        }
        let detail = format!("a connection has at most {SUBSCRIPTIONS} subscriptions");
        let problem = Problem::new(ProblemKind::TooMuch, detail);
        Err(problem.hint("subscribe to the project, or open another connection").into())
    }

    async fn subscribe(
        &mut self,
        id: Option<&Value>,
        name: &str,
        after: Option<u64>,
        progress: bool,
    ) -> Result<(), Refused> {
        let found = self.state.find_run(name).await?;
        let run = found.run.id;
        if !self.runs.contains_key(&run) {
            self.has_room()?;
        }
        let store = &found.source.store;
        let mut rows = store.touched_rows(run, Touched::default()).await?;
        self.state.view().hosts().tell(&mut rows.run);
        let head = rows.run.seq;
        let after = after.unwrap_or(head);
        // Until here nothing is changed: whoever is refused keeps the subscription that it has.
        if after > head {
            let detail = format!("is {after}, and the log of the run has {head} entries");
            return Err(Problem::field("/data/after", detail).into());
        }
        // Known here before the hub knows it, so that it is unsubscribed from whatever happens. What is committed until
        // then is read from the log.
        let place = Place::new(store.clone(), run, after + 1);
        self.runs.insert(run, Subscription { place, is_behind: true, has_lost: false });
        self.behind.retain(|known| *known != run);
        self.behind.push_back(run);
        self.state.live.subscribe(&found, &self.mailbox, progress).await;
        let data = document(&rows.run);
        let said = json!({
            "type": "workflow:subscribed", "id": id, "execution_id": run, "seq": after, "data": data,
        });
        Ok(self.say(&said).await?)
    }

    async fn subscribe_project(
        &mut self,
        id: Option<&Value>,
        project: Uuid,
    ) -> Result<(), Refused> {
        if !self.projects.contains(&project) {
            self.has_room()?;
        }
        let projects = self.state.house.projects().await.map_err(Problem::from)?;
        let text = project.to_string();
        let is_it = |known: &&Value| known.get("id").and_then(Value::as_str) == Some(text.as_str());
        let Some(data) = projects.iter().find(is_it) else {
            return Err(Named::PROJECT.none(project).into());
        };
        self.projects.insert(project);
        self.state.live.subscribe_project(project, &self.mailbox).await;
        let said = json!({
            "type": "workflow:subscribed", "id": id, "project_id": project, "data": data,
        });
        Ok(self.say(&said).await?)
    }

    async fn unsubscribe(&mut self, id: Option<&Value>, target: &Target) -> Result<(), Refused> {
        let said = match target {
            Target::Run { name, .. } => {
                let run = self.state.find_run(name).await?.run.id;
                self.forget(run);
                json!({ "type": "workflow:unsubscribed", "id": id, "execution_id": run })
            }
            Target::Project(project) => {
                self.projects.remove(project);
                self.state.live.unsubscribe_project(*project, &self.mailbox);
                json!({ "type": "workflow:unsubscribed", "id": id, "project_id": project })
            }
        };
        Ok(self.say(&said).await?)
    }

    pub(super) fn forget(&mut self, run: RunId) {
        self.runs.remove(&run);
        self.behind.retain(|known| *known != run);
        self.state.live.unsubscribe(run, &self.mailbox);
    }

    /// Orders it. That may take as long as the run's processes take to end, so it is answered when it is done.
    async fn cancel(
        &mut self,
        id: Option<&Value>,
        name: &str,
        reason: Option<String>,
    ) -> Result<(), Refused> {
        self.caller.may(Scope::Run)?;
        let found = self.state.find_run(name).await?;
        let Ok(answer) = self.answers.0.clone().try_reserve_owned() else {
            let detail = "too much is being cancelled at once";
            return Err(Problem::new(ProblemKind::TooMuch, detail).into());
        };
        let (state, id) = (self.state.clone(), id.cloned());
        tokio::spawn(async move {
            answer.send(cancelled(&state, found, reason, id).await);
        });
        Ok(())
    }
}

/// Why a wish is not fulfilled.
enum Refused {
    Problem(Problem),
    End(End),
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        Self::Problem(error.into())
    }
}

impl From<End> for Refused {
    fn from(end: End) -> Self {
        Self::End(end)
    }
}

/// Cancels the run, and says how it stands then.
async fn cancelled(
    state: &AppState,
    found: Found,
    reason: Option<String>,
    id: Option<Value>,
) -> String {
    let (run, store) = (found.run.id, found.source.store.clone());
    let done = async {
        state.house.cancel(found, reason).await?;
        Ok::<_, Problem>(store.touched_rows(run, Touched::default()).await?)
    };
    match done.await {
        Ok(rows) => text(&json!({
            "type": UPDATED, "id": id, "execution_id": run, "ephemeral": true, "data": document(&rows.run),
        })),
        Err(problem) => complaint(id.as_ref(), Some(&run.to_string()), &problem),
    }
}

/// What is left of an answer that was given.
fn answered(done: Result<(), Refused>) -> Done {
    match done {
        Err(Refused::End(end)) => Err(end),
        _ => Ok(()),
    }
}
