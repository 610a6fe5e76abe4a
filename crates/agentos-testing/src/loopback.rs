//! A server on loopback with a thread of its own, which ends when it is dropped.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::thread::JoinHandle;

use axum::Router;
use tokio::sync::oneshot;

/// A server that listens on 127.0.0.1 until it is dropped.
#[derive(Debug)]
pub(crate) struct Loopback {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Loopback {
    /// Serves on this port; 0 is any that is free.
    pub(crate) fn serve(name: &str, port: u16, app: Router) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
            runtime.block_on(listen(listener, app, stopped));
        })?;
        Ok(Self { address, stop: Some(stop), thread: Some(thread) })
    }

    /// Where clients find it: `http://127.0.0.1:PORT`.
    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until the server ends, which is when the process does.
    pub(crate) fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

impl Drop for Loopback {
    /// Open connections are closed, hanging ones too.
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ended = thread.join();
        }
    }
}

async fn listen(listener: TcpListener, app: Router, stopped: oneshot::Receiver<()>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else { return };
    tokio::select! {
        _ = axum::serve(listener, app) => {}
        _ = stopped => {}
    }
}
