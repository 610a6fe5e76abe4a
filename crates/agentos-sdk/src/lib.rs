//! Workflows written in Rust.
//!
//! A workflow is an async function. It has no power of its own: what it wants from the world, it asks [`Ctx`] for, and
//! every answer is in the run's log. So a run whose process was killed goes on where it stood: the function is called
//! again from the top, and gets the answers that it got before.
//!
//! ```
//! use std::time::Duration;
//!
//! use agentos_sdk::{Ctx, Error, Result, Workflow, try_join};
//! use serde::{Deserialize, Serialize};
//!
//! #[derive(Deserialize)]
//! struct Issue {
//!     title: String,
//! }
//!
//! #[derive(Serialize, Deserialize)]
//! struct Plan {
//!     files: Vec<String>,
//! }
//!
//! async fn issue(ctx: Ctx, issue: Issue) -> Result<String> {
//!     let plan = ctx.run("plan", move |ctx| {
//!         let search = format!("grep -rl {:?} src", issue.title);
//!         async move {
//!             let found = ctx.shell(search).name("search").await?;
//!             Ok(Plan { files: found.stdout.lines().map(str::to_owned).collect() })
//!         }
//!     });
//!     let plan = plan.await?;
//!     ctx.set("files", plan.files.len())?;
//!
//!     let implement = ctx.step("implement").timeout(Duration::from_secs(3_600)).run(move |ctx| {
//!         let files = plan.files.clone();
//!         async move {
//!             for file in files {
//!                 ctx.shell("sed").args(["-i", "s/old/new/", &file]).await?;
//!             }
//!             Ok(())
//!         }
//!     });
//!     implement.await?;
//!
//!     // Both at once; the first failure ends the other.
//!     try_join((ctx.run("test", |ctx| check(ctx, "cargo test")), ctx.run("lint", |ctx| check(ctx, "cargo clippy"))))
//!         .await?;
//!
//!     let decision = ctx.approve("Ship it?").timeout(Duration::from_secs(86_400)).await?;
//!     if !decision.approved {
//!         return Err(Error::non_retryable(format!("{} said no", decision.by)));
//!     }
//!     let address: String = ctx.effect("publish", || async { Ok(upload().await?) }).await?;
//!     ctx.log().info(format!("published at {address}"));
//!     Ok(address)
//! }
//!
//! async fn check(ctx: Ctx, command: &str) -> Result<()> {
//!     match ctx.shell(command).unchecked().await?.is_success() {
//!         true => Ok(()),
//!         false => Err(Error::new(format!("`{command}` failed on attempt {}", ctx.attempt()))),
//!     }
//! }
//! # async fn upload() -> std::io::Result<String> { Ok(String::new()) }
//!
//! let workflow = Workflow::new("issue", issue).description("From an issue to a release").version("1");
//! assert_eq!(workflow.name(), "issue");
//! ```
//!
//! # The rules
//!
//! **Be deterministic.** No clock, no randomness, no files, no network, no threads: [`Ctx::now`], [`Ctx::random`],
//! [`Ctx::shell`], and [`Ctx::effect`] for I/O of your own. A workflow that does something else the second time is
//! stopped as soon as the log shows it.
//!
//! **Await only what came from `ctx`.** A timer of a runtime, a channel or a socket is not in the log. A workflow that
//! waits for one fails with a sentence that says so. Inside of an effect anything may be awaited.
//!
//! **Things are asked for at the call**, in the order of the calls; `.await` only waits. Calls with options return a
//! builder, which asks when it is awaited, started, or given to one of the functions below. So two things are under way
//! at once if both are asked for before the first is awaited.
//!
//! **Wait for several things with [`join()`], [`try_join`], [`race`], [`either`]** and their relatives for lists. They
//! look at their arguments in order. An unbiased `select!` chooses by chance and must not be used.
//!
//! **Dropping a future cancels nothing.** What a scope (the run, an attempt at a step, a phase) has asked for ends with
//! the scope at the latest. So the losers of a race go on until the step around it ends; race in a step of its own if
//! they should end sooner.
//!
//! **A cancelled run's calls fail** with [`FailureKind::Cancelled`]. `?` hands that on. Code that cleans up can still
//! ask for operations, for as long as the run's grace lasts.
//!
//! **A step's body is called again** for each attempt and each execution, so it clones what it moves. What it returns
//! goes through JSON, also the first time.
//!
//! **A panic is a failure** of the step or run in whose code it happens; other steps go on. That needs a program that
//! unwinds: with `panic = "abort"` a panic ends the process, and the run goes on when it is executed again.
//!
//! # Let clippy watch
//!
//! What must not stand in a workflow can be refused before it runs, in the `clippy.toml` of the crate that has it:
//!
//! ```toml
//! disallowed-macros = [
//!     { path = "tokio::select", reason = "chooses by chance; use agentos_sdk::race or either" },
//!     { path = "futures::select", reason = "chooses by chance; use agentos_sdk::race or either" },
//! ]
//! disallowed-methods = [
//!     { path = "std::time::SystemTime::now", reason = "differs in a replay; use ctx.now" },
//!     { path = "std::time::Instant::now", reason = "differs in a replay; use ctx.now" },
//!     { path = "std::thread::spawn", reason = "not in the log; use ctx.effect" },
//!     { path = "tokio::spawn", reason = "not in the log; use ctx.effect" },
//!     { path = "tokio::time::sleep", reason = "not in the log; use ctx.sleep" },
//! ]
//! ```

mod actions;
mod answer;
mod body;
mod combine;
mod ctx;
mod desk;
mod error;
mod input;
mod json;
mod nearest;
mod notes;
pub mod operations;
mod panics;
mod program;
mod run;
mod stage;
mod step;
mod tripwire;
mod workflow;
mod workflows;

pub use actions::{Action, Actions, Work};
pub use agentos_core::failure::{Failure, FailureKind};
pub use agentos_core::retry::{Backoff, RetryPolicy};
pub use agentos_core::time::{Millis, Timestamp};
pub use agentos_core::value::Value;
pub use answer::Answer;
pub use combine::{
    Either, Join, Race, TryJoin, either, join, join_all, race, race_all, try_join, try_join_all,
};
pub use ctx::Ctx;
pub use error::{Error, Result};
pub use input::{
    AnswerError, InputError, InputProblem, WrongDefault, accept_input, check_answer,
    remove_unknown, wrong_defaults,
};
pub use nearest::nearest;
pub use notes::Log;
pub use program::RustProgram;
pub use run::RunInfo;
pub use step::Step;
pub use workflow::{Workflow, WorkflowConfig};
pub use workflows::{RegisterError, Workflows};
