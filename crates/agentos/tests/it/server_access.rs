//! Who may use the real server: `agentos serve` and `agentos token`, other users, and addresses that want out.

mod addresses;
mod agents;
mod tokens;
mod users;
