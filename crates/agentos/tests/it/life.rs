//! The life of a workspace around a run, by the real binary: brought back, waited for, refused, put right.

mod approvals;
mod care;
mod disk;
mod interrupted;
mod killed_filters;
mod killed_git;
mod layouts;
mod leftovers;
mod locks;
mod site;
mod users;
