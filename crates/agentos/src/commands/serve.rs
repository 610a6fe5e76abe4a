//! `agentos serve`: the dashboard, REST and WebSocket for every project of the user.

use std::process::ExitCode;

use crate::error::Result;
use crate::serve::{self, Address};
use crate::session::Session;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on. On one that others can reach, a token is needed (`agentos token create`)
    #[arg(long, default_value = "127.0.0.1", value_name = "HOST")]
    host: String,

    /// The port; 0 takes any that is free, and says which
    #[arg(long, short, default_value_t = 3456, value_name = "PORT")]
    port: u16,

    /// Open the dashboard in the browser
    #[arg(long)]
    open: bool,

    /// Print the description of the API (OpenAPI) and do nothing else
    #[arg(long, conflicts_with_all = ["host", "port", "open"])]
    print_openapi: bool,
}

pub(crate) async fn run(session: &Session, args: &Args) -> Result<ExitCode> {
    if args.print_openapi {
        session.output.document(&agentos_server::openapi())?;
        return Ok(ExitCode::SUCCESS);
    }
    let address = Address { host: args.host.clone(), port: args.port };
    serve::serve(session, &address, args.open).await?;
    Ok(ExitCode::SUCCESS)
}
