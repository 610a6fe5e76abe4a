//! How many are at work at once: over processes in the foreground and the background, with kills in between.

mod agents;
mod families;
mod runs;
mod settings;
mod site;
