//! What `agentos init` puts into a project: types for the editor, a first workflow, and how to write the next one.

/// A file for a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset {
    /// Where it belongs, relative to the project.
    pub path: &'static str,
    /// What is in it.
    pub text: &'static str,
}

/// All of them.
pub const ASSETS: [Asset; 4] = [
    Asset { path: ".agent/workflows/agentos.d.ts", text: DECLARATIONS },
    Asset { path: ".agent/workflows/tsconfig.json", text: include_str!("../assets/tsconfig.json") },
    Asset { path: ".agent/workflows/templates/hello.ts", text: include_str!("../assets/hello.ts") },
    Asset { path: ".agent/AGENTS.md", text: include_str!("../assets/AGENTS.md") },
];

/// The types of everything that a workflow can call.
pub const DECLARATIONS: &str = include_str!("../assets/agentos.d.ts");
