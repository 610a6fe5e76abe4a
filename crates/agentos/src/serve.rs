//! `agentos serve`: the program behind the server.
//!
//! ```text
//! Home ── rooms: a project each ── session, store, attendant (drives its runs in this process)
//!   │
//!   └──── views: every database of every project, as one; made anew when something has come or gone
//! ```
//!
//! A room keeps its store open, so a request costs what it does and no opening. The attendant of a room is the database's
//! background executor whenever the seat is free: then nobody has to start a process. What others drive is seen all the
//! same, because everything is read from the databases.
//!
//! Much of what is done here waits for files, git and other programs, so it is done on threads of its own.

mod attendant;
mod deeds;
mod discovery;
mod door;
mod files;
mod home;
mod keys;
mod recovery;
mod refused;
mod room;
mod rooms;
mod start;
mod turns;
mod views;
mod workspaces;

use std::net::SocketAddr;
use std::sync::Arc;

use agentos_server::AppState;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::error::{CommandError, Result};
use crate::session::Session;
use crate::signals::{Signals, Wish};
use home::Home;
pub(crate) use start::check_scenarios;

/// Where to listen.
#[derive(Debug, Clone)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Serves until somebody wants it to end.
pub(crate) async fn serve(session: &Session, address: &Address, opens: bool) -> Result<()> {
    let mut signals = Signals::listen()?;
    if let Err(error) = agentos_process::open_files::raise() {
        tracing::warn!(%error, "not more files can be open at once than usual, and so not more connections");
    }
    let listener = bind(address).await?;
    let stop = CancellationToken::new();
    let home = Home::open(session, stop.clone()).await?;
    let at = listener.local_addr()?;
    session.output.lines([format!("AgentOS is at http://{at}")])?;
    if opens {
        open_browser(session, at);
    }
    let router = agentos_server::router(AppState::new(Arc::clone(&home) as Arc<_>));
    let served = door::serve(session, listener, router, stop.clone());
    tokio::pin!(served);
    let wish = tokio::select! {
        // It only ends by itself if it can't go on.
        done = &mut served => {
            home.depart(Wish::Leave);
            home.gone().await;
            return done;
        }
        wish = signals.next() => wish,
    };
    home.depart(wish);
    stop.cancel();
    served.await?;
    home.gone().await;
    Ok(())
}

async fn bind(address: &Address) -> Result<TcpListener> {
    let Address { host, port } = address;
    TcpListener::bind((host.as_str(), *port)).await.map_err(|error| {
        let failed = CommandError::failed(format!("{host}:{port} can't be listened on: {error}"));
        match error.kind() {
            std::io::ErrorKind::AddrInUse => failed.hint(format!(
                "another server may be there: look at http://{host}:{port}, or take another port with `--port`"
            )),
            std::io::ErrorKind::PermissionDenied => {
                failed.hint("ports below 1024 need rights that you do not have; take another")
            }
            _ => failed.hint("`--host` takes an address of this machine, such as 127.0.0.1"),
        }
    })
}

/// Shows the dashboard. Whoever has no browser is not stopped by that.
fn open_browser(session: &Session, at: SocketAddr) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let open = agentos_process::detached::Detached {
        program: opener.into(),
        arguments: vec![format!("http://{at}").into()],
        folder: "/".into(),
        log: "/dev/null".into(),
    };
    if let Err(error) = open.start() {
        session.output.note(&format!("no browser was opened: {opener} can't be started: {error}"));
    }
}
