//! Real agents in real runs: Claude Code, Codex and Gemini as a user has them, with a model server on loopback behind them.

mod care;
mod ends;
mod files;
mod kills;
mod sdlc;
mod site;
mod tools;
