//! All modules that a workflow consists of, from its entry on.

use std::collections::BTreeMap;

use crate::compile::{self, CallSite, CompiledModule, PositionMap};
use crate::diagnostic::Diagnostic;
use crate::limits;
use crate::sources::{ModuleFiles, Sources};

/// The module that gives a workflow its powers.
pub(crate) const AGENTOS: &str = "agentos";

/// Other names of it.
const ALIASES: [&str; 3] = ["workflow-sdk", "@repo/workflow-sdk", "@repo/agent-cli-sdk"];

/// Whether a specifier means the module that the binary brings along.
pub(crate) fn is_agentos(specifier: &str) -> bool {
    specifier == AGENTOS || ALIASES.contains(&specifier)
}

/// Whether a module belongs to a package, and is taken as it is.
pub(crate) fn is_foreign(name: &str) -> bool {
    name.starts_with("node_modules/")
}

/// The modules of a workflow, compiled to JavaScript.
#[derive(Debug)]
pub(crate) struct Graph {
    pub(crate) sources: Sources,
    pub(crate) code: BTreeMap<String, String>,
    pub(crate) maps: BTreeMap<String, PositionMap>,
    pub(crate) calls: Vec<CallSite>,
}

impl Graph {
    /// Follows the imports of a module and compiles whatever they lead to.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub(crate) fn load(entry: &str, files: &dyn ModuleFiles) -> Result<Self, Diagnostic> {
        let sources =
            Sources { entry: entry.to_owned(), modules: BTreeMap::new(), imports: BTreeMap::new() };
        let mut graph =
            Self { sources, code: BTreeMap::new(), maps: BTreeMap::new(), calls: Vec::new() };
        let mut open = vec![entry.to_owned()];
        let mut bytes = 0;
        while let Some(name) = open.pop() {
            if graph.sources.modules.contains_key(&name) {
                continue;
            }
            let text = files.load_text(&name)?;
            bytes += text.len();
            graph.check_size(&name, &text, bytes)?;
            let module = if is_foreign(&name) {
                compile::adopt(&name, &text)
            } else {
                compile::compile(&name, &text, graph.calls.len())
            }?;
            open.extend(graph.add(&name, text, module, files)?);
        }
        Ok(graph)
    }

    fn check_size(&self, name: &str, text: &str, bytes: usize) -> Result<(), Diagnostic> {
        let most =
            if is_foreign(name) { limits::PACKAGE_MODULE_BYTES } else { limits::MODULE_BYTES };
        let message = if text.len() > most {
            format!("the module has {} bytes; at most {most} are taken", text.len())
        } else if bytes > limits::DEFINITION_BYTES {
            let most = limits::DEFINITION_BYTES;
            format!("with this module, the workflow has more than {most} bytes")
        } else if self.sources.modules.len() >= limits::MODULES {
            format!("with this module, the workflow has more than {} modules", limits::MODULES)
        } else {
            return Ok(());
        };
        Err(Diagnostic::of_file(name, message)
            .help("Import less; keep data in files that a step reads."))
    }

    /// Adds a module; says which modules it needs.
    fn add(
        &mut self,
        name: &str,
        text: String,
        module: CompiledModule,
        files: &dyn ModuleFiles,
    ) -> Result<Vec<String>, Diagnostic> {
        let mut targets = BTreeMap::new();
        for specifier in module.imports {
            if is_agentos(&specifier) {
                continue;
            }
            let target = files
                .resolve(name, &specifier)
                .map_err(|why| unresolved(name, &text, &specifier, &why))?;
            targets.insert(specifier, target);
        }
        let open = targets.values().cloned().collect();
        if !targets.is_empty() {
            self.sources.imports.insert(name.to_owned(), targets);
        }
        self.sources.modules.insert(name.to_owned(), text);
        self.code.insert(name.to_owned(), module.code);
        self.maps.insert(name.to_owned(), module.map);
        self.calls.extend(module.calls);
        Ok(open)
    }
}

fn unresolved(name: &str, text: &str, specifier: &str, why: &str) -> Diagnostic {
    let message = format!("`{specifier}` can't be imported: {why}");
    let quoted = ['"', '\''].map(|quote| format!("{quote}{specifier}{quote}"));
    let offset = quoted.iter().find_map(|quoted| text.find(quoted.as_str()));
    let diagnostic = match offset {
        Some(offset) => Diagnostic::at_offset(name, text, crate::position::number(offset), message),
        None => Diagnostic::of_file(name, message),
    };
    diagnostic.help(
        "A workflow can import \"agentos\", files below .agent/workflows by a relative path, and plain ES modules of \
         node_modules. It has no Node: what it wants from the world it asks `ctx` for.",
    )
}
