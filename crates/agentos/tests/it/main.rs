//! The command line from outside: the real program, real repositories, real processes.

mod commands;
