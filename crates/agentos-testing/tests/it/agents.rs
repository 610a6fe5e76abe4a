//! The real agents against the model server: what proves that both, and the home between them, are what they say.

mod faults;
mod files;
mod sessions;
mod site;
