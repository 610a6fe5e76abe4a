//! Following runs: over WebSockets, as Server-Sent Events, and their log files.

mod bounds;
mod child;
mod client;
mod documents;
mod events;
mod following;
mod house;
mod http;
mod logs;
mod projects;
mod storm;
mod together;
mod writer;
