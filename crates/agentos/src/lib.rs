//! The command line of AgentOS, as a library: a project with workflows of its own in Rust links it and gets every command.
