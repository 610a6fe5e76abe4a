//! The end of the demo: `agentos serve` in its project, to look at the run in a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::forge::Forge;
use super::project::DemoProject;
use crate::shell::{Running, headline, pause, say};

/// The beginning of the line with which the server says that it listens.
const LISTENING: &str = "AgentOS is at http://";

/// How long a response may take, and how often the server is looked at.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(100);

/// The most that is read of a response, in bytes.
const RESPONSE_BYTES: u64 = 1 << 20;

/// A server that runs until it is dropped.
pub(super) struct Dashboard {
    running: Running,
    /// `127.0.0.1:40123`
    address: String,
    wrapper: PathBuf,
}

/// Starts the server in the project, and checks that it answers. It knows the forge, so that further runs can be started from
/// the browser.
pub(super) fn start(project: &DemoProject, forge: &Forge, run: &str) -> Result<Dashboard> {
    let command = forge.known_to(project.agentos(&["serve", "--port", "0"]));
    let mut running = command.start_and_listen()?;
    let address = loop {
        let line = running.line()?.context("the server ended before it listened")?;
        if let Some(address) = line.strip_prefix(LISTENING) {
            break address.to_owned();
        }
    };
    for path in ["/healthz", "/", &format!("/api/executions/{run}")] {
        let response = get(&address, path).with_context(|| format!("http://{address}{path}"))?;
        let status = response.lines().next().unwrap_or_default().trim();
        ensure!(status.contains(" 200"), "http://{address}{path} answers: {status}");
    }
    headline("The dashboard");
    say(format!("  all runs    http://{address}/"));
    say(format!("  this run    http://{address}/runs/{run}"));
    Ok(Dashboard { running, address, wrapper: project.wrapper() })
}

impl Dashboard {
    /// Serves until the user ends it.
    pub(super) fn stay(mut self, is_interrupted: &AtomicBool) -> Result<()> {
        say("\nPress Ctrl-C to stop.");
        while !is_interrupted.load(Ordering::Relaxed) {
            let ended = self.running.ended()?;
            ensure!(ended.is_none(), "the server at {} ended by itself", self.address);
            pause(POLL);
        }
        say("");
        self.end()
    }

    /// Stops it at once.
    pub(super) fn stop_now(self) -> Result<()> {
        say(
            "\nThe dashboard answers, and is stopped because stdout is no terminal or --no-serve was given.",
        );
        self.end()
    }

    fn end(self) -> Result<()> {
        self.running.stop().context("cannot stop the server")?;
        say(format!(
            "Every process of the demo has ended. To look again: {} serve",
            self.wrapper.display()
        ));
        Ok(())
    }
}

/// A whole response of the server, head and body.
fn get(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut response = Vec::new();
    stream.take(RESPONSE_BYTES).read_to_end(&mut response)?;
    Ok(String::from_utf8_lossy(&response).into_owned())
}
