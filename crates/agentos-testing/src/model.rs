//! A model server for tests: real HTTP on 127.0.0.1, answers from a scenario, no model behind it.
//!
//! A coding agent's command line is a program that talks to a model over HTTP. Whoever wants to see how such a program
//! behaves (writes a file, is refused, loses its connection in the middle of a sentence) points it here, with any key:
//!
//! ```
//! use agentos_testing::model::{Call, Exchange, ModelServer, Scenario, Turn};
//!
//! let scenario = Scenario::new(Exchange::new([
//!     Turn::say("I will do it.").call(Call::write("hello.txt", "hello\n")),
//!     Turn::say("All done."),
//! ]));
//! let server = ModelServer::start(scenario)?;
//! // ANTHROPIC_BASE_URL=… or GOOGLE_GEMINI_BASE_URL=…, or base_url="…/v1" of a Codex provider
//! let url = server.url();
//! assert!(url.starts_with("http://127.0.0.1:"));
//! assert!(server.requests().is_empty());
//! # Ok::<(), agentos_testing::model::StartError>(())
//! ```
//!
//! It speaks three [dialects](Dialect): Anthropic's Messages, OpenAI's Responses and Gemini's `generateContent`, each as
//! a stream and whole. It keeps no conversations: a request carries its whole history, so the turn to answer with is
//! found in the request itself (the last prompt, and how many answers followed it). Clients may therefore be killed,
//! resumed and run side by side. The only thing that is counted is how often a turn was asked for, because faults may
//! strike the first requests only.
//!
//! What it is not: no sandbox (the agent really executes the calls), no check that a request is well-formed, and never
//! reachable from another machine. Keys are not looked at, but one has to be there, as with the real ones.

mod anthropic;
mod dialect;
mod fault;
mod gemini;
mod openai;
mod record;
mod scenario;
mod server;
mod stage;
mod stream;

pub use dialect::Dialect;
pub use fault::Fault;
pub use record::Request;
pub use scenario::{Call, Exchange, Scenario, ScenarioError, Turn, Usage};
pub use server::{ModelServer, StartError};
