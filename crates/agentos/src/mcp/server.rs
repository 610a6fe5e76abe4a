//! One client's server: which tools there are, and what becomes of a call.

use std::sync::Arc;

use agentos_workspace::surroundings::Surroundings;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::answer::{self, Answer};
use super::caller::Caller;
use super::permission::Allowed;
use super::tools::{self, Offer, Scene};
use crate::error::{CommandError, Result};
use crate::session::{Session, Whereabouts};

/// How many calls are worked on at once; the others wait.
const AT_ONCE: usize = 8;

/// The longest arguments of a call, in bytes, without the input of a run: that has a limit of its own in every way to start a run.
const ARGUMENT_BYTES: usize = 1 << 20;

/// What a model is told about all of it.
const INSTRUCTIONS: &str = "\
AgentOS runs software-development workflows durably. Use these tools to see what runs in this repository and its \
worktrees, to read a run with its logs and artifacts, and to leave comments for the people and agents who look at it. A run \
is named by its id, its short name (`release-abcdef`), or any unambiguous beginning. Starting, signalling and approving may \
not be allowed; the answer then says what a person has to do. Long answers are cut, and say so.";

/// A server, ready for its client.
pub(super) struct Server {
    whereabouts: Whereabouts,
    surroundings: Surroundings,
    allowed: Allowed,
    at_once: Arc<Semaphore>,
}

impl Server {
    pub(super) fn new(session: &Session, allowed: Allowed) -> Self {
        Self {
            whereabouts: session.whereabouts(),
            surroundings: session.surroundings.clone(),
            allowed,
            at_once: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }

    /// Refuses what was not allowed and what nobody could have meant, before anything is looked at.
    fn check(&self, offer: &Offer, arguments: &Value) -> Result<()> {
        if let Some(needed) = offer.needs {
            self.allowed.check(offer.name, needed, &self.surroundings)?;
        }
        let input = arguments.get("input").map_or(0, |input| input.to_string().len());
        let size = arguments.to_string().len() - input;
        if size > ARGUMENT_BYTES {
            let most = ARGUMENT_BYTES >> 10;
            return Err(CommandError::usage(format!(
                "the arguments of `{}` have {size} bytes; at most {most} KiB are taken",
                offer.name
            ))
            .hint("write large data into a file of the project and give its path"));
        }
        Ok(())
    }

    /// Works on a call, on a thread of its own: much of it waits for files and other programs. What goes wrong inside costs
    /// this answer, and not the server.
    async fn answer(
        &self,
        offer: &'static Offer,
        arguments: Value,
        caller: Caller,
    ) -> CallToolResult {
        if let Err(error) = self.check(offer, &arguments) {
            return answer::refusal(&error, &[]);
        }
        let Ok(permit) = Arc::clone(&self.at_once).acquire_owned().await else {
            return answer::refusal(&CommandError::failed("the server is about to end"), &[]);
        };
        let whereabouts = self.whereabouts.clone();
        let work = move || {
            let _permit = permit;
            Handle::current().block_on(play(&whereabouts, offer, arguments, caller))
        };
        tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
            tracing::error!(tool = offer.name, %error, "a call has broken off");
            let error = CommandError::failed(format!("`{}` has broken off", offer.name))
                .hint("this is a fault of AgentOS; what it says on standard error tells more");
            answer::refusal(&error, &[])
        })
    }
}

/// Looks at the world, and does what the tool does.
async fn play(
    whereabouts: &Whereabouts,
    offer: &Offer,
    arguments: Value,
    caller: Caller,
) -> CallToolResult {
    let session = match whereabouts.look_around() {
        Ok(session) => session,
        Err(error) => return answer::refusal(&error, &[]),
    };
    let scene = Scene { session, caller };
    let answered: Result<Answer> = (offer.call)(&scene, arguments).await;
    let notes = scene.session.output.take_notes();
    match answered {
        Ok(answer) => answer.into_result(notes),
        Err(error) => answer::refusal(&error, &notes),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let this = Implementation::new("agentos", env!("CARGO_PKG_VERSION")).with_title("AgentOS");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(this)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::all().iter().map(Offer::described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(offer) = tools::find(&request.name) else {
            return Err(unknown(&request.name));
        };
        let caller = Caller::of(&context, &self.surroundings);
        let arguments: JsonObject = request.arguments.unwrap_or_default();
        Ok(self.answer(offer, Value::Object(arguments), caller).await.into())
    }
}

/// Asking for a tool that was never offered is a fault of the protocol.
fn unknown(name: &str) -> ErrorData {
    let names: Vec<&str> = tools::all().iter().map(|offer| offer.name).collect();
    let name = answer::head(name, 100);
    ErrorData::invalid_params(
        format!("there is no tool `{name}`; there are {}", names.join(", ")),
        None,
    )
}
