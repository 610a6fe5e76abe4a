//! The server from outside: real requests over real sockets, real databases behind it.

mod live;
