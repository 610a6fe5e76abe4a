//! The server's door: which sockets it listens at, and who is let in.

use std::sync::Arc;

use agentos_process::lineage;
use agentos_server::access::{Access, AccessSettings, Trace};
use agentos_server::listen::{SocketFile, Sockets, listen};
use agentos_store::registry::Registry;
use axum::Router;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::commands::approve;
use crate::error::{CommandError, Result};
use crate::session::Session;

/// Answers whoever may ask, until `stop` and a little longer.
pub(super) async fn serve(
    session: &Session,
    listener: TcpListener,
    router: Router,
    stop: CancellationToken,
) -> Result<()> {
    let sockets = Sockets { tcp: vec![listener], unix: socket_file(session) };
    let limits = session.config.server.limits();
    listen(router, sockets, access(session)?, limits, stop).await?;
    Ok(())
}

fn access(session: &Session) -> Result<Access> {
    let registry = session.surroundings.registry_file().ok_or_else(|| {
        CommandError::failed("there is no place for tokens, because there is no home")
            .hint("set HOME or XDG_STATE_HOME")
    })?;
    Ok(Access::new(AccessSettings {
        registry: Registry::at(registry),
        user: approve::user(session),
        hosts: session.config.server.hosts(),
        origins: session.config.server.origins(),
        lineage: Arc::new(|trace| match trace {
            Trace::Process(pid) => lineage::of_process(pid),
            Trace::Socket(inode) => lineage::of_socket(inode),
        }),
    }))
}

/// The Unix socket. Without one there is still the port.
fn socket_file(session: &Session) -> Option<SocketFile> {
    let path = session.surroundings.server_socket()?;
    match SocketFile::bind(path) {
        Ok(socket) => Some(socket),
        Err(error) => {
            session.output.note(&format!("there is no Unix socket: {error}"));
            None
        }
    }
}
