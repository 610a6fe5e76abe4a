//! The binary: the command line with the workflows that it is born with.

use std::process::ExitCode;

fn main() -> ExitCode {
    agentos::App::new().main()
}
