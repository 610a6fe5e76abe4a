//! The server, through its own doors.

mod access;
