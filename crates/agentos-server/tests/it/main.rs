//! The server, through its own doors: real requests over real sockets, real databases behind it.

mod access;
mod live;
