//! A model server that plays a scenario file until it is interrupted: its address on standard output, for scripts.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use agentos_testing::model::{ModelServer, Scenario};
use clap::Parser;

/// Plays a scenario to agents on this machine: no model, no key, no network.
#[derive(Parser)]
struct Cli {
    /// A scenario in TOML, or in JSON if it is called *.json
    scenario: PathBuf,
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
    let server = ModelServer::start_at(Scenario::load(&cli.scenario)?, cli.port)?;
    writeln!(std::io::stdout(), "{}", server.url())?;
    server.wait();
    Ok(())
}
