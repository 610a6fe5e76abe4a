//! Steps and phases: named scopes with bodies of their own.
//!
//! The body of a step is called once for each attempt, and again whenever the run is executed again. It is kept by the
//! program, not by the future that waits for it: a step that lost a race goes on until its scope closes, as it does in
//! TypeScript.

use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentos_core::failure::Failure;
use agentos_core::name::Name;
use agentos_core::program::{BodyOutcome, ScopeId, StepOptions, Ticket};
use agentos_core::retry::RetryPolicy;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::answer::{Answer, site};
use crate::body::{self, BodyMaker};
use crate::ctx::{Ctx, millis, named};
use crate::error::Result;
use crate::stage::Stage;

impl Ctx {
    /// A step: recorded, timed, retried as a whole. Asked for at this call.
    ///
    /// The body gets the step's own `Ctx`. It is called again for each attempt, so it clones what it moves:
    ///
    /// ```
    /// # use agentos_sdk::{Ctx, Result};
    /// # async fn example(ctx: Ctx, plan: String) -> Result<()> {
    /// let length = ctx.run("measure", move |ctx| {
    ///     let plan = plan.clone();
    ///     async move { Ok(ctx.shell(format!("wc -c {plan}")).await?.stdout) }
    /// });
    /// let length: String = length.await?;
    /// # Ok(()) }
    /// ```
    #[track_caller]
    pub fn run<T, F, Fut>(&self, name: impl AsRef<str>, body: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Ctx) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        self.step(name).run(body)
    }

    /// A step with options: `ctx.step("test").retry(policy).run(|ctx| …)`.
    #[track_caller]
    pub fn step(&self, name: impl AsRef<str>) -> Step<'_> {
        let retry = self.run.retry;
        let site = Some(site(Location::caller()));
        let options = StepOptions { retry, site, ..StepOptions::default() };
        Step { ctx: self, name: name.as_ref().to_owned(), options, on_retry: None }
    }

    /// A phase: groups what its body does, without a number or retries. Asked for at this call.
    pub fn phase<T, F, Fut>(&self, name: impl AsRef<str>, body: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Ctx) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        self.scoped(name.as_ref(), maker(body, None), |stage, scope, name| {
            stage.door.phase(scope, name)
        })
    }

    fn scoped<T>(
        &self,
        name: &str,
        maker: BodyMaker,
        ask: impl FnOnce(&mut Stage<'_>, ScopeId, Name) -> Result<Ticket, Failure>,
    ) -> Answer<T> {
        let slot = self.enter(|stage| {
            let asked = named(name).and_then(|name| ask(stage, self.scope, name));
            if let Ok(ticket) = asked {
                stage.desk.keep_body(ticket, maker);
            }
            stage.desk.expect(self.scope, asked)
        });
        Answer::new(&self.run, slot)
    }
}

/// What is called before an attempt that is not the first.
type OnRetry = Box<dyn Fn(Option<&Failure>, u32) + Send>;

fn maker<T, F, Fut>(body: F, on_retry: Option<OnRetry>) -> BodyMaker
where
    T: Serialize,
    F: Fn(Ctx) -> Fut + Send + 'static,
    Fut: Future<Output = Result<T>> + Send + 'static,
{
    let Some(on_retry) = on_retry else {
        return Box::new(move |ctx| body::future(body(ctx)));
    };
    let last = Arc::new(Mutex::new(None));
    Box::new(move |ctx| {
        let before: Option<Failure> = held(&last).take();
        if ctx.attempt() > 1 {
            on_retry(before.as_ref(), ctx.attempt());
        }
        let (attempt, last) = (body::future(body(ctx)), Arc::clone(&last));
        Box::pin(async move {
            let outcome = attempt.await;
            if let BodyOutcome::Threw(failure) = &outcome {
                *held(&last) = Some(failure.clone());
            }
            outcome
        })
    })
}

/// What one attempt leaves for the next. They never run at once.
fn held(last: &Mutex<Option<Failure>>) -> MutexGuard<'_, Option<Failure>> {
    last.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A step that is about to be asked for.
#[must_use = "a step is asked for by `.run(…)`"]
pub struct Step<'a> {
    ctx: &'a Ctx,
    name: String,
    options: StepOptions,
    on_retry: Option<OnRetry>,
}

impl fmt::Debug for Step<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Step<'_> {
    /// How it is retried, instead of as the workflow's config says.
    pub fn retry(mut self, retry: RetryPolicy) -> Self {
        self.options.retry = retry;
        self
    }

    /// How long each attempt may take, also while output waits for room on a full disk.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.options.timeout = Some(millis(timeout));
        self
    }

    /// Before each attempt after the first, the files of the workspace go back to how they were when the step began. An
    /// operation of such an attempt fails, and says why, where that can't be: the run works in the checkout itself, or another
    /// step worked on the files at the same time.
    pub fn roll_back_on_retry(mut self) -> Self {
        self.options.rolls_back = true;
        self
    }

    /// Called before each attempt after the first, with how the one before failed, if its body came to an end at all, and
    /// the number of the new one. As the body, it is called again whenever the run is executed again.
    pub fn on_retry(mut self, on_retry: impl Fn(Option<&Failure>, u32) + Send + 'static) -> Self {
        self.on_retry = Some(Box::new(on_retry));
        self
    }

    /// Asks for the step; see [`Ctx::run`].
    pub fn run<T, F, Fut>(self, body: F) -> Answer<T>
    where
        T: Serialize + DeserializeOwned,
        F: Fn(Ctx) -> Fut + Send + 'static,
        Fut: Future<Output = Result<T>> + Send + 'static,
    {
        let options = self.options;
        self.ctx.scoped(&self.name, maker(body, self.on_retry), |stage, scope, name| {
            stage.door.step(scope, name, options)
        })
    }
}
