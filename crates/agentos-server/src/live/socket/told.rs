//! What is sent to a client: what has waited in its mailbox, and pages of logs where it is behind.

use agentos_core::id::RunId;
use agentos_store::log::ReadError;
use serde_json::json;

use super::{Client, Done};
use crate::live::batch::Batch;
use crate::live::mailbox::{Progress, Waiting};

impl Client {
    /// Sends what has waited, as far as it was not sent.
    pub(super) async fn deliver(&mut self, waiting: Waiting) -> Done {
        if waiting.overflowed {
            for (run, subscription) in &mut self.runs {
                subscription.has_lost = true;
                if !std::mem::replace(&mut subscription.is_behind, true) {
                    self.behind.push_back(*run);
                }
            }
        }
        for batch in waiting.batches {
            self.pass_on(&batch).await?;
        }
        for Progress { run, message, .. } in waiting.progress {
            if self.runs.contains_key(&run) {
                self.send(message).await?;
            }
        }
        for (project, _, message) in waiting.listed {
            if self.projects.contains(&project) {
                self.send(message).await?;
            }
        }
        if waiting.relist {
            for project in self.projects.clone() {
                self.say(&json!({ "type": "workflow:catchup", "project_id": project })).await?;
            }
        }
        Ok(())
    }

    async fn pass_on(&mut self, batch: &Batch) -> Done {
        let Some(subscription) = self.runs.get_mut(&batch.run) else { return Ok(()) };
        let next = subscription.place.next;
        if subscription.is_behind || batch.end() <= next {
            return Ok(());
        }
        if batch.first > next {
            subscription.is_behind = true;
            self.behind.push_back(batch.run);
            return Ok(());
        }
        subscription.place.next = batch.end();
        for message in batch.from(next) {
            self.send(message.clone()).await?;
        }
        Ok(())
    }

    /// Reads one page for one of those that are behind.
    pub(super) async fn catch_up(&mut self) -> Done {
        let Some(run) = self.behind.pop_front() else { return Ok(()) };
        let view = self.state.view();
        let Some(subscription) = self.runs.get_mut(&run) else { return Ok(()) };
        let after = subscription.place.next - 1;
        let page = match subscription.place.batch(&view).await {
            Ok(page) => page,
            Err(error) => return self.lose_run(run, error).await,
        };
        let has_lost = std::mem::take(&mut subscription.has_lost);
        let Some(page) = page else {
            subscription.is_behind = false;
            return Ok(());
        };
        self.behind.push_back(run);
        if has_lost {
            let said = json!({
                "type": "workflow:catchup", "execution_id": run, "seq": after, "data": { "after": after },
            });
            self.say(&said).await?;
        }
        for message in &page.messages {
            self.send(message.clone()).await?;
        }
        Ok(())
    }

    async fn lose_run(&mut self, run: RunId, error: ReadError) -> Done {
        self.forget(run);
        self.complain(None, Some(&run.to_string()), &error.into()).await
    }
}
