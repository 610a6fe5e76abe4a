//! Every limit of scripts, in one place.
//!
//! A turn that breaks one of [`Limits`] ends its run: no code of the workflow can catch that. The other numbers bound
//! what is read before any code runs.

/// How much one execution may use. The defaults are generous: whoever meets one has an endless loop, not a large
/// workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Memory of the whole execution, in bytes.
    pub memory_bytes: usize,
    /// Stack of the engine, in bytes.
    pub stack_bytes: usize,
    /// CPU time between one delivery and the next, in milliseconds.
    pub turn_ms: u64,
    /// Promise reactions between one delivery and the next.
    pub turn_reactions: u64,
    /// What is handed to the host between one delivery and the next: arguments, values, lines. In bytes.
    pub turn_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 128 * 1024 * 1024,
            stack_bytes: 512 * 1024,
            turn_ms: 2_000,
            turn_reactions: 500_000,
            turn_bytes: 64 * 1024 * 1024,
        }
    }
}

impl Limits {
    /// For reading the config of a module, which should take next to nothing.
    pub(crate) const LOADING: Self = Self {
        memory_bytes: 128 * 1024 * 1024,
        stack_bytes: 512 * 1024,
        turn_ms: 1_000,
        turn_reactions: 50_000,
        turn_bytes: 0,
    };
}

/// Largest module of one's own, in bytes.
pub const MODULE_BYTES: usize = 1024 * 1024;

/// Largest module of a package, in bytes.
pub const PACKAGE_MODULE_BYTES: usize = 4 * 1024 * 1024;

/// Most modules in one definition.
pub const MODULES: usize = 2_000;

/// All modules of one definition together, in bytes.
pub const DEFINITION_BYTES: usize = 16 * 1024 * 1024;

/// Most templates in one folder.
pub const TEMPLATES: usize = 1_000;

/// Longest name of a workflow, in bytes: it becomes part of ids and of file names.
pub const WORKFLOW_NAME_BYTES: usize = 100;

/// Rejections that nobody handled, kept for the end of their scopes.
pub(crate) const UNHANDLED: usize = 1_000;

/// Longest stack that is kept of an error, in lines.
pub(crate) const STACK_LINES: usize = 20;

/// How many errors are shown behind one another.
pub(crate) const CAUSES: usize = 8;
