//! A forge that takes pull requests until it is interrupted: its address on standard output, for scripts.

use std::fs::File;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_testing::forge::{ForgeServer, TOKEN};
use clap::Parser;

/// Plays GitHub, GitLab and Forgejo to programs on this machine: no account, no network.
#[derive(Parser)]
struct Cli {
    /// Where each pull request is written to, as a line of JSON
    #[arg(long)]
    record: PathBuf,
    /// The port of 127.0.0.1 to listen at; a free one if left out
    #[arg(long, default_value_t = 0)]
    port: u16,
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _unheard = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run(cli: &Cli) -> Result<(), Box<dyn std::error::Error>> {
    let server = ForgeServer::recording(cli.port, File::create(&cli.record)?)?;
    writeln!(std::io::stdout(), "{} {TOKEN}", server.url())?;
    server.wait();
    Ok(())
}
