//! Sessions of agents, through the real program and the agent that plays scenarios: whole workflows, crashes, limits.

mod commands;
mod crashes;
mod limits;
mod stage;
mod workflows;
