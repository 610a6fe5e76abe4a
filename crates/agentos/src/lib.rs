//! The command line of AgentOS, as a library: a project with workflows of its own in Rust links it and gets every command.

#[cfg_attr(not(test), expect(dead_code, reason = "the commands come next"))]
mod config;
#[expect(dead_code, reason = "the commands come next")]
mod logging;
#[cfg_attr(not(test), expect(dead_code, reason = "the commands come next"))]
mod terminal;
