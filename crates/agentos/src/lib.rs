//! The command line of AgentOS, as a library: a project with workflows of its own in Rust links it and gets every command.
//!
//! ```no_run
//! use agentos::sdk::{Ctx, Result, Workflow};
//!
//! async fn greet(ctx: Ctx, name: String) -> Result<String> {
//!     let said = ctx.run("greet", move |_| {
//!         let text = format!("hello {name}");
//!         async move { Ok(text) }
//!     });
//!     Ok(said.await?)
//! }
//!
//! fn main() -> std::process::ExitCode {
//!     agentos::App::new().workflow(Workflow::new("greet", greet)).main()
//! }
//! ```

mod agents;
mod app;
mod cast;
mod catalog;
mod cli;
mod commands;
mod config;
mod databases;
mod elsewhere;
mod error;
mod executor;
mod foreground;
mod guard;
mod inputs;
mod launch;
mod limits;
mod lines;
mod logging;
mod mcp;
mod names;
mod never_created;
mod operations;
mod output;
mod overview;
mod scribe;
mod serve;
mod session;
mod settings;
mod signals;
mod start;
mod supervise;
mod sweep;
mod templates;
mod terminal;
mod top;
mod travel;
mod view;
mod workspace;

pub use agentos_sdk as sdk;
pub use app::App;
