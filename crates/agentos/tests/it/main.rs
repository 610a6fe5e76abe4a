//! The command line, as people and scripts meet it: a real binary in real repositories.

mod artifacts;
mod background;
mod beside;
mod circumstances;
mod commands;
mod crowd;
mod databases;
mod everywhere;
mod family;
mod found_again;
mod history;
mod interruption;
mod isolated;
mod kept;
mod life;
mod mcp;
mod mistakes;
mod places;
mod real_agents;
mod scripted;
mod server;
mod server_access;
mod support;
mod travel;
mod typescript;
mod words;
