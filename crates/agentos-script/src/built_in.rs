//! Workflows that the binary brings along, in TypeScript as everybody writes it: they are also the examples that
//! `agentos init --examples` copies.
//!
//! Their modules have the names that the copies have, so a copy is the same definition until somebody changes it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::assets::Asset;
use crate::definition::Definition;
use crate::diagnostic::Diagnostic;
use crate::files::{WORKFLOWS_FOLDER, joined};
use crate::sources::ModuleFiles;

macro_rules! examples {
    ($($name:literal),+ $(,)?) => {
        [$(Asset {
            path: concat!(".agent/workflows/", $name),
            text: include_str!(concat!("../assets/workflows/", $name)),
        }),+]
    };
}

/// The built-in workflows, and the modules that they share.
pub const EXAMPLES: [Asset; 8] = examples![
    "templates/build-feature.ts",
    "templates/consolidate.ts",
    "templates/full-sdlc.ts",
    "templates/issue.ts",
    "templates/simple-sdlc.ts",
    "lib/history.ts",
    "lib/prompts.ts",
    "lib/sdlc.ts",
];

/// The names of the built-in workflows, in order.
pub fn names() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().filter_map(|asset| {
        module_of(asset).strip_prefix("templates/").and_then(|file| file.strip_suffix(".ts"))
    })
}

/// Those that were asked for in this process, compiled. They do not change, and whoever serves is asked for them often.
static COMPILED: Mutex<BTreeMap<&str, Arc<Definition>>> = Mutex::new(BTreeMap::new());

/// The built-in workflow of this name, compiled; none if there is no such.
///
/// # Errors
/// What is wrong with it, which is nothing.
pub fn load(name: &str) -> Result<Option<Arc<Definition>>, Diagnostic> {
    let Some(name) = names().find(|known| *known == name) else { return Ok(None) };
    // What is in it is whole at any moment.
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = compiled.get(name) {
        return Ok(Some(Arc::clone(known)));
    }
    let definition = Arc::new(Definition::load(&format!("templates/{name}.ts"), &Embedded)?);
    compiled.insert(name, Arc::clone(&definition));
    Ok(Some(definition))
}

/// The name of the module that an asset is.
fn module_of(asset: &'static Asset) -> &'static str {
    asset.path.strip_prefix(WORKFLOWS_FOLDER).unwrap_or(asset.path).trim_start_matches('/')
}

/// The modules inside of the binary.
struct Embedded;

impl Embedded {
    fn text(name: &str) -> Option<&'static str> {
        EXAMPLES.iter().find(|asset| module_of(asset) == name).map(|asset| asset.text)
    }
}

impl ModuleFiles for Embedded {
    fn resolve(&self, base: &str, specifier: &str) -> Result<String, String> {
        let name = joined(base, specifier)?;
        match Self::text(&name) {
            Some(_) => Ok(name),
            None => Err("it is not built in".to_owned()),
        }
    }

    fn load_text(&self, name: &str) -> Result<String, Diagnostic> {
        let text = Self::text(name).map(str::to_owned);
        text.ok_or_else(|| Diagnostic::of_file(name, "it is not built in"))
    }
}
