//! Workflows of one's own, with the whole command line of AgentOS: `cargo run -p release-notes -- run release-notes --help`

mod notes;

fn main() -> std::process::ExitCode {
    agentos::App::new().workflow(notes::workflow()).main()
}
