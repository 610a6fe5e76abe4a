//! The end of the demonstration: `agentos serve` for its project, to look at the run in a browser.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::forge::Forge;
use super::stage::Stage;
use crate::shell::{Running, headline, pause, say};

/// What the server says when it listens.
const AT: &str = "AgentOS is at http://";

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(100);

/// The most that is read of an answer.
const ANSWER_BYTES: u64 = 1 << 20;

/// A server that runs until it is dropped.
pub(super) struct Dashboard {
    running: Running,
    /// `127.0.0.1:40123`
    address: String,
    wrapper: PathBuf,
}

/// Starts the server in the project, and sees that it answers. It finds the forge, so that more can be started from a browser.
pub(super) fn start(stage: &Stage, forge: &Forge, run: &str) -> Result<Dashboard> {
    let line = forge.known_to(stage.agentos(&["serve", "--port", "0"]));
    let mut running = line.start_and_listen()?;
    let address = loop {
        let said = running.line()?.context("the server ended before it listened")?;
        if let Some(address) = said.strip_prefix(AT) {
            break address.to_owned();
        }
    };
    for path in ["/healthz", "/", &format!("/api/executions/{run}")] {
        let answer = ask(&address, path).with_context(|| format!("http://{address}{path}"))?;
        let status = answer.lines().next().unwrap_or_default().trim();
        ensure!(status.contains(" 200"), "http://{address}{path} answers: {status}");
    }
    headline("The dashboard");
    say(format!("  everything  http://{address}/"));
    say(format!("  this run    http://{address}/runs/{run}"));
    Ok(Dashboard { running, address, wrapper: stage.wrapper() })
}

impl Dashboard {
    /// Stays until the user wants it to end.
    pub(super) fn stay(mut self, is_over: &AtomicBool) -> Result<()> {
        say("\nCtrl-C ends it.");
        while !is_over.load(Ordering::Relaxed) {
            let ended = self.running.ended()?;
            ensure!(ended.is_none(), "the server at {} has ended by itself", self.address);
            pause(LOOK);
        }
        say("");
        self.end()
    }

    /// Stops it right away.
    pub(super) fn leave(self) -> Result<()> {
        say("\nIt answers, and is stopped again: nobody is here to look.");
        self.end()
    }

    fn end(self) -> Result<()> {
        self.running.stop().context("the server could not be stopped")?;
        say(format!("Nothing runs on. To serve it again: {} serve", self.wrapper.display()));
        Ok(())
    }
}

/// A whole answer of the server, head and body.
fn ask(address: &str, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::new();
    stream.take(ANSWER_BYTES).read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
