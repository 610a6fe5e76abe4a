//! Connections: they are accepted, counted and bounded here, and each one's requests go through [`crate::access`].
//!
//! Whoever connects can cost only so much: so many connections in all and from one peer, so long for the head of a request,
//! so much of a body, so long for an answer, and so long without reading what was answered. A part of the connections is
//! kept for the user whose server it is, so that strangers can't lock anybody out of their own house.
//!
//! HTTP/1.1 only: what is not spoken can't be attacked.

mod answer;
mod crowd;
mod deadline;
mod limits;
mod socket_file;
mod tell;
mod turns;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub(crate) use limits::BodyLimit;
pub use limits::Limits;
pub use socket_file::{SocketFile, SocketFileError};

use crate::access::{Access, Link, Peer};
use answer::Door;
use crowd::{Crowd, Place};
use wire::Wire;

/// What is said to whoever finds no place, before anything of theirs is read.
const FULL: &[u8] =
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/problem+json\r\n\
    content-length: 133\r\nretry-after: 1\r\nconnection: close\r\n\r\n\
    {\"type\":\"urn:agentos:problem:busy\",\"title\":\"There is too much to do right now\",\
    \"status\":503,\"detail\":\"too many connections are open\"}";

/// How long nothing is accepted after the system has refused to: it is out of files, usually.
const PAUSE: Duration = Duration::from_millis(100);

/// Where connections come in.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Ports.
    pub tcp: Vec<TcpListener>,
    /// The Unix socket.
    pub unix: Option<SocketFile>,
}

/// What all connections have in common.
struct Hall {
    door: Door,
    limits: Limits,
    crowd: Crowd,
    tracker: TaskTracker,
    /// Streams come to an end.
    over: CancellationToken,
    /// Every connection is closed.
    cut: CancellationToken,
}

/// Answers whoever comes in, until `stop`. Then nobody is let in any more, requests under way are answered, streams come to
/// their end, and what is still open after [`Limits::stop_time`] is closed.
///
/// # Errors
/// None of the sockets can be used. What is wrong with one connection is nobody else's business.
pub async fn listen(
    router: Router,
    sockets: Sockets,
    access: Access,
    limits: Limits,
    stop: CancellationToken,
) -> io::Result<()> {
    if sockets.tcp.is_empty() && sockets.unix.is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "there is nothing to listen at"));
    }
    let hall = Arc::new(Hall {
        door: Door::new(router, access.clone(), limits.clone()),
        crowd: Crowd::new(limits.connections, limits.connections_per_peer),
        limits,
        tracker: TaskTracker::new(),
        over: CancellationToken::new(),
        cut: CancellationToken::new(),
    });
    let watching = tokio::spawn(async move { access.watch_tokens().await });
    let accepting = TaskTracker::new();
    for listener in sockets.tcp {
        let (hall, stop) = (hall.clone(), stop.clone());
        accepting
            .spawn(async move { stop.run_until_cancelled(accept_tcp(&hall, &listener)).await });
    }
    if let Some(socket) = sockets.unix {
        let (hall, stop) = (hall.clone(), stop.clone());
        accepting.spawn(async move { stop.run_until_cancelled(accept_unix(&hall, &socket)).await });
    }
    accepting.close();
    accepting.wait().await;
    hall.close().await;
    watching.abort();
    Ok(())
}

async fn accept_tcp(hall: &Arc<Hall>, listener: &TcpListener) {
    loop {
        match listener.accept().await {
            Ok((stream, address)) => hall.welcome_tcp(stream, address),
            Err(error) => pause(&error).await,
        }
    }
}

async fn accept_unix(hall: &Arc<Hall>, socket: &SocketFile) {
    loop {
        match socket.listener().accept().await {
            Ok((stream, _)) => hall.welcome_unix(stream),
            Err(error) => pause(&error).await,
        }
    }
}

async fn pause(error: &io::Error) {
    let is_over =
        matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset);
    if !is_over {
        tracing::warn!(%error, "a connection can't be accepted");
        tokio::time::sleep(PAUSE).await;
    }
}

impl Hall {
    fn welcome_tcp(self: &Arc<Self>, stream: TcpStream, address: SocketAddr) {
        let peer = Peer::of_tcp(&stream, address);
        let Ok(local) = stream.local_addr() else { return };
        let Some(place) = self.crowd.enter(&peer, self.door.access.is_same_user(&peer)) else {
            // Whoever does not take it at once does not get it.
            let _said = stream.try_write(FULL);
            return;
        };
        // Answers are small and wanted now.
        let _delayed = stream.set_nodelay(true);
        self.attend(stream, peer, Some(local), place);
    }

    fn welcome_unix(self: &Arc<Self>, stream: UnixStream) {
        let Some(peer) = Peer::of_unix(&stream) else { return };
        match self.crowd.enter(&peer, self.door.access.is_same_user(&peer)) {
            Some(place) => self.attend(stream, peer, None, place),
            None => {
                let _said = stream.try_write(FULL);
            }
        }
    }

    fn attend<S>(self: &Arc<Self>, stream: S, peer: Peer, local: Option<SocketAddr>, place: Place)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (over, cut) = (self.over.child_token(), self.cut.child_token());
        let link = Arc::new(Link::new(peer, local, over, cut));
        // A WebSocket leaves the connection behind and keeps the wire.
        let presence = (place, self.tracker.token());
        let wire = Wire::new(stream, link.cut.clone(), self.limits.write_stall, presence);
        let hall = self.clone();
        self.tracker.spawn(async move { hall.serve(wire, &link).await });
    }

    async fn serve<S>(&self, wire: Wire<S>, link: &Arc<Link>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let answers = service_fn(|request: hyper::Request<Incoming>| async {
            Ok::<_, std::convert::Infallible>(self.door.answer(link, request).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.header_time)
            .max_headers(self.limits.headers)
            .max_header_size(self.limits.header_bytes)
            .serve_connection(TokioIo::new(wire), answers)
            .with_upgrades();
        let mut connection = std::pin::pin!(connection);
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = self.over.cancelled() => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(peer = %link.peer, %error, "a connection ended badly");
        }
    }

    /// Lets everybody finish, and then nobody.
    async fn close(&self) {
        self.over.cancel();
        self.tracker.close();
        if tokio::time::timeout(self.limits.stop_time, self.tracker.wait()).await.is_err() {
            tracing::warn!("some requests did not come to an end; their connections are closed");
            self.cut.cancel();
            // Whoever does not even notice that is left behind.
            let _left = tokio::time::timeout(PAUSE, self.tracker.wait()).await;
        }
    }
}
