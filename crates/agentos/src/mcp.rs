//! A server of the Model Context Protocol on standard input and output, for coding agents.
//!
//! Each call looks at the world anew and answers with what the command line would say: the tools under `tools/` call the
//! same functions as the commands do. Standard output carries the protocol and nothing else; what commands say beside their
//! answers comes with the answer. What an agent asks for and does not get (a run that there is not, a step that was not
//! allowed) is an answer that it can read, and no fault of the protocol.
//!
//! Nothing lives here: a run that is started is left to the background executor, and goes on when the client, and this
//! server with it, is gone.

mod answer;
mod caller;
mod permission;
mod server;
mod tools;

use rmcp::ServiceExt as _;
use rmcp::service::QuitReason;
use rmcp::transport::stdio_pipes;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::signals::Signals;
pub(crate) use permission::{Allowed, Permission};
use server::Server;

/// Serves one client until it is gone or somebody wants the process to end.
pub(crate) async fn serve(session: &Session, allowed: Allowed) -> Result<()> {
    let mut signals = Signals::listen()?;
    let server = Server::new(session, allowed);
    let begun = tokio::select! {
        begun = server.serve(stdio_pipes()) => begun,
        _ = signals.next() => return Ok(()),
    };
    let running = match begun {
        Ok(running) => running,
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(unlike_a_client(&error.to_string())),
    };
    let stop = running.cancellation_token();
    let over = running.waiting();
    tokio::pin!(over);
    let over = tokio::select! {
        over = &mut over => over,
        _ = signals.next() => {
            stop.cancel();
            over.await
        }
    };
    match over {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(CommandError::failed(format!("the server has stopped: {error}")))
        }
        Ok(_) => Ok(()),
    }
}

/// Somebody who speaks something else, or a person who tries it out.
fn unlike_a_client(error: &str) -> CommandError {
    let said: String = error.chars().take(200).collect();
    CommandError::usage(format!("whoever called is no MCP client: {said}"))
        .hint("`agentos mcp --help` tells how coding agents are told of it")
}
